//! The requests of the client that have no answer yet, and what becomes of them when the daemon is gone.

use std::collections::HashMap;
use std::sync::Arc;

use mcp_wire::{Id, Object, RpcError, method};
use mcpx_api::Code;

/// Requests that may be open at the same time.
const MOST: usize = 4_096;
/// The longest message that is kept to be sent again, in bytes.
const KEPT_EACH: usize = 1 << 20;
/// All of them together.
const KEPT_ALL: usize = 16 << 20;
/// How often a request that only reads is asked again.
const AGAIN: u32 = 2;

/// A message on its way to the daemon.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    /// With its end.
    pub(super) line: Arc<Vec<u8>>,
    /// The requests in it.
    pub(super) ids: Vec<Id>,
    /// Whether it means nothing to another daemon.
    pub(super) is_bound: bool,
    /// Whether it is worth a connection.
    pub(super) is_wanted: bool,
}

/// What a request is about, for those that the session remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Topic {
    Handshake,
    Level(Object),
    Watch(String),
    Unwatch(String),
    Listen,
    Other,
}

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Open {
    order: u64,
    pub(super) topic: Topic,
    /// Whether asking again does no more than asking once.
    is_safe: bool,
    /// Its place among the messages of this connection; none while it waits to be sent.
    sent: Option<u64>,
    /// While it may be sent again.
    pub(super) line: Option<Arc<Vec<u8>>>,
    again: u32,
    /// What a subscription listens to, once that was said.
    pub(super) listens: Option<Object>,
}

/// What is known of a request that gets no answer from the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    NotSent,
    OutcomeUnknown,
}

/// What a connection leaves behind that broke.
#[derive(Debug, Default)]
pub(super) struct Broken {
    /// For the next one, in the order in which it came.
    pub(super) again: Vec<Outgoing>,
    /// Answered with an error.
    pub(super) lost: Vec<(Id, Delivery)>,
}

/// The open requests.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    open: HashMap<Id, Open>,
    next: u64,
    /// Bytes of the messages that are kept.
    kept: usize,
}

impl Ledger {
    pub(super) fn is_full(&self) -> bool {
        self.open.len() >= MOST
    }

    /// A request that waits to be sent.
    pub(super) fn begin(&mut self, id: Id, topic: Topic, is_safe: bool) {
        self.next += 1;
        let open = Open {
            order: self.next,
            topic,
            is_safe,
            sent: None,
            line: None,
            again: 0,
            listens: None,
        };
        let before = self.open.insert(id, open);
        self.forget(before.as_ref());
    }

    /// A message goes out, as the `number`th of its connection.
    pub(super) fn send(&mut self, message: &Outgoing, number: u64) {
        // A batch is answered as one: it is not taken apart.
        let is_alone = message.ids.len() == 1;
        for id in &message.ids {
            let Some(open) = self.open.get_mut(id) else {
                continue;
            };
            open.sent = Some(number);
            let length = message.line.len();
            let is_vital = open.topic == Topic::Handshake;
            let fits = length <= KEPT_EACH && self.kept + length <= KEPT_ALL;
            if is_alone && open.line.is_none() && (is_vital || fits) {
                open.line = Some(Arc::clone(&message.line));
                self.kept += length;
            }
        }
    }

    /// A message that was on its way did not arrive: no whole message came of it.
    pub(super) fn unsend(&mut self, ids: &[Id]) {
        for id in ids {
            if let Some(open) = self.open.get_mut(id) {
                open.sent = None;
            }
        }
    }

    /// The request of an answer; it is open no more.
    pub(super) fn end(&mut self, id: &Id) -> Option<Open> {
        let open = self.open.remove(id);
        self.forget(open.as_ref());
        open
    }

    pub(super) fn get_mut(&mut self, id: &Id) -> Option<&mut Open> {
        self.open.get_mut(id)
    }

    /// Whether a request still waits to be sent.
    pub(super) fn waits(&self, id: &Id) -> bool {
        self.open.get(id).is_some_and(|open| open.sent.is_none())
    }

    /// The connection broke. `taken`: how many of its messages the daemon took, when it said so.
    pub(super) fn broke(&mut self, taken: Option<u64>) -> Broken {
        let mut sent: Vec<(u64, Id, u64)> = self
            .open
            .iter()
            .filter_map(|(id, open)| Some((open.order, id.clone(), open.sent?)))
            .collect();
        sent.sort_unstable_by_key(|(order, ..)| *order);
        let mut broken = Broken::default();
        for (_, id, number) in sent {
            let Some(open) = self.open.get_mut(&id) else {
                continue;
            };
            let was_taken = taken.is_none_or(|taken| number <= taken);
            let may =
                !was_taken || open.topic == Topic::Listen || (open.is_safe && open.again < AGAIN);
            match open.line.take().filter(|_| may) {
                Some(line) => {
                    self.kept = self.kept.saturating_sub(line.len());
                    open.sent = None;
                    open.again += u32::from(was_taken);
                    broken.again.push(Outgoing {
                        line,
                        // A subscription alone is no reason to start a daemon.
                        is_wanted: open.topic != Topic::Listen,
                        ids: vec![id],
                        is_bound: false,
                    });
                }
                None => {
                    self.end(&id);
                    let delivery = if was_taken {
                        Delivery::OutcomeUnknown
                    } else {
                        Delivery::NotSent
                    };
                    broken.lost.push((id, delivery));
                }
            }
        }
        broken
    }

    /// Gives up on what is open, but for subscriptions when `keeps_listening`.
    pub(super) fn lose(&mut self, keeps_listening: bool) -> Vec<(Id, Delivery)> {
        let mut lost: Vec<(u64, Id, Delivery)> = self
            .open
            .iter()
            .filter(|(_, open)| !(keeps_listening && open.topic == Topic::Listen))
            .map(|(id, open)| {
                let delivery = match open.sent {
                    None => Delivery::NotSent,
                    Some(_) => Delivery::OutcomeUnknown,
                };
                (open.order, id.clone(), delivery)
            })
            .collect();
        lost.sort_unstable_by_key(|(order, ..)| *order);
        lost.into_iter()
            .map(|(_, id, delivery)| {
                self.end(&id);
                (id, delivery)
            })
            .collect()
    }

    fn forget(&mut self, open: Option<&Open>) {
        if let Some(line) = open.and_then(|open| open.line.as_ref()) {
            self.kept = self.kept.saturating_sub(line.len());
        }
    }
}

impl Delivery {
    /// As the error that the client gets: `why`, and what is known.
    pub(super) fn error(self, why: &str) -> RpcError {
        let (code, word, known) = match self {
            Self::NotSent => (
                Code::Unavailable,
                "not_sent",
                "this request was not sent, and nothing was done",
            ),
            Self::OutcomeUnknown => (
                Code::Upstream,
                "outcome_unknown",
                "the outcome of this request is unknown: it may have been done\nhint: verify before you repeat it",
            ),
        };
        let data = Object::new()
            .with("code", code.word())
            .with("delivery", word)
            .with("origin", "hub");
        RpcError::new(i64::from(code.status()), format!("{why}; {known}")).with_data(data)
    }
}

/// Whether asking for this again may do something for a second time.
pub(super) fn is_call(method: &str) -> bool {
    matches!(method, method::TOOLS_CALL | method::TASKS_UPDATE)
}
