//! A stream of events, read one by one.

use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::ClientError;
use super::answer::MAX_ANSWER;

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    body: Incoming,
    buffer: Vec<u8>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number.
    pub id: Option<String>,
    /// Its kind.
    pub kind: Option<String>,
    /// What it says.
    pub data: String,
}

impl Events {
    pub(super) fn new(body: Incoming) -> Self {
        Self {
            body,
            buffer: Vec::new(),
        }
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// When the stream breaks.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            while let Some(end) = find_end(&self.buffer) {
                let rest = self.buffer.split_off(end);
                let block = std::mem::replace(&mut self.buffer, rest);
                if let Some(event) = read_event(&String::from_utf8_lossy(&block)) {
                    return Ok(Some(event));
                }
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => {
                    return Err(ClientError::Broken(format!(
                        "the stream broke off: {error}"
                    )));
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                    if self.buffer.len() > MAX_ANSWER {
                        return Err(ClientError::Broken("an event is too large".to_owned()));
                    }
                }
            }
        }
    }
}

/// Where the first block of lines ends, its empty line included.
fn find_end(buffer: &[u8]) -> Option<usize> {
    buffer
        .windows(2)
        .position(|pair| pair == b"\n\n")
        .map(|at| at + 2)
}

/// The event of a block; `None` for comments and hints.
fn read_event(block: &str) -> Option<Event> {
    let mut event = Event {
        id: None,
        kind: None,
        data: String::new(),
    };
    let mut any = false;
    for line in block.lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => event.id = Some(value.to_owned()),
            "event" => event.kind = Some(value.to_owned()),
            "data" => {
                if any {
                    event.data.push('\n');
                }
                any = true;
                event.data.push_str(value);
            }
            _ => {}
        }
    }
    any.then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_from_their_blocks() {
        assert_eq!(read_event(": quiet\n\n"), None);
        let event = read_event("id: 7\nevent: server.start\ndata: {\ndata: }\n\n");
        let event = event.expect("an event");
        assert_eq!(event.id.as_deref(), Some("7"));
        assert_eq!(event.kind.as_deref(), Some("server.start"));
        assert_eq!(event.data, "{\n}");
    }
}
