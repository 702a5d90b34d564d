//! Replaces one text by another in the bytes of a file. Pure: no disk.
//!
//! Every byte outside the replaced places is the same afterwards. A text that is only found when something is forgiven
//! is located that way and nothing more: unchanged lines, line endings, indentation and quotes come from the file.

mod nearest;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    time::{Duration, Instant},
};

pub use nearest::Near;
pub(crate) use nearest::nearest as nearest_places;

use crate::{
    in_words::{counted, lines_listed},
    locate::{Anchor, BOM, Found, Text, find},
    recode::{Recoded, Unwritable},
    splice::{Splice, Step, assemble, rewrite},
};
pub use crate::{locate::Strictness, splice::Place};

/// A file with a text replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The whole new file.
    pub bytes: Vec<u8>,
    /// How the old text was found.
    pub strictness: Strictness,
    /// Every place that was changed, first to last, never empty.
    pub places: Vec<Place>,
}

/// Why nothing was replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// `old` is empty and the file is not.
    #[error(
        "`old` is empty, which only creates a new file or fills an empty one; this file has {}\nhint: give the text to replace in `old`, with enough lines around it to be unique",
        counted(*lines, "line")
    )]
    EmptyOld {
        /// How many lines there are.
        lines: usize,
    },
    /// `new` cannot be written into the file.
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
    /// `old` and `new` are the same.
    #[error("`old` and `new` are the same, so nothing would change")]
    Same,
    /// The text stands nowhere, whatever is forgiven.
    #[error("`old` does not stand in the file, also not when white space at line ends, indentation and quotes are ignored{}", Nearest { near, numbered: *numbered })]
    NotFound {
        /// The three most similar places, best first; fewer when nothing is similar.
        near: Vec<Near>,
        /// Whether `old` begins with the line numbers that `read` prints.
        numbered: bool,
    },
    /// The text stands in several places.
    #[error("`old` stands in {} places when matched {strictness}: {}\nhint: add lines around it until it is unique, or set `replace_all`", count(lines, *more), listed(lines, *more))]
    Ambiguous {
        /// How the places were found.
        strictness: Strictness,
        /// 1-based first line of every place, overlapping ones too.
        lines: Vec<usize>,
        /// Whether there are more than are listed.
        more: bool,
    },
}

/// Places listed at most when a text is ambiguous.
const MAX_LISTED: usize = 100;

/// Time for comparing the lines of `old` and `new`, and for looking for similar places.
const MAX_COMPARING: Duration = Duration::from_millis(300);

/// Replaces `old` by `new`; every place of it with `replace_all`, else the only one.
///
/// # Errors
///
/// [`EditError`] when `old` is not there, not unique or empty. Nothing was changed; the model can mend it.
pub fn edit(content: &[u8], old: &str, new: &str, replace_all: bool) -> Result<Edited, EditError> {
    let recoded = Recoded::new(content);
    let edited = edit_text(recoded.bytes(), old, new, replace_all)?;
    let (bytes, places) = recoded.back(edited.bytes, edited.places)?;
    Ok(Edited {
        bytes,
        places,
        ..edited
    })
}

fn edit_text(content: &[u8], old: &str, new: &str, replace_all: bool) -> Result<Edited, EditError> {
    if old.is_empty() {
        return fill(content, new);
    }
    if old == new {
        return Err(EditError::Same);
    }
    let text = Text::new(content);
    let exact = exact(&text, old, replace_all);
    if !exact.is_empty() {
        let ambiguous = exact.len() > 1 && !replace_all;
        if ambiguous {
            return Err(ambiguity(
                Strictness::Exact,
                exact.iter().map(|at| text.line_at(*at)),
            ));
        }
        let splices: Vec<Splice> = exact
            .iter()
            .map(|at| Splice {
                range: *at..*at + old.len(),
                bytes: follow_endings(&text, *at, old, new),
            })
            .collect();
        return finish(content, &splices, Strictness::Exact);
    }
    let old_lines = lines_of(old);
    let new_lines = lines_of(new);
    for strictness in &Strictness::ALL[1..] {
        let limit = if replace_all {
            usize::MAX
        } else {
            MAX_LISTED + 1
        };
        let found = find(&text, &old_lines, Anchor::Anywhere, *strictness, limit);
        if found.is_empty() {
            continue;
        }
        if found.len() > 1 && !replace_all {
            return Err(ambiguity(
                *strictness,
                found.iter().map(|found| found.first),
            ));
        }
        let steps = steps(&old_lines, &new_lines);
        let splices: Vec<Splice> = apart(&found)
            .map(|found| rewrite(&text, found, &old_lines, &new_lines, &steps, *strictness))
            .collect();
        return finish(content, &splices, *strictness);
    }
    let near = nearest::nearest(&text, &old_lines, Instant::now() + MAX_COMPARING);
    Err(EditError::NotFound {
        near,
        numbered: nearest::is_numbered(&old_lines),
    })
}

