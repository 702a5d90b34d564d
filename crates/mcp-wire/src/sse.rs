//! Server-sent events: reads a stream of them under a limit, and spells one.

use crate::lines::DEFAULT_LIMIT;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A whole event.
    Message(Message),
    /// An event over the limit: how many bytes it had, and its first ones.
    TooLong {
        /// Bytes of data.
        bytes: u64,
        /// The first bytes of it.
        head: Vec<u8>,
    },
}

/// A whole event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// `event:`; `message` when none was given.
    pub event: String,
    /// The lines of `data:`, joined by line ends.
    pub data: Vec<u8>,
    /// The last `id:` of the stream up to here; `None` before the first.
    pub id: Option<String>,
    /// `retry:` of this event, in milliseconds.
    pub retry_ms: Option<u64>,
}

/// Reads events. Feed it with [`Decoder::push`] and take events with [`Decoder::next`].
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    line: Vec<u8>,
    /// Bytes of the present line that were dropped because it is over the limit.
    dropped: u64,
    last_was_cr: bool,
    at_start: bool,
    event: String,
    data: Vec<u8>,
    has_data: bool,
    too_long: Option<(u64, Vec<u8>)>,
    /// The last `id:` that was read; its event may not be whole yet.
    next_id: Option<String>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
    done: std::collections::VecDeque<Event>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(DEFAULT_LIMIT)
    }
}

impl Decoder {
    /// Events of at most `limit` bytes of data.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            dropped: 0,
            last_was_cr: false,
            at_start: true,
            event: String::new(),
            data: Vec::new(),
            has_data: false,
            too_long: None,
            next_id: None,
            last_id: None,
            retry_ms: None,
            done: std::collections::VecDeque::new(),
        }
    }

    /// Takes bytes as they arrive, cut anywhere. An event that the stream's end cuts off is dropped, as the
    /// specification of the format wants it.
    pub fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b'\n' if self.last_was_cr => self.last_was_cr = false,
                b'\n' | b'\r' => {
                    self.last_was_cr = byte == b'\r';
                    self.end_line();
                }
                _ => {
                    self.last_was_cr = false;
                    // Room for the field's name beside the data.
                    if self.line.len() < self.limit.saturating_add(64) {
                        self.line.push(byte);
                    } else {
                        self.dropped += 1;
                    }
                }
            }
        }
    }

    /// The next whole event.
    #[allow(
        clippy::should_implement_trait,
        reason = "it goes on after None, once more bytes are pushed"
    )]
    pub fn next(&mut self) -> Option<Event> {
        self.done.pop_front()
    }

    /// The last `id:` of an event that was whole, to go on from: one that was cut off is sent again.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        let dropped = std::mem::take(&mut self.dropped);
        if std::mem::take(&mut self.at_start) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(0) => return,
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line.as_slice(), &[][..]),
        };
        match name {
            b"data" => self.add_data(value, dropped),
            b"event" => self.event = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => {
                self.next_id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" => {
                let digits = std::str::from_utf8(value)
                    .ok()
                    .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                self.retry_ms = digits.and_then(|text| text.parse().ok());
            }
            _ => {}
        }
    }

    fn add_data(&mut self, value: &[u8], dropped: u64) {
        if let Some((bytes, _)) = &mut self.too_long {
            *bytes += value.len() as u64 + dropped;
            return;
        }
        if dropped > 0 || self.data.len() + value.len() + 1 > self.limit {
            let head = self.data.iter().chain(value).take(200).copied().collect();
            self.too_long = Some((self.data.len() as u64 + value.len() as u64 + dropped, head));
            self.data = Vec::new();
            return;
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
    }

    fn dispatch(&mut self) {
        if let Some(id) = self.next_id.take() {
            self.last_id = Some(id);
        }
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        let retry_ms = self.retry_ms.take();
        let has_data = std::mem::take(&mut self.has_data);
        if let Some((bytes, head)) = self.too_long.take() {
            self.done.push_back(Event::TooLong { bytes, head });
        } else if has_data || retry_ms.is_some() {
            let event = if event.is_empty() {
                "message".to_owned()
            } else {
                event
            };
            self.done.push_back(Event::Message(Message {
                event,
                data,
                id: self.last_id.clone(),
                retry_ms,
            }));
        }
    }
}

