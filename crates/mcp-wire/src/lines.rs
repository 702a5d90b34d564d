//! Cuts a byte stream into lines under a limit. A line over the limit is dropped while it arrives, and its id found, so
//! that only its own request fails.

use crate::json::Raw;
use crate::message::Id;

/// How long a line may be when nobody said otherwise: 32 MiB.
pub const DEFAULT_LIMIT: usize = 32 * 1024 * 1024;
/// How much of a line over the limit is kept for a message.
const HEAD: usize = 200;
/// How long an id may be.
const MAX_ID: usize = 256;

/// One line of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A whole line without its end; never empty.
    Whole(Vec<u8>),
    /// A line over the limit.
    TooLong(TooLong),
}

/// What is known of a line over the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    /// Its first bytes.
    pub head: Vec<u8>,
    /// How many bytes it had.
    pub bytes: u64,
    /// The id of its message, when it had one at its top.
    pub id: Option<Id>,
    /// Whether it named a method at its top: then it is a request or notification, else a response.
    pub names_method: bool,
}

/// The cutter. Feed it with [`Lines::push`] and take lines with [`Lines::next`].
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    buffer: Vec<u8>,
    skipping: Option<Skip>,
    done: std::collections::VecDeque<Line>,
}

#[derive(Debug)]
struct Skip {
    head: Vec<u8>,
    bytes: u64,
    top: TopScan,
}

impl Lines {
    /// Lines of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            skipping: None,
            done: std::collections::VecDeque::new(),
        }
    }

    /// Takes bytes as they arrive, cut anywhere.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            self.take(line);
            self.end_line();
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.take(bytes);
    }

    /// The stream is over: what is left is a line without an end.
    pub fn finish(&mut self) {
        self.end_line();
    }

    /// The next whole line.
    #[allow(
        clippy::should_implement_trait,
        reason = "it goes on after None, once more bytes are pushed"
    )]
    pub fn next(&mut self) -> Option<Line> {
        self.done.pop_front()
    }

    /// From now on lines may have so many bytes; one that was over the limit before stays so.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// How long the line is until now that is being dropped because it is over the limit.
    #[must_use]
    pub fn skipped(&self) -> Option<u64> {
        self.skipping.as_ref().map(|skip| skip.bytes)
    }

    fn take(&mut self, bytes: &[u8]) {
        if let Some(skip) = &mut self.skipping {
            let missing = HEAD.saturating_sub(skip.head.len());
            skip.head.extend(bytes.iter().take(missing));
            skip.bytes += bytes.len() as u64;
            skip.top.push(bytes);
            return;
        }
        if self.buffer.len() + bytes.len() <= self.limit {
            self.buffer.extend_from_slice(bytes);
            return;
        }
        let buffer = std::mem::take(&mut self.buffer);
        let mut top = TopScan::default();
        top.push(&buffer);
        top.push(bytes);
        let head = buffer.iter().chain(bytes).take(HEAD).copied().collect();
        self.skipping = Some(Skip {
            head,
            bytes: (buffer.len() + bytes.len()) as u64,
            top,
        });
    }

    fn end_line(&mut self) {
        if let Some(skip) = self.skipping.take() {
            self.done.push_back(Line::TooLong(TooLong {
                head: skip.head,
                bytes: skip.bytes,
                id: skip.top.id(),
                names_method: skip.top.names_method,
            }));
            return;
        }
        let mut line = std::mem::take(&mut self.buffer);
        while line.last().is_some_and(u8::is_ascii_whitespace) {
            line.pop();
        }
        if !line.is_empty() {
            self.done.push_back(Line::Whole(line));
        }
    }
}

/// Follows a JSON object byte by byte and notes the members at its top: whether one is `method`, and the value of `id`.
#[derive(Debug, Default)]
struct TopScan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The string at depth 1 that is being read, or was read last.
    text: Vec<u8>,
    /// Whether the next value at depth 1 is a member's value, and its name.
    member: Option<Vec<u8>>,
    /// The value of `id`, as far as it was read.
    id: Vec<u8>,
    reading_id: bool,
    names_method: bool,
}

