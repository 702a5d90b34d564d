//! Finds lines in a file at a chosen strictness, and only finds them: nothing here says what is written.
//!
//! The file stays bytes. What does not decode as UTF-8 is compared byte by byte.

use std::{borrow::Cow, fmt, ops::Range};

/// How exactly a text was found. Later ones forgive what the earlier forgive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strictness {
    /// Byte for byte.
    Exact,
    /// Apart from white space at line ends, the kind of line ending, and a byte order mark.
    LineEnds,
    /// Apart from that and how far lines are indented.
    Indentation,
    /// Apart from that and typographic quotes, dashes and spaces.
    Quotes,
}

impl Strictness {
    /// From the strictest on.
    pub const ALL: [Self; 4] = [Self::Exact, Self::LineEnds, Self::Indentation, Self::Quotes];
}

impl fmt::Display for Strictness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "exactly",
            Self::LineEnds => "ignoring white space and line endings at the ends of lines",
            Self::Indentation => "ignoring indentation and white space at the ends of lines",
            Self::Quotes => "ignoring typographic quotes and dashes, indentation and line ends",
        })
    }
}

/// One line: the content is `start..end`, the ending `end..next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) next: usize,
}

/// A file cut into lines. After a final newline there is one more, empty line; a byte order mark is before the first.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) lines: Vec<Line>,
}

pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

impl<'a> Text<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let mut lines = Vec::new();
        for newline in memchr::memchr_iter(b'\n', bytes) {
            let crlf = newline > start && bytes[newline - 1] == b'\r';
            let end = if crlf { newline - 1 } else { newline };
            lines.push(Line {
                start,
                end,
                next: newline + 1,
            });
            start = newline + 1;
        }
        lines.push(Line {
            start,
            end: bytes.len(),
            next: bytes.len(),
        });
        Self { bytes, lines }
    }

    pub(crate) fn content(&self, line: usize) -> &'a [u8] {
        let Line { start, end, .. } = self.lines[line];
        &self.bytes[start..end]
    }

    /// The ending of a line; empty for the last one.
    pub(crate) fn ending(&self, line: usize) -> &'a [u8] {
        let Line { end, next, .. } = self.lines[line];
        &self.bytes[end..next]
    }

    /// The line that holds a byte.
    pub(crate) fn line_at(&self, byte: usize) -> usize {
        self.lines
            .partition_point(|line| line.next <= byte)
            .min(self.lines.len() - 1)
    }

    /// The ending that a new line near `line` gets: its own, else the one before, else the first of the file.
    pub(crate) fn ending_near(&self, line: usize) -> &'a [u8] {
        let near = (0..=line.min(self.lines.len() - 1)).rev().take(64);
        near.map(|line| self.ending(line))
            .chain((0..self.lines.len()).take(1).map(|line| self.ending(line)))
            .find(|ending| !ending.is_empty())
            .unwrap_or(b"\n")
    }
}

/// Where a pattern may begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// In the middle of a line too.
    Anywhere,
    /// Whole lines only; the pattern ends with an empty line.
    Lines,
}

/// Where a pattern was found: the part of each of the file's lines that it covers, endings left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) first: usize,
    pub(crate) segments: Vec<Range<usize>>,
    /// The pattern ends with a newline that the file's last line does not have.
    pub(crate) past_end: bool,
}

impl Found {
    /// All bytes covered.
    pub(crate) fn range(&self) -> Range<usize> {
        let start = self.segments.first().map_or(0, |first| first.start);
        start..self.segments.last().map_or(start, |last| last.end)
    }
}

