//! The events of one stream, kept so that a client whose connection broke can go on where it was.
//!
//! Bounded: beyond the limits the oldest events that are only good to know go first. Questions and the answer stay.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use mcp_wire::Raw;
use tokio::sync::watch;

/// How many events are kept.
const MAX_EVENTS: usize = 256;
/// How many bytes of events that are only good to know are kept.
const MAX_BYTES: usize = 1024 * 1024;

/// One event.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    /// Counted from 1 in its stream.
    pub(crate) number: u64,
    pub(crate) message: Raw,
    must_stay: bool,
}

/// What a reader finds next.
#[derive(Debug)]
pub(crate) enum Next {
    Event(Logged),
    /// Nothing yet.
    Wait,
    /// The server wants the client to come back, after so many milliseconds.
    Release,
    /// Nothing will follow.
    End,
}

/// The events of one stream.
#[derive(Debug)]
pub(crate) struct EventLog {
    /// Counted in its session.
    pub(crate) stream: u64,
    inner: Mutex<Inner>,
    version: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Inner {
    last: u64,
    events: VecDeque<Logged>,
    bytes: usize,
    ended: bool,
    /// Whether the last event is the answer.
    answered: bool,
    released: bool,
}

impl EventLog {
    pub(crate) fn new(stream: u64) -> Self {
        Self {
            stream,
            inner: Mutex::default(),
            version: watch::Sender::new(0),
        }
    }

    /// Appends. `false` when the stream has ended.
    pub(crate) fn push(&self, message: Raw, must_stay: bool) -> bool {
        let mut inner = self.inner();
        if inner.ended {
            return false;
        }
        inner.last += 1;
        inner.bytes += message.as_str().len();
        let number = inner.last;
        inner.events.push_back(Logged {
            number,
            message,
            must_stay,
        });
        while inner.events.len() > MAX_EVENTS || inner.bytes > MAX_BYTES {
            let Some(at) = inner.events.iter().position(|event| !event.must_stay) else {
                break;
            };
            if let Some(gone) = inner.events.remove(at) {
                inner.bytes -= gone.message.as_str().len();
            }
        }
        drop(inner);
        self.changed();
        true
    }

    /// Appends the answer, after which nothing follows.
    pub(crate) fn end(&self, answer: Option<Raw>) {
        let answered = answer.is_some_and(|answer| self.push(answer, true));
        {
            let mut inner = self.inner();
            inner.answered = answered;
            inner.ended = true;
        }
        self.changed();
    }

    /// Ends the present connection, but not the stream.
    pub(crate) fn release(&self) {
        self.inner().released = true;
        self.changed();
    }

    /// A new connection reads on: a wish to release the last one is fulfilled.
    pub(crate) fn attach(&self) -> watch::Receiver<u64> {
        self.inner().released = false;
        self.version.subscribe()
    }

    /// The first event behind `number`.
    pub(crate) fn after(&self, number: u64) -> Next {
        let inner = self.inner();
        if let Some(event) = inner.events.iter().find(|event| event.number > number) {
            return Next::Event(event.clone());
        }
        if inner.ended {
            Next::End
        } else if inner.released {
            Next::Release
        } else {
            Next::Wait
        }
    }

    /// The answer, when it is the only event.
    pub(crate) fn only_answer(&self) -> Option<Raw> {
        let inner = self.inner();
        (inner.answered && inner.last == 1)
            .then(|| inner.events.front().map(|event| event.message.clone()))
            .flatten()
    }

    /// The answer, once it has ended with one.
    pub(crate) fn answer(&self) -> Option<Raw> {
        let inner = self.inner();
        let last = inner.events.back().filter(|_| inner.answered)?;
        Some(last.message.clone())
    }

    /// The number of the last event.
    pub(crate) fn newest(&self) -> u64 {
        self.inner().last
    }

    /// Whether it has ended, and how many bytes it holds.
    pub(crate) fn state(&self) -> (bool, usize) {
        let inner = self.inner();
        (inner.ended, inner.bytes)
    }

    fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_forgets_what_is_only_good_to_know_and_keeps_questions_and_the_answer() {
        let log = EventLog::new(1);
        assert!(log.push(Raw::from("question"), true));
        for number in 0..1_000_i64 {
            assert!(log.push(Raw::from(number), false));
        }
        log.end(Some(Raw::from("answer")));
        assert!(!log.push(Raw::from("late"), true));
        let mut seen = Vec::new();
        let mut at = 0;
        while let Next::Event(event) = log.after(at) {
            at = event.number;
            seen.push(event.message.as_str().to_owned());
        }
        assert!(matches!(log.after(at), Next::End));
        assert_eq!(seen.len(), MAX_EVENTS);
        assert_eq!(
            (seen[0].as_str(), seen[255].as_str()),
            ("\"question\"", "\"answer\"")
        );
    }
}
