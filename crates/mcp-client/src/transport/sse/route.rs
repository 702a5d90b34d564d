//! Whose a message on the one stream is: the answer to a request, something about one, or neither.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_wire::{Frame, Id, Response, method};
use tokio::sync::{mpsc, oneshot};

use crate::failure::{Cause, Delivery};
use crate::transport::http::{quoted, top_of};
use crate::transport::{Answered, Broken, Stray};

/// A request that waits for its answer.
pub(super) struct Pending {
    pub messages: mpsc::Sender<Box<Frame>>,
    pub answer: oneshot::Sender<Answered>,
}

/// The open requests.
pub(super) struct Routes {
    strays: mpsc::Sender<Stray>,
    pending: Mutex<HashMap<Id, Pending>>,
}

impl Routes {
    pub(super) fn new(strays: mpsc::Sender<Stray>) -> Self {
        Self {
            strays,
            pending: Mutex::default(),
        }
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<Id, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stray(&self, stray: Stray) {
        // A server that talks faster than anybody listens loses what it said.
        let _full_or_gone = self.strays.try_send(stray);
    }

    pub(super) fn expect(&self, id: Id, pending: Pending) {
        self.pending().insert(id, pending);
    }

    /// Whether it was still open.
    pub(super) fn forget(&self, id: &Id) -> bool {
        self.pending().remove(id).is_some()
    }

    pub(super) fn fail(&self, id: &Id, broken: Broken) {
        let pending = self.pending().remove(id);
        if let Some(pending) = pending {
            let _nobody_waits = pending.answer.send(Err(broken));
        }
    }

    pub(super) fn fail_all(&self, broken: &Broken) {
        let all = std::mem::take(&mut *self.pending());
        for pending in all.into_values() {
            let _nobody_waits = pending.answer.send(Err(broken.clone()));
        }
        self.stray(Stray::Closed(broken.clone()));
    }

    /// A message over the limit fails the request that it answers, when that can be seen.
    pub(super) fn too_long(&self, bytes: u64, head: &[u8]) {
        let why = format!("a message of {bytes} bytes, more than the limit");
        match top_of(head) {
            (Some(id), false) => self.unreadable(&id, &why),
            _ => self.stray(Stray::Noise(why)),
        }
    }

    fn unreadable(&self, id: &Id, why: &str) {
        let why = format!("its answer cannot be read: {why}");
        self.fail(
            id,
            Broken::new(Delivery::OutcomeUnknown, Cause::Unreadable, why),
        );
    }

    pub(super) fn take(&self, bytes: &[u8]) {
        let frames = match Frame::parse_batch(bytes) {
            Ok(frames) => frames,
            Err(error) => {
                let what = format!("{}: {}", error.reason, quoted(bytes));
                match error.id.filter(|_| error.is_response) {
                    Some(id) => self.unreadable(&id, &error.reason),
                    None => self.stray(Stray::Noise(what)),
                }
                return;
            }
        };
        for frame in frames {
            match frame {
                Ok(frame) => self.take_frame(frame),
                Err(error) => match error.id.filter(|_| error.is_response) {
                    Some(id) => self.unreadable(&id, &error.reason),
                    None => self.stray(Stray::Noise(error.reason)),
                },
            }
        }
    }

    fn take_frame(&self, frame: Frame) {
        match frame {
            Frame::Response(response) => self.take_response(response),
            Frame::Notification(notification) if notification.method == method::PROGRESS => {
                let token = notification.params.get("progressToken");
                let id = token.and_then(|token| Id::parse(token).ok());
                let pending = self.pending();
                // Progress of something that is over is of no interest to anybody.
                if let Some(pending) = id.and_then(|id| pending.get(&id)) {
                    let _full_or_over = pending
                        .messages
                        .try_send(Box::new(Frame::Notification(notification)));
                }
            }
            other => {
                let only = {
                    let pending = self.pending();
                    let mut all = pending.values();
                    let first = all.next().map(|pending| pending.messages.clone());
                    first.filter(|_| all.next().is_none())
                };
                let left = match only {
                    None => other,
                    Some(messages) => match messages.try_send(Box::new(other)) {
                        Ok(()) => return,
                        Err(
                            mpsc::error::TrySendError::Full(frame)
                            | mpsc::error::TrySendError::Closed(frame),
                        ) => *frame,
                    },
                };
                self.stray(Stray::Message(left));
            }
        }
    }

    fn take_response(&self, response: Response) {
        let pending = {
            let mut pending = self.pending();
            match &response.id {
                Some(id) => pending.remove(id),
                // An error about a request whose id the server could not read: ours, when there is only one.
                None if pending.len() == 1 => pending.drain().next().map(|(_, pending)| pending),
                None => None,
            }
        };
        match (pending, response.id) {
            (Some(pending), _) => {
                let _nobody_waits = pending.answer.send(Ok(response.outcome));
            }
            (None, Some(id)) => {
                let what = format!("an answer to {id}, which nobody waits for");
                self.stray(Stray::Noise(what));
            }
            (None, None) => self.stray(Stray::Noise("an error about no request".to_owned())),
        }
    }
}
