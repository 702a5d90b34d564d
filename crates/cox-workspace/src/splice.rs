//! Writes the new text of a place that [`crate::locate`] found: what the change leaves alone comes from the file.

use std::ops::Range;

use crate::locate::{Found, Strictness, Text, indent_of, is_blank, trim_end, unit_len};

/// How old lines become new lines, in order; indexes into both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The line stays.
    Keep {
        /// The old line.
        old: usize,
    },
    /// Old lines go, new ones come.
    Swap {
        /// The lines that go.
        old: Range<usize>,
        /// The lines that come.
        new: Range<usize>,
    },
}

/// Bytes of a file to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) range: Range<usize>,
    pub(crate) bytes: Vec<u8>,
}

/// Where a change stands, before and after. Ranges are byte offsets, lines are 1-based and count the new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// First line.
    pub first_line: usize,
    /// Last line; before the first when only lines were taken away.
    pub last_line: usize,
    /// The bytes that were replaced.
    pub old: Range<usize>,
    /// The bytes that stand there now.
    pub new: Range<usize>,
}

/// Puts splices, sorted and apart from each other, into the file.
pub(crate) fn assemble(bytes: &[u8], splices: &[Splice]) -> (Vec<u8>, Vec<Place>) {
    let mut out = Vec::with_capacity(bytes.len());
    let mut places = Vec::with_capacity(splices.len());
    let (mut from, mut line) = (0, 1);
    for splice in splices {
        let kept = &bytes[from..splice.range.start];
        line += newlines(kept);
        out.extend_from_slice(kept);
        let new = out.len()..out.len() + splice.bytes.len();
        out.extend_from_slice(&splice.bytes);
        let inside = newlines(&splice.bytes);
        let ends_line = splice.bytes.last().is_none_or(|last| *last == b'\n');
        let last_line = (line + inside).saturating_sub(usize::from(ends_line && inside > 0));
        places.push(Place {
            first_line: line,
            last_line,
            old: splice.range.clone(),
            new,
        });
        line += inside;
        from = splice.range.end;
    }
    out.extend_from_slice(&bytes[from..]);
    (out, places)
}

fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

/// Makes the splice for one found place: all lines of it, the last without its ending.
pub(crate) fn rewrite(
    text: &Text<'_>,
    found: &Found,
    old: &[&str],
    new: &[&str],
    steps: &[Step],
    strictness: Strictness,
) -> Splice {
    let mut pieces = pieces(text, found, old, new, steps, strictness);
    if found.past_end && new.last() == Some(&"") {
        pieces.pop();
    }
    let mut bytes = Vec::new();
    join(&mut bytes, &pieces, text.ending_near(found.first));
    Splice {
        range: found.range(),
        bytes,
    }
}

/// Makes the splice for whole lines (both sides end with an empty line), without the kept lines around the change.
pub(crate) fn rewrite_lines(
    text: &Text<'_>,
    found: &Found,
    old: &[&str],
    new: &[&str],
    steps: &[Step],
    strictness: Strictness,
) -> Splice {
    let default_ending = text.ending_near(found.first);
    let pieces = pieces(text, found, old, new, steps, strictness);
    let (head, tail) = kept_around(steps);
    let first_kept = old.len() - tail;
    let mut bytes = Vec::new();
    let mut start = found.segments[head].start;
    let changed = &pieces[head..pieces.len() - tail];
    if found.past_end && tail == 1 {
        // The change reaches the end of a file without final newline, and it stays without.
        if head == first_kept {
            bytes.extend_from_slice(default_ending);
        } else if changed.is_empty() && head > 0 {
            start = found.segments[head - 1].end;
        }
        join(&mut bytes, changed, default_ending);
        return Splice {
            range: start..text.bytes.len(),
            bytes,
        };
    }
    for (body, ending) in changed {
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(if ending.is_empty() {
            default_ending
        } else {
            ending
        });
    }
    Splice {
        range: start..found.segments[first_kept].start,
        bytes,
    }
}

/// How many lines at the beginning and at the end stay. At least the empty line at the end does.
pub(crate) fn kept_around(steps: &[Step]) -> (usize, usize) {
    let is_keep = |step: &&Step| matches!(step, Step::Keep { .. });
    (
        steps.iter().take_while(is_keep).count(),
        steps.iter().rev().take_while(is_keep).count(),
    )
}

fn join(bytes: &mut Vec<u8>, pieces: &[(Vec<u8>, &[u8])], default_ending: &[u8]) {
    let last = pieces.len().saturating_sub(1);
    for (index, (body, ending)) in pieces.iter().enumerate() {
        bytes.extend_from_slice(body);
        if index < last {
            bytes.extend_from_slice(if ending.is_empty() {
                default_ending
            } else {
                ending
            });
        }
    }
}

/// The new lines with their endings; an ending is empty where the old line has none.
fn pieces<'a>(
    text: &Text<'a>,
    found: &Found,
    old: &[&str],
    new: &[&str],
    steps: &[Step],
    strictness: Strictness,
) -> Vec<(Vec<u8>, &'a [u8])> {
    let segment = |index: usize| &text.bytes[found.segments[index].clone()];
    let indents = Indents::learn(old, segment, strictness);
    let ending_of = |index: usize| {
        let line = found.first + index;
        if line < text.lines.len() {
            text.ending(line)
        } else {
            b""
        }
    };
    let default_ending = text.ending_near(found.first);
    let mut pieces: Vec<(Vec<u8>, &[u8])> = Vec::with_capacity(new.len());
    for step in steps {
        match step {
            Step::Keep { old } => pieces.push((segment(*old).to_vec(), ending_of(*old))),
            Step::Swap {
                old: gone,
                new: come,
            } => {
                for (nth, line) in come.clone().enumerate() {
                    let pair = gone.start + nth;
                    if pair < gone.end {
                        let body = weave(old[pair], new[line], segment(pair), &indents);
                        pieces.push((body, ending_of(pair)));
                    } else {
                        let ending = pieces.last().map_or(default_ending, |(_, ending)| *ending);
                        pieces.push((indents.apply(new[line]), ending));
                    }
                }
            }
        }
    }
    pieces
}

