//! What the fake model answers: blocks, a status, and what goes wrong on the way.

use std::{io::Write, thread, time::Duration};

use serde_json::Value;

use super::{frames, write_chunk};

/// One answer of the script.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub(super) blocks: Vec<Say>,
    pub(super) tokens: Tokens,
    pub(super) stop: Option<String>,
    status: Option<u16>,
    headers: Vec<(String, String)>,
    body: Option<String>,
    fault: Option<(usize, Fault)>,
    is_one_byte: bool,
    pause: Option<Duration>,
    hangs: bool,
}

/// A block of an answer.
#[derive(Clone, Debug)]
pub(super) enum Say {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Call {
        id: String,
        name: String,
        input: String,
    },
}

/// Token counts as the wires report them, each in its own fields.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    /// Input that came from no cache.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache; only Messages reports it.
    pub cache_write: u64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            input: 10,
            output: 5,
            cache_read: 0,
            cache_write: 0,
        }
    }
}

#[derive(Clone, Debug)]
enum Fault {
    Stall,
    Cut,
    Event(String),
}

impl Answer {
    /// Says text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// Calls a tool with JSON text.
    pub fn call(id: &str, name: &str, input: impl ToString) -> Self {
        Self::default().and_call(id, name, input)
    }

    /// Answers with a status and no stream.
    pub fn status(status: u16) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    /// Takes the request and never answers.
    pub fn hang() -> Self {
        Self {
            hangs: true,
            ..Self::default()
        }
    }

    /// Answers 200 with this as the event stream, byte for byte.
    pub fn raw_stream(events: impl Into<String>) -> Self {
        Self {
            body: Some(events.into()),
            ..Self::default()
        }
    }

    /// Says text after what is there.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Say::Text(text.into()));
        self
    }

    /// Calls a tool after what is there.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a literal reads better without a borrow"
    )]
    pub fn and_call(mut self, id: &str, name: &str, input: impl ToString) -> Self {
        self.blocks.push(Say::Call {
            id: id.to_owned(),
            name: name.to_owned(),
            input: input.to_string(),
        });
        self
    }

    /// Thinks. The signature is what must come back: `signature`, `encrypted_content` or the text itself, by wire.
    #[must_use]
    pub fn and_thinking(mut self, text: &str, signature: &str) -> Self {
        self.blocks.push(Say::Thinking {
            text: text.to_owned(),
            signature: signature.to_owned(),
        });
        self
    }

    /// Reports these tokens.
    #[must_use]
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// Ends for this reason, in the words of the wire.
    #[must_use]
    pub fn stop(mut self, reason: &str) -> Self {
        self.stop = Some(reason.to_owned());
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body that goes with a status.
    #[must_use]
    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Falls silent after this many events and keeps the connection.
    #[must_use]
    pub fn stall_after(mut self, events: usize) -> Self {
        self.fault = Some((events, Fault::Stall));
        self
    }

    /// Cuts the connection after this many events.
    #[must_use]
    pub fn cut_after(mut self, events: usize) -> Self {
        self.fault = Some((events, Fault::Cut));
        self
    }

    /// Sends one more event with this data after this many events, and goes on.
    #[must_use]
    pub fn event_after(mut self, events: usize, data: &str) -> Self {
        self.fault = Some((events, Fault::Event(format!("data: {data}\n\n"))));
        self
    }

    /// Sends every byte as a chunk of its own.
    #[must_use]
    pub fn one_byte_chunks(mut self) -> Self {
        self.is_one_byte = true;
        self
    }

    /// Waits before every event.
    #[must_use]
    pub fn slow(mut self, pause: Duration) -> Self {
        self.pause = Some(pause);
        self
    }

    /// Writes the answer. Returns whether the connection can serve another request.
    pub(super) fn send(
        &self,
        path: &str,
        out: &mut dyn Write,
        hang: &mut dyn FnMut(),
    ) -> std::io::Result<bool> {
        if self.hangs {
            hang();
            return Ok(false);
        }
        let mut head = format!("HTTP/1.1 {} Fake\r\n", self.status.unwrap_or(200));
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.status.is_some() {
            let body = self.body.clone().unwrap_or_default();
            let kind = if serde_json::from_str::<Value>(&body).is_ok() {
                "application/json"
            } else {
                "text/plain"
            };
            if !self
                .headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
            {
                head.push_str(&format!("content-type: {kind}\r\n"));
            }
            head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
            out.write_all(head.as_bytes())?;
            return Ok(true);
        }
        head.push_str("content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
        out.write_all(head.as_bytes())?;
        out.flush()?;
        let frames = match &self.body {
            Some(raw) => vec![raw.clone()],
            None => frames::frames(path, self),
        };
        let count = frames.len();
        for (index, frame) in frames.into_iter().map(Some).chain([None]).enumerate() {
            match &self.fault {
                Some((at, Fault::Stall)) if *at == index => {
                    hang();
                    return Ok(false);
                }
                Some((at, Fault::Cut)) if *at == index => return Ok(false),
                Some((at, Fault::Event(event))) if *at == index && index <= count => {
                    write_chunk(out, event.as_bytes())?;
                }
                _ => {}
            }
            let Some(frame) = frame else { break };
            if let Some(pause) = self.pause {
                thread::sleep(pause);
            }
            if self.is_one_byte {
                for byte in frame.as_bytes() {
                    write_chunk(out, &[*byte])?;
                }
            } else {
                write_chunk(out, frame.as_bytes())?;
            }
        }
        out.write_all(b"0\r\n\r\n")?;
        out.flush()?;
        Ok(true)
    }
}