impl Message {
    /// An event of ours with one message as data.
    #[must_use]
    pub fn of(data: Vec<u8>) -> Self {
        Self {
            event: "message".to_owned(),
            data,
            id: None,
            retry_ms: None,
        }
    }

    /// The event as it is sent. Line ends in the data start new `data:` lines; in `event` and `id` they are left out.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.data.len() + 64);
        let one_line = |text: &str| text.replace(['\n', '\r', '\0'], "");
        if self.event != "message" && !self.event.is_empty() {
            out.extend_from_slice(format!("event: {}\n", one_line(&self.event)).as_bytes());
        }
        if let Some(id) = &self.id {
            out.extend_from_slice(format!("id: {}\n", one_line(id)).as_bytes());
        }
        if let Some(retry) = self.retry_ms {
            out.extend_from_slice(format!("retry: {retry}\n").as_bytes());
        }
        for line in self.data.split(|byte| matches!(byte, b'\n' | b'\r')) {
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(line);
            out.push(b'\n');
        }
        out.push(b'\n');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(stream: &[u8], limit: usize, piece: usize) -> Vec<Event> {
        let mut decoder = Decoder::new(limit);
        stream.chunks(piece).for_each(|chunk| decoder.push(chunk));
        std::iter::from_fn(|| decoder.next()).collect()
    }

    #[test]
    fn events_are_the_same_however_the_stream_is_cut() {
        let stream = b"\xef\xbb\xbf: hello\r\nid: 1\r\nretry: 500\r\ndata:\r\n\r\nevent: endpoint\rdata: /m?x=1\r\rdata: a\ndata:b\ndata:  c\n\ndata: cut off";
        let whole = decode(stream, 1_000, usize::MAX);
        let message = |event: &str, data: &str, retry_ms| {
            Event::Message(Message {
                event: event.into(),
                data: data.into(),
                id: Some("1".into()),
                retry_ms,
            })
        };
        assert_eq!(
            whole,
            [
                message("message", "", Some(500)),
                message("endpoint", "/m?x=1", None),
                message("message", "a\nb\n c", None)
            ]
        );
        for piece in [1, 2, 7] {
            assert_eq!(decode(stream, 1_000, piece), whole, "{piece}");
        }
    }

    #[test]
    fn an_event_over_the_limit_fails_alone() {
        let stream = format!("data: {}\ndata: more\n\ndata: ok\n\n", "x".repeat(10_000));
        for piece in [1, 999, usize::MAX] {
            let events = decode(stream.as_bytes(), 1_000, piece);
            assert!(
                matches!(&events[0], Event::TooLong { bytes: 10_004, .. }),
                "{:?}",
                events[0]
            );
            assert!(matches!(&events[1], Event::Message(message) if message.data == b"ok"));
        }
    }

    #[test]
    fn the_last_id_is_that_of_an_event_that_was_whole() {
        let mut decoder = Decoder::default();
        decoder.push(b"id: 1\ndata: a\n\nid: 2\ndata: cut");
        assert_eq!(decoder.last_id(), Some("1"));
        decoder.push(b" off\n\n");
        assert_eq!(decoder.last_id(), Some("2"));
        // An event without data is none, but its id counts.
        decoder.push(b"id: 3\n\n");
        assert_eq!(decoder.last_id(), Some("3"));
    }

    #[test]
    fn what_is_spelled_reads_back() {
        let message = Message {
            event: "e".into(),
            data: b"{\"a\":1}\nb".to_vec(),
            id: Some("9".into()),
            retry_ms: Some(5),
        };
        assert_eq!(
            decode(&message.to_bytes(), 1_000, 3),
            [Event::Message(message)]
        );
    }
}