/// One changed line: its indentation, its unchanged beginning and end and its trailing white space stay the file's.
fn weave(old: &str, new: &str, file: &[u8], indents: &Indents) -> Vec<u8> {
    let (old, new) = (old.as_bytes(), new.as_bytes());
    if old == file {
        // Indentation that stays is this line's, whatever the others teach.
        return if indent_of(old) == indent_of(new) {
            new.to_vec()
        } else {
            indents.apply_bytes(new)
        };
    }
    let (old_indent, old_core, old_trail) = parts(old);
    let (new_indent, new_core, new_trail) = parts(new);
    let (file_indent, file_core, file_trail) = parts(file);
    let indent = if new_indent == old_indent {
        file_indent.to_vec()
    } else {
        indents.map(new_indent)
    };
    let mut out = if let Some(core) = weave_units(old_core, new_core, file_core) {
        [indent, core].concat()
    } else if let Some(line) = weave_units(
        // One side begins with a space that is no indentation.
        &old[..old.len() - old_trail.len()],
        &new[..new.len() - new_trail.len()],
        &file[..file.len() - file_trail.len()],
    ) {
        line
    } else {
        [&indent, new_core].concat()
    };
    if old_trail != new_trail {
        out.extend_from_slice(new_trail);
    } else if !new_core.is_empty() {
        out.extend_from_slice(file_trail);
    }
    out
}

/// The new text with the unchanged beginning and end as they are in the file; none if old and file are not alike
/// character for character.
fn weave_units(old: &[u8], new: &[u8], file: &[u8]) -> Option<Vec<u8>> {
    let (old, new, file) = (units(old), units(new), units(file));
    if old.len() != file.len() {
        return None;
    }
    let same = |(a, b): &(&&[u8], &&[u8])| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let room = old.len().min(new.len()) - head;
    let ends = old.iter().rev().zip(new.iter().rev());
    let tail = ends.take(room).take_while(same).count();
    let middle = &new[head..new.len() - tail];
    Some(
        [&file[..head], middle, &file[file.len() - tail..]]
            .concat()
            .concat(),
    )
}

/// Indentation, content, trailing white space. A blank line is all indentation.
fn parts(line: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let indent = indent_of(line);
    let rest = &line[indent.len()..];
    let core = trim_end(rest);
    (indent, core, &rest[core.len()..])
}

fn units(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut units = Vec::with_capacity(bytes.len());
    while !bytes.is_empty() {
        let (unit, rest) = bytes.split_at(unit_len(bytes));
        units.push(unit);
        bytes = rest;
    }
    units
}

/// How the indentation in the pattern translates to the file's. Empty when both are the same.
struct Indents {
    /// Pattern and file, shortest pattern first.
    known: Vec<(Vec<u8>, Vec<u8>)>,
    /// One level deeper in the pattern and in the file.
    step: Option<(Vec<u8>, Vec<u8>)>,
}

impl Indents {
    fn learn<'t>(
        old: &[&str],
        segment: impl Fn(usize) -> &'t [u8],
        strictness: Strictness,
    ) -> Self {
        let mut known: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        if strictness >= Strictness::Indentation {
            for (index, line) in old.iter().enumerate() {
                if is_blank(line.as_bytes()) {
                    continue;
                }
                let pattern = indent_of(line.as_bytes());
                // A first line that begins inside the file's line says nothing about indentation.
                if index == 0 && pattern.is_empty() {
                    continue;
                }
                let file = indent_of(segment(index));
                if known.iter().all(|(seen, _)| seen != pattern) {
                    known.push((pattern.to_vec(), file.to_vec()));
                }
            }
        }
        if known.iter().all(|(pattern, file)| pattern == file) {
            return Self {
                known: Vec::new(),
                step: None,
            };
        }
        if known.iter().all(|(pattern, _)| !pattern.is_empty()) {
            known.push((Vec::new(), Vec::new()));
        }
        known.sort_by_key(|(pattern, _)| pattern.len());
        let step = known.windows(2).find_map(|pair| {
            let deeper = pair[1].0.strip_prefix(pair[0].0.as_slice())?;
            let file = pair[1].1.strip_prefix(pair[0].1.as_slice())?;
            (!deeper.is_empty() && !file.is_empty()).then(|| (deeper.to_vec(), file.to_vec()))
        });
        Self { known, step }
    }

    fn map(&self, indent: &[u8]) -> Vec<u8> {
        let base = self
            .known
            .iter()
            .rev()
            .find(|(pattern, _)| indent.starts_with(pattern));
        let Some((pattern, file)) = base else {
            return indent.to_vec();
        };
        let mut out = file.clone();
        let mut rest = &indent[pattern.len()..];
        if let Some((deeper, file)) = &self.step {
            while let Some(after) = rest.strip_prefix(deeper.as_slice()) {
                out.extend_from_slice(file);
                rest = after;
            }
        }
        out.extend_from_slice(rest);
        out
    }

    fn apply(&self, line: &str) -> Vec<u8> {
        self.apply_bytes(line.as_bytes())
    }

    fn apply_bytes(&self, line: &[u8]) -> Vec<u8> {
        if self.known.is_empty() || is_blank(line) {
            return line.to_vec();
        }
        let indent = indent_of(line);
        let mut out = self.map(indent);
        out.extend_from_slice(&line[indent.len()..]);
        out
    }
}
