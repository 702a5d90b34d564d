//! Open approvals and questions: who waits for which answer.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use cox_protocol::{CallId, Decision};
use tokio::sync::oneshot;

/// Answers that calls wait for, by call.
#[derive(Debug)]
pub(crate) struct Pending<T> {
    waiting: Mutex<HashMap<CallId, oneshot::Sender<T>>>,
}

/// Approvals that calls wait for.
pub(crate) type Approvals = Pending<Decision>;

/// Questions that calls wait for; no text means that nobody will answer.
pub(crate) type Questions = Pending<Option<String>>;

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
        }
    }
}

impl<T> Pending<T> {
    /// Registers a call before its question is shown, so that no answer can come too early.
    pub(crate) fn open(&self, call: CallId) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(call, sender);
        receiver
    }

    /// Hands an answer to the call that waits for it. False when none does.
    pub(crate) fn settle(&self, call: CallId, answer: T) -> bool {
        self.lock()
            .remove(&call)
            .is_some_and(|sender| sender.send(answer).is_ok())
    }

    /// Gives up on everything that is open: each waiter learns that nobody answers.
    pub(crate) fn give_up(&self) {
        self.lock().clear();
    }

    /// Forgets one call.
    pub(crate) fn close(&self, call: CallId) {
        self.lock().remove(&call);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<CallId, oneshot::Sender<T>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
