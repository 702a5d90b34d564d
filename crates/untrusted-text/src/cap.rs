//! Honest shortening: head and tail, cut on line and character boundaries, with the cut stated.
//!
//! [`cap`] shortens a text that is at hand. [`HeadTail`] collects what a program prints, in bounded memory however much
//! that is, and shortens it the same way. Neither keeps what it leaves out: that is the archive's part.

use std::borrow::Cow;

/// How much of a text stays visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Most bytes of the text that stay; the note about the cut comes on top (at most [`MAX_NOTE_BYTES`]).
    pub max_bytes: usize,
    /// Most lines from the beginning.
    pub head_lines: usize,
    /// Most lines from the end.
    pub tail_lines: usize,
}

/// Longest note about a cut, in bytes.
pub const MAX_NOTE_BYTES: usize = 128;

/// A text within its shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capped {
    /// What stays, with a note in the place of what was left out.
    pub text: String,
    /// What was left out, if anything.
    pub omitted: Option<Omitted>,
}

/// What was left out of a text: one stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// First line of which anything is missing, from 1.
    pub first_line: usize,
    /// Last line of which anything is missing, inclusive.
    pub last_line: usize,
    /// Bytes left out.
    pub bytes: usize,
}

/// Shortens `text` to its head and tail lines.
///
/// When those are more than `max_bytes`, lines go from the tail first, until it holds a quarter of the bytes, then from
/// the head: an end of a quarter keeps the last words of a failed command. Cuts at line ends; only a first line
/// that is too long by itself is cut inside, between two characters.
pub fn cap(text: &str, shape: &Shape) -> Capped {
    let total_lines = count_lines(text.as_bytes());
    if text.len() <= shape.max_bytes
        && total_lines <= shape.head_lines.saturating_add(shape.tail_lines)
    {
        return Capped {
            text: text.to_owned(),
            omitted: None,
        };
    }
    let (head_lines, tail_lines) = share(total_lines, shape);
    let head = text
        .split_inclusive('\n')
        .take(head_lines)
        .map(Line::from_str)
        .collect();
    let tail = last_lines(text, tail_lines)
        .split_inclusive('\n')
        .map(Line::from_str)
        .collect();
    shorten(
        Ends {
            head,
            tail,
            head_is_partial: false,
            total_lines,
            total_bytes: text.len(),
        },
        shape,
    )
}

/// Collects what a program prints, in bounded memory.
///
/// Keeps the first and the last `keep_bytes` bytes and counts the rest.
#[derive(Clone, Debug)]
pub struct HeadTail {
    keep_bytes: usize,
    head: Vec<u8>,
    /// The bytes after the head; only the last `keep_bytes` of them matter, and it never grows beyond twice that.
    tail: Vec<u8>,
    total_bytes: usize,
    newlines: usize,
}

impl HeadTail {
    /// Returns an empty collector for texts that will be shortened to at most `keep_bytes` bytes.
    pub fn new(keep_bytes: usize) -> Self {
        Self {
            keep_bytes: keep_bytes.max(1),
            head: Vec::new(),
            tail: Vec::new(),
            total_bytes: 0,
            newlines: 0,
        }
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len();
        self.newlines += count_newlines(bytes);
        let room = self.keep_bytes - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        if rest.len() >= self.keep_bytes {
            self.tail.clear();
            self.tail
                .extend_from_slice(&rest[rest.len() - self.keep_bytes..]);
            return;
        }
        if self.tail.len() + rest.len() > 2 * self.keep_bytes {
            let surplus = self.tail.len() - self.keep_bytes.min(self.tail.len());
            self.tail.drain(..surplus);
        }
        self.tail.extend_from_slice(rest);
    }

    /// Returns how many bytes were pushed.
    pub fn bytes(&self) -> usize {
        self.total_bytes
    }

    /// Returns how many lines were pushed, the unfinished last one included.
    pub fn lines(&self) -> usize {
        let last = self.tail.last().or(self.head.last());
        self.newlines + usize::from(last.is_some_and(|&byte| byte != b'\n'))
    }

    /// Returns what was collected, shortened. Bytes that are no UTF-8 become `U+FFFD`.
    ///
    /// A shape with more `max_bytes` than the collector keeps gets what there is.
    pub fn finish(self, shape: &Shape) -> Capped {
        let total_lines = self.lines();
        let Self {
            keep_bytes,
            mut head,
            mut tail,
            total_bytes,
            ..
        } = self;
        // Not by what the tail happens to hold: the result must not depend on how the bytes came.
        if total_bytes <= head.len() + keep_bytes {
            head.append(&mut tail);
            return match std::str::from_utf8(&head) {
                Ok(text) => cap(text, shape),
                // Replaced bytes are longer than what was printed, so the lines keep both lengths.
                Err(_) => shorten(
                    Ends::of_bytes(&head, &head, total_lines, total_bytes, shape),
                    shape,
                ),
            };
        }
        // The head ends and the tail begins anywhere in a line: only whole lines count.
        let tail = &tail[tail.len().saturating_sub(keep_bytes)..];
        let tail = tail
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(&[][..], |at| &tail[at + 1..]);
        let whole_lines = head
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map(|at| at + 1);
        let head = match whole_lines {
            Some(end) => &head[..end],
            None => without_cut_char(&head),
        };
        let mut ends = Ends::of_bytes(head, tail, total_lines, total_bytes, shape);
        ends.head_is_partial = whole_lines.is_none();
        shorten(ends, shape)
    }
}

/// A line with its end, and its length before bytes were replaced.
struct Line<'a> {
    text: Cow<'a, str>,
    bytes: usize,
}