/// Finds every place of a pattern (lines without endings), overlapping ones too, first to last, at most `limit`.
pub(crate) fn find(
    text: &Text<'_>,
    pattern: &[&str],
    anchor: Anchor,
    strictness: Strictness,
    limit: usize,
) -> Vec<Found> {
    let Some((last, body)) = pattern.split_last() else {
        return Vec::new();
    };
    if pattern.iter().all(|line| is_blank(line.as_bytes())) && strictness > Strictness::Exact {
        return Vec::new();
    }
    let forms = |bytes| Form::new(bytes, strictness);
    let wanted: Vec<Form<'_>> = pattern.iter().map(|line| forms(line.as_bytes())).collect();
    let lines: Vec<Form<'_>> = (0..text.lines.len())
        .map(|line| forms(text.content(line)))
        .collect();
    let mut found = Vec::new();
    if body.is_empty() {
        for (index, line) in lines.iter().enumerate() {
            within_line(
                text.lines[index],
                line,
                &wanted[0],
                strictness,
                limit,
                |segment| {
                    found.push(Found {
                        first: index,
                        segments: vec![segment],
                        past_end: false,
                    });
                },
            );
            if found.len() >= limit {
                found.truncate(limit);
                break;
            }
        }
        return found;
    }
    let middle = &wanted[1..body.len()];
    for first in 0..lines.len() {
        let Some(start) = at_line_end(
            text.lines[first],
            &lines[first],
            &wanted[0],
            anchor,
            strictness,
        ) else {
            continue;
        };
        let after = first + 1 + middle.len();
        let Some(covered) = lines.get(first + 1..after) else {
            break;
        };
        if covered
            .iter()
            .zip(middle)
            .any(|(line, want)| line.core != want.core)
        {
            continue;
        }
        let (end, past_end) = match lines.get(after) {
            Some(line) => {
                let want = &wanted[body.len()];
                match at_line_start(text.lines[after], line, want, last, strictness) {
                    Some(end) => (end, false),
                    None => continue,
                }
            }
            None if last.is_empty()
                && after == lines.len()
                && !text.content(after - 1).is_empty() =>
            {
                (text.bytes.len()..text.bytes.len(), true)
            }
            None => continue,
        };
        let mut segments = vec![start];
        segments
            .extend((first + 1..after).map(|line| text.lines[line].start..text.lines[line].end));
        segments.push(end);
        found.push(Found {
            first,
            segments,
            past_end,
        });
        if found.len() >= limit {
            break;
        }
    }
    found
}

/// A line as it is compared: what is forgiven taken off both sides, the rest folded.
struct Form<'a> {
    raw: &'a [u8],
    /// Length of the white space taken off the front.
    indent: usize,
    /// Length of the white space taken off the end.
    trail: usize,
    core: Cow<'a, [u8]>,
}

impl<'a> Form<'a> {
    fn new(raw: &'a [u8], strictness: Strictness) -> Self {
        let trail = if strictness >= Strictness::LineEnds {
            raw.len() - trim_end(raw).len()
        } else {
            0
        };
        let kept = &raw[..raw.len() - trail];
        let indent = if strictness >= Strictness::Indentation {
            indent_of(kept).len()
        } else {
            0
        };
        let core = &kept[indent..];
        let core = if strictness >= Strictness::Quotes {
            fold(core)
        } else {
            Cow::Borrowed(core)
        };
        Self {
            raw,
            indent,
            trail,
            core,
        }
    }

    /// Turns a position in `core` into one in `raw`.
    fn raw_at(&self, position: usize) -> usize {
        self.raw_from((self.indent, 0), position)
    }

    /// The same, going on from a pair of positions that is known.
    fn raw_from(&self, known: (usize, usize), position: usize) -> usize {
        let (mut raw, mut core) = known;
        if let Cow::Borrowed(_) = self.core {
            return raw + position - core;
        }
        while core < position {
            raw += unit_len(&self.raw[raw..]);
            core += unit_len(&self.core[core..]);
        }
        raw
    }
}

/// All places of a pattern without newlines in one line.
fn within_line(
    at: Line,
    line: &Form<'_>,
    want: &Form<'_>,
    strictness: Strictness,
    limit: usize,
    mut take: impl FnMut(Range<usize>),
) {
    if want.core.is_empty() {
        return;
    }
    let at_first = strictness >= Strictness::Indentation && want.indent > 0;
    let mut from = 0;
    let mut count = 0;
    // A line may have millions of characters and many matches: positions are counted once.
    let mut known = (line.indent, 0);
    while count < limit
        && let Some(offset) = memchr::memmem::find(&line.core[from..], &want.core)
    {
        let position = from + offset;
        from = position + unit_len(&line.core[position..]);
        let ends = position + want.core.len();
        // White space that the pattern has at its end can only be forgiven at the end of a line.
        if (at_first && position > 0) || (want.trail > 0 && ends < line.core.len()) {
            if at_first { break } else { continue }
        }
        known = (line.raw_from(known, position), position);
        let start = if at_first { 0 } else { known.0 };
        let end = if want.trail > 0 {
            line.raw.len()
        } else {
            line.raw_from(known, ends)
        };
        take(at.start + start..at.start + end);
        count += 1;
    }
}

