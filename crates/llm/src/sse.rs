//! Reads server-sent events out of bytes, however the bytes are cut.
//!
//! Takes LF, CRLF and CR line ends, comments, several `data` lines, a byte order mark and UTF-8 that is split between
//! chunks. Knows nothing of JSON. What the standard ignores (`id`, `retry`, unknown fields) is ignored.

/// Longest line and longest event, in bytes.
///
/// An answer's largest line is one whole item (encrypted reasoning, a long call), far below this; a stream beyond it is
/// not one of ours.
pub(crate) const MAX_BYTES: usize = 16 << 20;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// The `event` field; empty when there was none.
    pub(crate) name: String,
    /// The `data` lines, joined by line feeds.
    pub(crate) data: String,
}

/// A line or an event is longer than [`MAX_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overlong;

/// Turns bytes into events.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The line so far, without its end.
    line: Vec<u8>,
    /// The event so far.
    event: Event,
    /// Whether the event has a `data` line, an empty one included.
    has_data: bool,
    /// Whether the last byte was a CR, so that a LF now belongs to it.
    after_cr: bool,
    /// Whether the first line is over; a byte order mark can only stand before.
    is_started: bool,
}

impl Decoder {
    /// Takes the next bytes and appends the events they complete.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        events: &mut Vec<Event>,
    ) -> Result<(), Overlong> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.extend_line(bytes);
            };
            self.extend_line(&bytes[..end])?;
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line(events)?;
        }
        Ok(())
    }

    /// Says that no more bytes come, and returns an event that only lacks its closing empty line. A line that was cut
    /// is dropped: half an event is not an event.
    pub(crate) fn finish(self) -> Option<Event> {
        (self.has_data && self.line.is_empty()).then_some(self.event)
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), Overlong> {
        if self.line.len() + bytes.len() > MAX_BYTES {
            return Err(Overlong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), Overlong> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = bytes.as_slice();
        if !std::mem::replace(&mut self.is_started, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
            return Ok(());
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(0) => return Ok(()),
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"event" => self.event.name = value.into_owned(),
            b"data" => {
                if self.event.data.len() + value.len() > MAX_BYTES {
                    return Err(Overlong);
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&value);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.push(chunk, &mut events).unwrap();
        }
        events.extend(decoder.finish());
        events
            .into_iter()
            .map(|event| (event.name, event.data))
            .collect()
    }

    #[track_caller]
    fn check(text: &str, expect: &[(&str, &str)]) {
        let expect: Vec<_> = expect
            .iter()
            .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
            .collect();
        assert_eq!(decode([text.as_bytes()]), expect, "in one piece");
        let bytes: Vec<_> = text.as_bytes().chunks(1).collect();
        assert_eq!(decode(bytes), expect, "byte by byte");
    }

    #[test]
    fn every_line_end_ends_a_line() {
        check("data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]);
        check(
            "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n",
            &[("x", "a"), ("", "b")],
        );
        check("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]);
    }

    #[test]
    fn data_lines_are_joined_and_comments_skipped() {
        check(
            ": ping\n\nid: 7\nretry: 1\ndata: a\ndata:\ndata:  b\n\n",
            &[("", "a\n\n b")],
        );
        check("event: lonely\n\ndata: a\n\n", &[("", "a")]);
        check("data\n\n", &[("", "")]);
        check("\u{feff}data: mark\n\n", &[("", "mark")]);
    }

    #[test]
    fn characters_may_be_split_between_chunks() {
        check("data: grüße 🦀\n\n", &[("", "grüße 🦀")]);
    }

    #[test]
    fn the_end_of_the_stream_completes_a_whole_line_only() {
        check("data: a\n", &[("", "a")]);
        check("data: a\ndata: {\"cut", &[]);
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let chunk = vec![b'x'; MAX_BYTES];
        assert_eq!(decoder.push(&chunk, &mut events), Ok(()));
        assert_eq!(decoder.push(b"x", &mut events), Err(Overlong));
    }

    proptest! {
        #[test]
        fn any_bytes_give_the_same_events_however_they_are_cut(
            bytes in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), any::<u8>()], 0..200),
            size in 1usize..9,
        ) {
            prop_assert_eq!(decode([bytes.as_slice()]), decode(bytes.chunks(size)));
        }
    }
}
