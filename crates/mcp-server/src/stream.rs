//! Where the messages that belong to one request go, until it is answered.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_wire::Raw;
use tokio::sync::mpsc;

use crate::event_log::EventLog;

/// The way out: a channel to a writer, or the log of a stream that can be resumed.
#[derive(Clone)]
pub(crate) enum Sink {
    /// Bounded. What is only good to know is left out when it is full.
    Channel(mpsc::Sender<Raw>),
    /// Bounded by itself.
    Log(Arc<EventLog>),
}

impl Sink {
    /// Writes what must not be lost. `false` when nobody reads.
    pub(crate) async fn send(&self, message: Raw, wait: Duration) -> bool {
        match self {
            Self::Channel(sender) => tokio::time::timeout(wait, sender.send(message))
                .await
                .is_ok_and(|sent| sent.is_ok()),
            Self::Log(log) => log.push(message, true),
        }
    }

    fn offer(&self, message: Raw) -> bool {
        match self {
            Self::Channel(sender) => sender.try_send(message).is_ok(),
            Self::Log(log) => log.push(message, false),
        }
    }
}

/// The stream of one request. Closed when the request is answered: nothing follows an answer.
#[derive(Clone, Default)]
pub(crate) struct CallStream(Arc<Mutex<Option<Sink>>>);

impl CallStream {
    pub(crate) fn new(sink: Sink) -> Self {
        Self(Arc::new(Mutex::new(Some(sink))))
    }

    /// Writes what is only good to know: progress, log lines. Left out when the client does not keep up.
    pub(crate) fn offer(&self, message: Raw) -> bool {
        // Under the lock, so that it cannot come behind the answer.
        let sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sink.as_ref().is_some_and(|sink| sink.offer(message))
    }

    /// The way out while it is open, for what must not be lost.
    pub(crate) fn sink(&self) -> Option<Sink> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Ends it.
    pub(crate) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