/// The first line of several: it may begin inside the file's line and goes on to its end.
fn at_line_end(
    at: Line,
    line: &Form<'_>,
    want: &Form<'_>,
    anchor: Anchor,
    strictness: Strictness,
) -> Option<Range<usize>> {
    let whole =
        anchor == Anchor::Lines || (strictness >= Strictness::Indentation && want.indent > 0);
    if whole {
        return (line.core == want.core).then_some(at.start..at.end);
    }
    if want.core.is_empty() {
        return Some(at.end..at.end);
    }
    let position = line.core.len().checked_sub(want.core.len())?;
    line.core
        .ends_with(&want.core)
        .then(|| at.start + line.raw_at(position)..at.end)
}

/// The last line of several: it begins where the file's line does and may end inside it.
fn at_line_start(
    at: Line,
    line: &Form<'_>,
    want: &Form<'_>,
    written: &str,
    strictness: Strictness,
) -> Option<Range<usize>> {
    if written.is_empty() {
        return Some(at.start..at.start);
    }
    if want.core.is_empty() {
        let fits =
            strictness >= Strictness::Indentation || line.raw.starts_with(written.as_bytes());
        let end = if strictness >= Strictness::Indentation {
            indent_of(line.raw).len()
        } else {
            written.len()
        };
        return fits.then(|| at.start..at.start + end);
    }
    if want.trail > 0 {
        return (line.core == want.core).then_some(at.start..at.end);
    }
    line.core
        .starts_with(&want.core)
        .then(|| at.start..at.start + line.raw_at(want.core.len()))
}

/// The white space a line begins with.
pub(crate) fn indent_of(line: &[u8]) -> &[u8] {
    let end = line
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t'))
        .unwrap_or(line.len());
    &line[..end]
}

/// The line without the white space at its end.
pub(crate) fn trim_end(line: &[u8]) -> &[u8] {
    let end = line
        .iter()
        .rposition(|byte| !is_blank_byte(*byte))
        .map_or(0, |last| last + 1);
    &line[..end]
}

pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| is_blank_byte(*byte))
}

fn is_blank_byte(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0B | 0x0C)
}

/// Length of the first character, or 1 for a byte that belongs to none. At least 1 unless empty.
pub(crate) fn unit_len(bytes: &[u8]) -> usize {
    let Some(first) = bytes.first() else { return 0 };
    let len = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return 1,
    };
    match bytes.get(..len) {
        Some(unit) if std::str::from_utf8(unit).is_ok() => len,
        _ => 1,
    }
}

/// Turns typographic quotes, dashes and spaces into their plain ones, character for character.
fn fold(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.is_ascii() {
        return Cow::Borrowed(bytes);
    }
    let mut folded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(plain_len) = rest.iter().position(|byte| !byte.is_ascii()) {
        folded.extend_from_slice(&rest[..plain_len]);
        let (unit, after) = rest[plain_len..].split_at(unit_len(&rest[plain_len..]));
        match std::str::from_utf8(unit)
            .ok()
            .and_then(|text| text.chars().next())
            .and_then(plain)
        {
            Some(plain) => folded.push(plain),
            None => folded.extend_from_slice(unit),
        }
        rest = after;
    }
    folded.extend_from_slice(rest);
    Cow::Owned(folded)
}

/// The plain character that people and models type for a typographic one.
fn plain(character: char) -> Option<u8> {
    match character {
        '\u{2018}'..='\u{201B}' | '\u{2032}' | '\u{00B4}' => Some(b'\''),
        '\u{201C}'..='\u{201F}' | '\u{2033}' | '\u{00AB}' | '\u{00BB}' => Some(b'"'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some(b'-'),
        '\u{00A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => Some(b' '),
        _ => None,
    }
}
