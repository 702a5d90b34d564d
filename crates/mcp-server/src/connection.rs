//! The state of a legacy session, or of a connection over stdio: the handshake, what runs, what was asked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use mcp_wire::{ClientCapabilities, Id, Implementation, Raw, Response, Revision, RpcError};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::Level;
use crate::notifier::Mailbox;

/// What `initialize` settled.
#[derive(Debug, Clone)]
pub(crate) struct Handshake {
    pub(crate) revision: Revision,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) info: Option<Implementation>,
}

/// What a client answered to one of our requests.
pub(crate) type Answered = Result<Raw, RpcError>;

#[derive(Debug)]
pub(crate) struct Connection {
    /// Unique in this server.
    pub(crate) number: u64,
    pub(crate) principal: Option<String>,
    /// Cancelled when nobody will ever read or write here again.
    pub(crate) closed: CancellationToken,
    /// Cancelled when the client says nothing more, but may still read.
    pub(crate) silent: CancellationToken,
    settled: CancellationToken,
    handshake: OnceLock<(Handshake, Arc<Mailbox>)>,
    level: Mutex<Level>,
    in_flight: Mutex<HashMap<Id, CancellationToken>>,
    waiting: Mutex<HashMap<Id, oneshot::Sender<Answered>>>,
    asked: AtomicU64,
}

/// A request that runs; not any more when this is dropped.
#[derive(Debug)]
pub(crate) struct InFlight {
    connection: Arc<Connection>,
    id: Id,
    pub(crate) cancelled: CancellationToken,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.connection.in_flight().remove(&self.id);
    }
}

/// A question that waits for its answer; not any more when this is dropped.
#[derive(Debug)]
pub(crate) struct Waiting {
    connection: Arc<Connection>,
    pub(crate) id: Id,
    pub(crate) answer: oneshot::Receiver<Answered>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.connection.waiting().remove(&self.id);
    }
}

impl Connection {
    pub(crate) fn new(number: u64, principal: Option<String>, closed: CancellationToken) -> Self {
        Self {
            number,
            principal,
            closed,
            silent: CancellationToken::new(),
            settled: CancellationToken::new(),
            handshake: OnceLock::new(),
            // What a client that never said anything gets: not the details.
            level: Mutex::new(Level::Info),
            in_flight: Mutex::default(),
            waiting: Mutex::default(),
            asked: AtomicU64::new(0),
        }
    }

    /// What was settled, once it was.
    pub(crate) fn handshake(&self) -> Option<&Handshake> {
        self.handshake.get().map(|(handshake, _)| handshake)
    }

    /// The notes for this session, once there was a handshake.
    pub(crate) fn mailbox(&self) -> Option<&Arc<Mailbox>> {
        self.handshake.get().map(|(_, mailbox)| mailbox)
    }

    /// `false` when there was a handshake before.
    pub(crate) fn settle(&self, handshake: Handshake, mailbox: Arc<Mailbox>) -> bool {
        let is_first = self.handshake.set((handshake, mailbox)).is_ok();
        self.settled.cancel();
        is_first
    }

    /// Waits for the handshake.
    pub(crate) async fn until_settled(&self) {
        self.settled.cancelled().await;
    }

    pub(crate) fn level(&self) -> Level {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_level(&self, level: Level) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }

    /// Notes that a request runs. `None` when one of this id runs already.
    pub(crate) fn begin(self: &Arc<Self>, id: &Id) -> Option<InFlight> {
        let cancelled = self.closed.child_token();
        let mut in_flight = self.in_flight();
        if in_flight.contains_key(id) {
            return None;
        }
        in_flight.insert(id.clone(), cancelled.clone());
        drop(in_flight);
        Some(InFlight {
            connection: Arc::clone(self),
            id: id.clone(),
            cancelled,
        })
    }

    /// Cancels a request that runs.
    pub(crate) fn cancel(&self, id: &Id) {
        if let Some(token) = self.in_flight().get(id) {
            token.cancel();
        }
    }

    /// How many requests run.
    pub(crate) fn running(&self) -> usize {
        self.in_flight().len()
    }

    /// Notes that a question is about to be asked.
    pub(crate) fn expect(self: &Arc<Self>) -> Waiting {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let id = Id::Text(format!("ask-{number}"));
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(id.clone(), sender);
        Waiting {
            connection: Arc::clone(self),
            id,
            answer,
        }
    }

    /// Hands an answer to the question that waits for it. An answer to nothing is dropped: a late one has no taker.
    pub(crate) fn answered(&self, response: Response) {
        let Some(id) = response.id else { return };
        if let Some(sender) = self.waiting().remove(&id) {
            let _taken = sender.send(response.outcome);
        }
    }

    /// Nobody can answer any more: the questions that wait fail at once.
    pub(crate) fn no_more_answers(&self) {
        self.waiting().clear();
    }

    fn in_flight(&self) -> std::sync::MutexGuard<'_, HashMap<Id, CancellationToken>> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<Id, oneshot::Sender<Answered>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
