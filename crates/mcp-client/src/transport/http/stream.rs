//! The messages of one POST's answer: which is the answer, what is about the request, what is neither.

use mcp_wire::lines::{Line, Lines};
use mcp_wire::sse::Event;
use mcp_wire::{Frame, Id, method};
use tokio::sync::mpsc;

use super::{Events, Shared, quoted};
use crate::failure::{Cause, Delivery};
use crate::transport::{Answered, Broken};

/// Reads what is sent about one request.
pub(super) struct Reader<'a> {
    pub shared: &'a Shared,
    pub id: &'a Id,
    pub modern: bool,
    pub messages: &'a mpsc::Sender<Box<Frame>>,
}

/// Where a request's stream is, to go on from.
#[derive(Default)]
pub(super) struct Position {
    pub last_id: Option<String>,
    pub retry_ms: Option<u64>,
    /// How the last stream ended, in words.
    pub ending: String,
}

impl Reader<'_> {
    /// Reads a stream until the answer. `None` when it ended without one.
    pub(super) async fn events(
        &self,
        mut events: Events,
        position: &mut Position,
    ) -> Option<Answered> {
        while let Some(event) = events.next().await {
            let answered = match event {
                Event::Message(message) => {
                    position.retry_ms = message.retry_ms.or(position.retry_ms);
                    let blank = message.data.iter().all(u8::is_ascii_whitespace);
                    if blank || message.event != "message" {
                        None
                    } else {
                        self.take(&message.data).await
                    }
                }
                Event::TooLong { bytes, head } => self.too_long(bytes, &head),
            };
            if answered.is_some() {
                return answered;
            }
        }
        if let Some(id) = events.last_id() {
            position.last_id = Some(id.to_owned());
        }
        position.ending = events.ending();
        None
    }

    /// Takes one message, or a batch. `Some` when the answer was among them.
    pub(super) async fn take(&self, bytes: &[u8]) -> Option<Answered> {
        let frames = match Frame::parse_batch(bytes) {
            Ok(frames) => frames,
            Err(error) => {
                let is_ours = error.is_response && error.id.as_ref() == Some(self.id);
                if is_ours {
                    return Some(Err(unreadable(&error.reason)));
                }
                self.shared
                    .noise(format!("{}: {}", error.reason, quoted(bytes)));
                return None;
            }
        };
        let mut answered = None;
        for frame in frames {
            match frame {
                Ok(Frame::Response(response)) => {
                    let ours = match &response.id {
                        Some(id) => id == self.id,
                        // An error about a request whose id could not be read; this stream is about one alone.
                        None => true,
                    };
                    if ours && answered.is_none() {
                        answered = Some(Ok(response.outcome));
                    } else if !self.modern && self.shared.deliver(&response) {
                        // Servers of sessions put an answer on whatever stream is open.
                    } else if let Some(id) = response.id {
                        self.shared
                            .noise(format!("an answer to {id} on the stream of {}", self.id));
                    }
                }
                Ok(Frame::Request(request)) if self.modern => {
                    let what = format!(
                        "a request, `{}`, which a modern server does not make",
                        request.method
                    );
                    self.shared.noise(what);
                }
                Ok(frame) => self.pass_on(frame).await,
                Err(error) if error.is_response && error.id.as_ref() == Some(self.id) => {
                    answered = answered.or(Some(Err(unreadable(&error.reason))));
                }
                Err(error) => self.shared.noise(error.reason),
            }
        }
        answered
    }

    async fn pass_on(&self, frame: Frame) {
        if let Frame::Notification(notification) = &frame
            && notification.method == method::PROGRESS
            && notification
                .params
                .get("progressToken")
                .is_none_or(|token| Id::parse(token).ok().as_ref() != Some(self.id))
        {
            return self.shared.noise("progress of another request");
        }
        // The stream is this request's alone, so it may wait for whoever reads its messages.
        let _nobody_reads = self.messages.send(Box::new(frame)).await;
    }

    /// A response over the limit fails its request; anything else is noise.
    fn too_long(&self, bytes: u64, head: &[u8]) -> Option<Answered> {
        let limit = self.shared.limit;
        let why = format!("a message of {bytes} bytes, more than the limit of {limit}");
        let (id, names_method) = top_of(head);
        if names_method || id.is_some_and(|id| id != *self.id) {
            self.shared.noise(why);
            return None;
        }
        Some(Err(unreadable(&why)))
    }
}

/// What the beginning of a message over the limit says of it: its id, and whether it names a method.
pub(crate) fn top_of(head: &[u8]) -> (Option<Id>, bool) {
    let mut lines = Lines::new(0);
    lines.push(head);
    lines.finish();
    match lines.next() {
        Some(Line::TooLong(top)) => (top.id, top.names_method),
        _ => (None, false),
    }
}

pub(super) fn unreadable(why: &str) -> Broken {
    let why = format!("its answer cannot be read: {why}");
    Broken::new(Delivery::OutcomeUnknown, Cause::Unreadable, why)
}
