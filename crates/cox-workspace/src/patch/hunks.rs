//! Puts hunks into the bytes of a file.

use std::ops::Range;

use super::{
    Hunk, HunkError, HunkLine,
    file_end::{set_end, wanted_end},
};
use crate::{
    locate::{Anchor, Found, Strictness, Text, find},
    recode::Recoded,
    splice::{Place, Splice, Step, assemble, kept_around, rewrite_lines},
};

/// A file with hunks applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// The whole new file.
    pub bytes: Vec<u8>,
    /// The least strict way in which a hunk was found.
    pub strictness: Strictness,
    /// Every changed place, first to last.
    pub places: Vec<Place>,
}

/// Places looked at for one hunk.
const MAX_PLACES: usize = 200;

/// Applies all hunks, or none.
///
/// # Errors
///
/// [`HunkError`] names the hunk and, where that helps, the candidates.
pub fn apply(content: &[u8], hunks: &[Hunk]) -> Result<Patched, HunkError> {
    let recoded = Recoded::new(content);
    let patched = apply_text(recoded.bytes(), hunks)?;
    let (bytes, places) = recoded.back(patched.bytes, patched.places)?;
    Ok(Patched {
        bytes,
        places,
        ..patched
    })
}

fn apply_text(content: &[u8], hunks: &[Hunk]) -> Result<Patched, HunkError> {
    let text = Text::new(content);
    let mut splices: Vec<(usize, Splice)> = Vec::new();
    let mut taken: Vec<Range<usize>> = Vec::new();
    let mut cursor = 0;
    let mut strictness = Strictness::Exact;
    let mut end = None;
    for (index, hunk) in hunks.iter().enumerate() {
        let sides = Sides::of(hunk);
        if sides
            .steps
            .iter()
            .all(|step| matches!(step, Step::Keep { .. }))
        {
            continue;
        }
        let number = index + 1;
        if sides.old.len() == 1 {
            let splice = insert(&text, hunk, &sides.new, number, cursor)?;
            end = end.or(wanted_end(&text, hunk, number, splice.range.end)?);
            taken.push(splice.range.clone());
            splices.push((number, splice));
            continue;
        }
        let (found, used) = place(&text, hunk, &sides, number, cursor, &taken)?;
        strictness = strictness.max(used);
        end = end.or(wanted_end(&text, hunk, number, found.range().end)?);
        let splice = rewrite_lines(&text, &found, &sides.old, &sides.new, &sides.steps, used);
        // The next hunk may begin with the lines that this one ends with.
        cursor = found.first + sides.changed().end;
        taken.push(splice.range.clone());
        splices.push((number, splice));
    }
    splices.sort_by_key(|(_, splice)| (splice.range.start, splice.range.end));
    for pair in splices.windows(2) {
        if pair[1].1.range.start < pair[0].1.range.end {
            let hunk = pair[1].0;
            return Err(HunkError::Overlap {
                hunk,
                line: hunks[hunk - 1].line,
            });
        }
    }
    let splices: Vec<Splice> = splices.into_iter().map(|(_, splice)| splice).collect();
    let (mut bytes, mut places) = assemble(content, &splices);
    if let Some(end) = end {
        set_end(
            content,
            &mut bytes,
            &mut places,
            end,
            text.ending_near(text.lines.len() - 1),
        );
    }
    Ok(Patched {
        bytes,
        strictness,
        places,
    })
}

/// Old and new lines of a hunk, each with an empty line at its end, and how one becomes the other.
struct Sides<'h> {
    old: Vec<&'h str>,
    new: Vec<&'h str>,
    steps: Vec<Step>,
}

impl<'h> Sides<'h> {
    fn of(hunk: &'h Hunk) -> Self {
        let mut sides = Self {
            old: Vec::new(),
            new: Vec::new(),
            steps: Vec::new(),
        };
        for line in &hunk.lines {
            match line {
                HunkLine::Keep(text) => {
                    sides.steps.push(Step::Keep {
                        old: sides.old.len(),
                    });
                    sides.old.push(text);
                    sides.new.push(text);
                }
                HunkLine::Remove(text) => {
                    sides.swap().0.end += 1;
                    sides.old.push(text);
                }
                HunkLine::Add(text) => {
                    sides.swap().1.end += 1;
                    sides.new.push(text);
                }
            }
        }
        sides.steps.push(Step::Keep {
            old: sides.old.len(),
        });
        sides.old.push("");
        sides.new.push("");
        sides
    }

    /// The old lines without the kept ones around them.
    fn changed(&self) -> Range<usize> {
        let (head, tail) = kept_around(&self.steps);
        head..self.old.len() - tail
    }

    fn swap(&mut self) -> (&mut Range<usize>, &mut Range<usize>) {
        if !matches!(self.steps.last(), Some(Step::Swap { .. })) {
            let (old, new) = (self.old.len(), self.new.len());
            self.steps.push(Step::Swap {
                old: old..old,
                new: new..new,
            });
        }
        match self.steps.last_mut() {
            Some(Step::Swap { old, new }) => (old, new),
            _ => unreachable!("a swap was pushed just now"),
        }
    }
}