fn fill(content: &[u8], new: &str) -> Result<Edited, EditError> {
    if !content.is_empty() && content != BOM {
        let lines = Text::new(content).lines.len() - usize::from(content.ends_with(b"\n"));
        return Err(EditError::EmptyOld { lines });
    }
    if new.is_empty() {
        return Err(EditError::Same);
    }
    let end = content.len();
    finish(
        content,
        &[Splice {
            range: end..end,
            bytes: new.into(),
        }],
        Strictness::Exact,
    )
}

fn finish(content: &[u8], splices: &[Splice], strictness: Strictness) -> Result<Edited, EditError> {
    let (bytes, places) = assemble(content, splices);
    if bytes == content {
        return Err(EditError::Same);
    }
    Ok(Edited {
        bytes,
        strictness,
        places,
    })
}

/// Offsets of `old`: without overlap for replacing all, else enough overlapping ones to list.
fn exact(text: &Text<'_>, old: &str, replace_all: bool) -> Vec<usize> {
    let finder = memchr::memmem::Finder::new(old);
    if replace_all {
        return finder.find_iter(text.bytes).collect();
    }
    let mut places = Vec::new();
    let mut from = 0;
    while places.len() <= MAX_LISTED
        && let Some(offset) = text.bytes.get(from..).and_then(|rest| finder.find(rest))
    {
        places.push(from + offset);
        from += offset + 1;
    }
    places
}

fn apart(found: &[Found]) -> impl Iterator<Item = &Found> {
    let mut free_from = 0;
    let mut first = true;
    found.iter().filter(move |found| {
        let range = found.range();
        let free = first || range.start >= free_from;
        if free {
            first = false;
            free_from = range.end.max(range.start + 1);
        }
        free
    })
}

fn ambiguity(strictness: Strictness, lines: impl Iterator<Item = usize>) -> EditError {
    let mut lines: Vec<usize> = lines.map(|line| line + 1).collect();
    let more = lines.len() > MAX_LISTED;
    lines.truncate(MAX_LISTED);
    EditError::Ambiguous {
        strictness,
        lines,
        more,
    }
}

/// The new text for an exact match. Whoever writes no `\r` at all does not mean to change line endings: new lines get
/// the ending of the line they stand at. Whoever writes one gets what they wrote.
fn follow_endings(text: &Text<'_>, at: usize, old: &str, new: &str) -> Vec<u8> {
    if old.contains('\r') || new.contains('\r') || !new.contains('\n') {
        return new.into();
    }
    let ending = text.ending_near(text.line_at(at));
    if ending == b"\n" {
        return new.into();
    }
    // What the old text shows of the endings is as it is in the file: only bare newlines were matched.
    if old.contains('\n') {
        return new.into();
    }
    new.split('\n')
        .collect::<Vec<_>>()
        .join("\r\n")
        .into_bytes()
}

/// Lines without endings; after a final newline one more, empty line. A byte order mark is left out.
fn lines_of(text: &str) -> Vec<&str> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    text.split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect()
}

fn steps(old: &[&str], new: &[&str]) -> Vec<Step> {
    let deadline = Some(Instant::now() + MAX_COMPARING);
    let ops = similar::capture_diff_slices_deadline(similar::Algorithm::Myers, old, new, deadline);
    let mut steps = Vec::new();
    for op in ops {
        let (tag, old, new) = op.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            steps.extend(old.map(|old| Step::Keep { old }));
        } else {
            steps.push(Step::Swap { old, new });
        }
    }
    steps
}

fn count(lines: &[usize], more: bool) -> String {
    if more {
        format!("more than {}", lines.len())
    } else {
        lines.len().to_string()
    }
}

/// The lines of all places, in order.
fn listed(lines: &[usize], more: bool) -> String {
    lines_listed(lines) + if more { ", …" } else { "" }
}

struct Nearest<'a> {
    near: &'a [Near],
    numbered: bool,
}

impl fmt::Display for Nearest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.near.is_empty() {
            f.write_str("; nothing in it is similar")?;
        } else {
            f.write_str("; the most similar places (· is a space, → a tab, ␍ a carriage return):")?;
        }
        for near in self.near {
            write!(f, "\n{near}")?;
        }
        if self.numbered {
            f.write_str("\nhint: `old` begins with line numbers as `read` prints them; leave number and tab out")
        } else {
            f.write_str("\nhint: read these lines again and copy `old` from the file")
        }
    }
}