impl TopScan {
    fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.reading_id && self.id.len() <= MAX_ID && self.belongs_to_id(byte) {
            self.id.push(byte);
        }
        if self.in_string {
            return self.step_in_string(byte);
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.text.clear();
            }
            b':' if self.depth == 1 && self.member.is_none() => {
                self.names_method |= self.text == b"method";
                self.reading_id = self.text == b"id";
                if self.reading_id {
                    self.id.clear();
                }
                self.member = Some(std::mem::take(&mut self.text));
            }
            b',' if self.depth == 1 => {
                self.member = None;
                self.reading_id = false;
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.reading_id = false;
                }
            }
            _ => {}
        }
    }

    /// White space around the id does not count for its length.
    fn belongs_to_id(&self, byte: u8) -> bool {
        let ends = matches!(byte, b',' | b'}');
        let is_one_space_too_many =
            byte.is_ascii_whitespace() && self.id.last().is_none_or(u8::is_ascii_whitespace);
        self.in_string || !(ends || is_one_space_too_many)
    }

    fn step_in_string(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => {
                self.in_string = false;
                return;
            }
            _ => {}
        }
        if self.depth == 1 && self.member.is_none() && self.text.len() < 16 {
            self.text.push(byte);
        }
    }

    fn id(&self) -> Option<Id> {
        // The head of a longer one may be the id of another message.
        if self.id.len() > MAX_ID {
            return None;
        }
        let raw = Raw::parse_bytes(&self.id).ok()?;
        Id::parse(&raw).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(stream: &[u8], limit: usize, piece: usize) -> Vec<Line> {
        let mut lines = Lines::new(limit);
        stream.chunks(piece).for_each(|chunk| lines.push(chunk));
        lines.finish();
        std::iter::from_fn(|| lines.next()).collect()
    }

    #[test]
    fn lines_are_the_same_however_the_stream_is_cut() {
        let stream = format!("{}\r\n\n{}\nlast", "x".repeat(70_000), "y".repeat(65_536));
        let whole = cut(stream.as_bytes(), 1 << 20, usize::MAX);
        assert_eq!(whole.len(), 3);
        for piece in [1, 7, 65_536] {
            assert_eq!(cut(stream.as_bytes(), 1 << 20, piece), whole, "{piece}");
        }
    }

    #[test]
    fn the_head_of_a_line_over_the_limit_is_the_same_however_the_stream_is_cut() {
        let stream = "ab".repeat(500);
        for piece in [1, 7, 1_000] {
            let lines = cut(stream.as_bytes(), 10, piece);
            let Line::TooLong(line) = &lines[0] else {
                panic!("{lines:?}")
            };
            assert_eq!(line.head, &stream.as_bytes()[..HEAD], "{piece}");
        }
    }

    #[test]
    fn a_line_over_the_limit_is_known_by_its_id_wherever_it_stands() {
        let big = "z".repeat(5_000);
        for (text, id, method) in [
            (
                format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"t":"{big}","id":9}}}}"#),
                Some(Id::Number(7)),
                false,
            ),
            (
                format!(
                    r#"{{"result":{{"t":"{big}\"id\":1","id":[9]}},"jsonrpc":"2.0", "id" : "a,}}b" }}"#
                ),
                Some(Id::Text("a,}b".into())),
                false,
            ),
            (
                format!(r#"{{"method":"x","params":{{"id":3,"t":"{big}"}}}}"#),
                None,
                true,
            ),
            (format!("not json {big}"), None, false),
            (
                format!(r#"{{"id":{},"t":1}}"#, "9".repeat(5_000)),
                None,
                false,
            ),
            (
                format!(r#"{{"id":"\ud800","t":"{big}"}}"#),
                Some(Id::Odd(r#""\ud800""#.into())),
                false,
            ),
        ] {
            for piece in [1, 7, 1_000, usize::MAX] {
                let stream = format!("{text}\n{{}}\n");
                let lines = cut(stream.as_bytes(), 1_000, piece);
                let Line::TooLong(line) = &lines[0] else {
                    panic!("{lines:?}")
                };
                assert_eq!(
                    (&line.id, line.names_method, line.bytes),
                    (&id, method, text.len() as u64)
                );
                assert_eq!(lines[1], Line::Whole(b"{}".to_vec()));
            }
        }
    }
}