/// Finds the one place of a hunk: by its lines, then, among several, by what else the hunk says.
fn place(
    text: &Text<'_>,
    hunk: &Hunk,
    sides: &Sides<'_>,
    number: usize,
    cursor: usize,
    taken: &[Range<usize>],
) -> Result<(Found, Strictness), HunkError> {
    let old = sides.old.as_slice();
    let changed = sides.changed();
    let mut stands_in_changed_lines = false;
    for strictness in Strictness::ALL {
        let mut places = find(text, old, Anchor::Lines, strictness, MAX_PLACES);
        stands_in_changed_lines |= !places.is_empty();
        places.retain(|found| {
            let range = found.segments[changed.start].start..found.segments[changed.end].start;
            taken
                .iter()
                .all(|taken| range.end <= taken.start || range.start >= taken.end)
        });
        if places.is_empty() {
            continue;
        }
        narrow(text, hunk, old, cursor, &mut places);
        if places.len() == 1
            && let Some(found) = places.pop()
        {
            return Ok((found, strictness));
        }
        return Err(HunkError::Ambiguous {
            hunk: number,
            line: hunk.line,
            strictness,
            lines: places.iter().map(|found| found.first + 1).collect(),
        });
    }
    if stands_in_changed_lines {
        return Err(HunkError::Overlap {
            hunk: number,
            line: hunk.line,
        });
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_millis(300);
    let near = crate::edit::nearest_places(text, old, deadline);
    Err(HunkError::NotFound {
        hunk: number,
        line: hunk.line,
        near,
    })
}

/// Uses the hints of a hunk in turn, each only as far as it leaves something.
fn narrow(text: &Text<'_>, hunk: &Hunk, old: &[&str], cursor: usize, places: &mut Vec<Found>) {
    let keep = |places: &mut Vec<Found>, fits: &dyn Fn(&Found) -> bool| {
        if places.len() > 1 && places.iter().any(fits) {
            places.retain(|found| fits(found));
        }
    };
    if hunk.at_end {
        let end = text.bytes.len();
        keep(places, &|found| found.past_end || found.range().end == end);
    }
    if let Some(start) = hunk.old_start {
        keep(places, &|found| found.first + 1 == start);
    }
    keep(places, &|found| found.first >= cursor);
    if let Some(section) = section(text, &hunk.headers, cursor) {
        keep(places, &|found| found.first > section.start);
        keep(places, &|found| found.first + old.len() - 1 <= section.end);
    }
}

/// The lines from the last header on to the end of what it names: the next line that is not indented deeper.
fn section(text: &Text<'_>, headers: &[String], cursor: usize) -> Option<Range<usize>> {
    let mut start = None;
    for header in headers {
        let from = start.map_or(cursor, |line: usize| line + 1);
        let found = header_line(text, header, from);
        // A header that is not found is only a hint.
        start = found.or_else(|| header_line(text, header, 0)).or(start);
    }
    let start = start?;
    let depth = crate::locate::indent_of(text.content(start)).len();
    let ends = |line: &usize| {
        let content = text.content(*line);
        let indent = crate::locate::indent_of(content);
        let is_closing = matches!(content.get(indent.len()), Some(b'}' | b')' | b']'));
        !crate::locate::is_blank(content) && indent.len() <= depth && !is_closing
    };
    let end = (start + 1..text.lines.len())
        .find(ends)
        .unwrap_or(text.lines.len());
    Some(start..end)
}

fn header_line(text: &Text<'_>, header: &str, from: usize) -> Option<usize> {
    (from..text.lines.len()).find(|line| text.content(*line).trim_ascii() == header.as_bytes())
}

/// A hunk of added lines alone: after its header, after its numbered line, or at the end of the file.
fn insert(
    text: &Text<'_>,
    hunk: &Hunk,
    new: &[&str],
    number: usize,
    cursor: usize,
) -> Result<Splice, HunkError> {
    let last = text.lines.len() - 1;
    let at_end = text.lines[last].start;
    let has_final_newline = text.content(last).is_empty();
    let after = if let (Some(header), false) = (hunk.headers.last(), hunk.at_end) {
        let line = header_line(text, header, cursor).or_else(|| header_line(text, header, 0));
        let Some(line) = line else {
            let (header, line) = (header.clone(), hunk.line);
            return Err(HunkError::Nowhere {
                hunk: number,
                line,
                header,
            });
        };
        Some(line + 1)
    } else {
        hunk.old_start.filter(|_| !hunk.at_end)
    };
    let ending = text.ending_near(after.unwrap_or(last).saturating_sub(1));
    let mut bytes = Vec::new();
    let new = &new[..new.len() - 1];
    let lines = |bytes: &mut Vec<u8>, ends: bool| {
        for (index, line) in new.iter().enumerate() {
            bytes.extend_from_slice(line.as_bytes());
            if ends || index + 1 < new.len() {
                bytes.extend_from_slice(ending);
            }
        }
    };
    match after {
        Some(line) if line <= last && (line < last || has_final_newline) => {
            lines(&mut bytes, true);
            let at = text.lines[line].start;
            Ok(Splice {
                range: at..at,
                bytes,
            })
        }
        _ if has_final_newline => {
            lines(&mut bytes, true);
            Ok(Splice {
                range: at_end..at_end,
                bytes,
            })
        }
        Some(line) if line == last => {
            lines(&mut bytes, true);
            let at = text.lines[line].start;
            Ok(Splice {
                range: at..at,
                bytes,
            })
        }
        // The last line has no newline: it gets one, and the new last line has none either.
        _ => {
            bytes.extend_from_slice(ending);
            lines(&mut bytes, false);
            let end = text.bytes.len();
            Ok(Splice {
                range: end..end,
                bytes,
            })
        }
    }
}