impl<'a> Line<'a> {
    fn from_str(text: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            bytes: text.len(),
        }
    }

    fn from_bytes(bytes: &'a [u8]) -> Self {
        Self {
            text: String::from_utf8_lossy(bytes),
            bytes: bytes.len(),
        }
    }
}

/// The first and the last lines of a text, without overlap.
struct Ends<'a> {
    head: Vec<Line<'a>>,
    tail: Vec<Line<'a>>,
    /// Whether the head is the beginning of one line whose end is not at hand.
    head_is_partial: bool,
    total_lines: usize,
    total_bytes: usize,
}

impl<'a> Ends<'a> {
    /// Takes lines from the beginning of `head` and from the end of `tail`.
    fn of_bytes(
        head: &'a [u8],
        tail: &'a [u8],
        total_lines: usize,
        total_bytes: usize,
        shape: &Shape,
    ) -> Self {
        let is_end = |&byte: &u8| byte == b'\n';
        let (head_lines, tail_lines) = share(total_lines, shape);
        let head = head
            .split_inclusive(is_end)
            .take(head_lines)
            .map(Line::from_bytes)
            .collect();
        let tail: Vec<&[u8]> = tail.split_inclusive(is_end).collect();
        let tail = tail[tail.len().saturating_sub(tail_lines)..]
            .iter()
            .map(|line| Line::from_bytes(line))
            .collect();
        Self {
            head,
            tail,
            head_is_partial: false,
            total_lines,
            total_bytes,
        }
    }
}

/// Returns how many lines the head and the tail may have. Without overlap; the head goes before the tail by one line.
fn share(total_lines: usize, shape: &Shape) -> (usize, usize) {
    let first = shape.head_lines.min(total_lines).min(1);
    let tail = shape.tail_lines.min(total_lines - first);
    (shape.head_lines.min(total_lines - tail), tail)
}

fn shorten(ends: Ends, shape: &Shape) -> Capped {
    let Ends {
        head,
        tail,
        head_is_partial,
        total_lines,
        total_bytes,
    } = ends;
    let size = |lines: &[Line]| lines.iter().map(|line| line.text.len()).sum::<usize>();
    let (mut head_bytes, mut tail_bytes) = (size(&head), size(&tail));
    let (mut head_end, mut tail_start) = (head.len(), 0);
    while head_bytes + tail_bytes > shape.max_bytes
        && tail_start < tail.len()
        && tail_bytes > shape.max_bytes / 4
    {
        tail_bytes -= tail[tail_start].text.len();
        tail_start += 1;
    }
    if head_is_partial {
        (head_end, head_bytes) = (0, 0);
    }
    while head_bytes + tail_bytes > shape.max_bytes && head_end > 0 {
        head_end -= 1;
        head_bytes -= head[head_end].text.len();
    }
    let tail = &tail[tail_start..];
    // The first line is too long by itself: its beginning is better than nothing.
    let inside = match head.first() {
        Some(line) if head_end == 0 => {
            let cut = line
                .text
                .floor_char_boundary(shape.max_bytes.saturating_sub(tail_bytes));
            Some(&line.text[..cut]).filter(|beginning| !beginning.is_empty())
        }
        _ => None,
    };
    let head = &head[..head_end];

    let mut text = String::with_capacity(shape.max_bytes.min(total_bytes) + MAX_NOTE_BYTES);
    let mut shown_bytes: usize = head.iter().chain(tail).map(|line| line.bytes).sum();
    head.iter().for_each(|line| text.push_str(&line.text));
    if let Some(beginning) = inside {
        text.push_str(beginning);
        shown_bytes += beginning.len();
    }
    let bytes = total_bytes
        .saturating_sub(shown_bytes)
        .max(usize::from(inside.is_some()));
    let omitted = Omitted {
        first_line: head_end + 1,
        last_line: (total_lines - tail.len()).max(head_end + 1),
        bytes,
    };
    if bytes > 0 {
        push_note(&mut text, &omitted, inside.is_some(), !tail.is_empty());
    }
    tail.iter().for_each(|line| text.push_str(&line.text));
    Capped {
        text,
        omitted: (bytes > 0).then_some(omitted),
    }
}

fn push_note(text: &mut String, omitted: &Omitted, is_inside: bool, has_tail: bool) {
    let Omitted {
        first_line,
        last_line,
        bytes,
    } = *omitted;
    let lines = match (is_inside, first_line == last_line) {
        (true, true) => format!("the rest of line {first_line}"),
        (true, false) => format!("the rest of line {first_line} to line {last_line}"),
        (false, true) => format!("line {first_line}"),
        (false, false) => format!("lines {first_line}-{last_line}"),
    };
    if is_inside || !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("[… left out: {lines}, {bytes} bytes]"));
    if has_tail {
        text.push('\n');
    }
}

fn count_newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

fn count_lines(bytes: &[u8]) -> usize {
    count_newlines(bytes) + usize::from(bytes.last().is_some_and(|&byte| byte != b'\n'))
}

/// Returns the last `count` lines of `text`.
fn last_lines(text: &str, count: usize) -> &str {
    if count == 0 {
        return "";
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
    let start = body
        .rmatch_indices('\n')
        .nth(count - 1)
        .map_or(0, |(at, _)| at + 1);
    &text[start..]
}

/// Drops the beginning of a character whose end is missing.
fn without_cut_char(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(&bytes[bytes.len().saturating_sub(4)..]) {
        Err(error) if error.error_len().is_none() => {
            &bytes[..bytes.len().saturating_sub(4) + error.valid_up_to()]
        }
        _ => bytes,
    }
}

#[cfg(test)]
mod tests;
