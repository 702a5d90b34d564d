//! Whose a message of the program is: the answer to a request, something about one, or neither.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_wire::lines::{Line, TooLong};
use mcp_wire::{Frame, Id, Response, meta, method};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::door::{Door, Went};
use super::junk::Junk;
use super::letter::Letter;
use super::tail::Tail;
use crate::failure::{Cause, Delivery};
use crate::transport::http::top_of;
use crate::transport::{Answered, Broken, Stray};

/// How many lines of junk in a row end the connection.
const MAX_JUNK: usize = 1_000;
/// How many answers to its own requests a program may leave unread.
pub(super) const MAX_ANSWERS: usize = 256;
/// How much of a junk line is quoted.
const QUOTED: usize = 200;

pub(super) struct Shared {
    pub(super) outbound: mpsc::UnboundedSender<Outbound>,
    /// Held while a line is written or queued: they go in the order in which they came.
    pub(super) door: Mutex<Door>,
    pub(super) strays: mpsc::Sender<Stray>,
    pub(super) state: Mutex<State>,
    /// Room for answers to the program that it has not read yet.
    pub(super) answers: Arc<Semaphore>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) pending: HashMap<Id, Pending>,
    /// Why the connection is gone, once it is.
    pub(super) closed: Option<Broken>,
    pub(super) stderr: Tail,
    pub(super) junk: Junk,
}

pub(super) struct Pending {
    pub(super) messages: mpsc::Sender<Box<Frame>>,
    pub(super) answer: oneshot::Sender<Answered>,
    pub(super) letter: Letter,
    /// Whether a message that names nothing may be about it.
    pub(super) is_call: bool,
}

pub(super) struct Outbound {
    pub(super) line: Leaving,
    /// What it holds of the room for answers, until it is written.
    pub(super) room: Option<OwnedSemaphorePermit>,
}

/// What the task that writes is given.
pub(super) enum Leaving {
    /// A line, unless it is taken back before its turn.
    Whole(Letter),
    /// What is left of one that has begun to leave.
    Rest(Vec<u8>),
}

impl Leaving {
    pub(super) fn take(self) -> Option<Vec<u8>> {
        match self {
            Self::Whole(letter) => letter.take(),
            Self::Rest(bytes) => Some(bytes),
        }
    }
}

impl State {
    /// Whose a message is: that of the subscription it names, else of the only open call.
    pub(super) fn owner(&self, frame: &Frame) -> Option<mpsc::Sender<Box<Frame>>> {
        if let Frame::Notification(notification) = frame
            && let Some(id) = meta::get(&notification.params, meta::SUBSCRIPTION_ID)
        {
            let pending = Id::parse(&id).ok().and_then(|id| self.pending.get(&id));
            return pending.map(|pending| pending.messages.clone());
        }
        let mut calls = self.pending.values().filter(|pending| pending.is_call);
        let only = calls.next()?;
        calls.next().is_none().then(|| only.messages.clone())
    }
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn door(&self) -> MutexGuard<'_, Door> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stray(&self, stray: Stray) {
        // A server that talks faster than anybody listens loses what it said.
        let _full_or_gone = self.strays.try_send(stray);
    }

    /// Takes one line.
    ///
    /// # Errors
    /// When there is no point in reading on.
    pub(super) fn take_line(&self, line: Line) -> Result<(), Broken> {
        match line {
            Line::Whole(bytes) => match Frame::parse_batch(&bytes) {
                Ok(frames) => {
                    self.state().junk.in_a_row = 0;
                    for frame in frames {
                        match frame {
                            Ok(frame) => self.take_frame(frame),
                            Err(error) => self.unreadable(
                                error.id.as_ref().filter(|_| error.is_response),
                                &error.reason,
                            ),
                        }
                    }
                }
                Err(error) => match self.own_answer(&bytes) {
                    Some(id) => self.unreadable(Some(&id), &error.reason),
                    None if error.not_json => return self.junk(&bytes),
                    None => self.unreadable(None, &error.reason),
                },
            },
            Line::TooLong(TooLong {
                bytes,
                id,
                names_method,
                ..
            }) => {
                let why = format!("a message of {bytes} bytes, more than the limit");
                self.unreadable(id.as_ref().filter(|_| !names_method), &why);
            }
        }
        Ok(())
    }

    /// The open request that a line answers which cannot be read. A line that only quotes a message answers nothing.
    fn own_answer(&self, bytes: &[u8]) -> Option<Id> {
        if !bytes.starts_with(b"{") {
            return None;
        }
        let (id, names_method) = top_of(bytes);
        id.filter(|id| !names_method && self.state().pending.contains_key(id))
    }

    /// Notes a message that belongs to nothing.
    fn unclaimed(&self, what: String) {
        {
            let junk = &mut self.state().junk;
            junk.unclaimed += 1;
            junk.last_unclaimed = Some(what.clone());
        }
        self.stray(Stray::Noise(what));
    }

    pub(super) fn junk(&self, bytes: &[u8]) -> Result<(), Broken> {
        // Text in UTF-16 is full of these, and they cannot be seen.
        let head: String = String::from_utf8_lossy(bytes)
            .chars()
            .take(QUOTED)
            .map(|c| if c == '\0' { '\u{2400}' } else { c })
            .collect();
        let first = {
            let junk = &mut self.state().junk;
            junk.lines += 1;
            junk.in_a_row += 1;
            let first = junk.first.get_or_insert_with(|| head.clone()).clone();
            (junk.in_a_row > MAX_JUNK).then_some(first)
        };
        self.stray(Stray::Noise(head));
        match first {
            None => Ok(()),
            Some(first) => Err(Broken::new(
                Delivery::OutcomeUnknown,
                Cause::Unreadable,
                format!(
                    "more than {MAX_JUNK} lines in a row on its stdout are no messages; the first: {first}"
                ),
            )),
        }
    }

    /// An answer that cannot be read fails its own request; anything else is noise.
    pub(super) fn unreadable(&self, id: Option<&Id>, why: &str) {
        let pending = id.and_then(|id| self.state().pending.remove(id));
        match pending {
            Some(pending) => {
                let why = format!("its answer cannot be read: {why}");
                let _nobody_waits = pending.answer.send(Err(Broken::new(
                    Delivery::OutcomeUnknown,
                    Cause::Unreadable,
                    why,
                )));
            }
            None => self.unclaimed(why.to_owned()),
        }
    }

    pub(super) fn take_frame(&self, frame: Frame) {
        match frame {
            Frame::Response(response) => self.take_response(response),
            Frame::Notification(notification) if notification.method == method::PROGRESS => {
                let token = notification
                    .params
                    .get("progressToken")
                    .and_then(|token| Id::parse(token).ok());
                let state = self.state();
                // Progress of something that is over is of no interest to anybody.
                if let Some(pending) = token.and_then(|token| state.pending.get(&token)) {
                    let _full_or_over = pending
                        .messages
                        .try_send(Box::new(Frame::Notification(notification)));
                }
            }
            other => {
                let only = self.state().owner(&other);
                let left = match only {
                    Some(messages) => match messages.try_send(Box::new(other)) {
                        Ok(()) => return,
                        Err(
                            mpsc::error::TrySendError::Full(frame)
                            | mpsc::error::TrySendError::Closed(frame),
                        ) => *frame,
                    },
                    None => other,
                };
                self.stray(Stray::Message(left));
            }
        }
    }

    pub(super) fn take_response(&self, response: Response) {
        let pending = {
            let mut state = self.state();
            match &response.id {
                Some(id) => state.pending.remove(id),
                // An error about a request whose id the server could not read: ours, when there is only one.
                None if state.pending.len() == 1 => {
                    state.pending.drain().next().map(|(_, pending)| pending)
                }
                None => None,
            }
        };
        match (pending, response) {
            (Some(pending), response) => {
                let _nobody_waits = pending.answer.send(Ok(response.outcome));
            }
            (None, Response { id: Some(id), .. }) => {
                let id: String = id.to_string().chars().take(QUOTED).collect();
                self.unclaimed(format!("an answer to {id}, which nobody waits for"));
            }
            (
                None,
                Response {
                    outcome: Err(error),
                    ..
                },
            ) => {
                let error: String = error.to_string().chars().take(QUOTED).collect();
                self.unclaimed(format!("an error about no request: {error}"));
            }
            (None, _) => {}
        }
    }

    /// The program does not read any more. It may still answer what it has read, so only what was not sent fails.
    pub(super) fn stdin_failed(&self, error: &std::io::Error) {
        let mut state = self.state();
        let unsent: Vec<Id> = state
            .pending
            .iter()
            .filter(|(_, pending)| !pending.letter.is_sent())
            .map(|(id, _)| id.clone())
            .collect();
        let broken = Broken::new(
            Delivery::NotSent,
            Cause::Closed,
            format!("it does not read its stdin: {error}"),
        );
        for id in unsent {
            if let Some(pending) = state.pending.remove(&id) {
                let _nobody_waits = pending.answer.send(Err(broken.clone()));
            }
        }
        if state.closed.is_none() {
            state.closed = Some(broken);
        }
    }

    pub(super) fn close(&self, broken: &Broken) {
        let pending = {
            let mut state = self.state();
            state.closed = Some(Broken {
                delivery: Delivery::NotSent,
                ..broken.clone()
            });
            std::mem::take(&mut state.pending)
        };
        for pending in pending.into_values() {
            let written = pending.letter.is_sent();
            let delivery = if written {
                broken.delivery
            } else {
                Delivery::NotSent
            };
            let _nobody_waits = pending.answer.send(Err(Broken {
                delivery,
                ..broken.clone()
            }));
        }
        self.stray(Stray::Closed(broken.clone()));
    }

    pub(super) fn queue(&self, letter: Letter) -> Result<(), Broken> {
        self.put(letter, None)
    }

    /// Queues an answer to the program. One that asks and never reads gets no more of them.
    pub(super) fn queue_answer(&self, frame: &Frame) -> Result<(), Broken> {
        let room = Arc::clone(&self.answers).try_acquire_owned().map_err(|_| {
            let why = format!("it leaves {MAX_ANSWERS} answers to its own requests unread");
            Broken::new(Delivery::NotSent, Cause::Closed, why)
        })?;
        self.put(Letter::new(frame.to_line()), Some(room))
    }

    fn put(&self, letter: Letter, room: Option<OwnedSemaphorePermit>) -> Result<(), Broken> {
        if let Some(closed) = &self.state().closed {
            return Err(closed.clone());
        }
        let gone = |error: Option<&std::io::Error>| {
            let error = error.map(|error| format!(": {error}")).unwrap_or_default();
            let why = format!("it does not read its stdin{error}");
            Broken::new(Delivery::NotSent, Cause::Closed, why)
        };
        let mut door = self.door();
        let line = match door.write(&letter) {
            Ok(Went::Out) => return Ok(()),
            Ok(Went::Wait) => Leaving::Whole(letter),
            Ok(Went::Rest(bytes)) => Leaving::Rest(bytes),
            Err(error) => {
                drop(door);
                self.stdin_failed(&error);
                return Err(gone(Some(&error)));
            }
        };
        door.queued();
        self.outbound
            .send(Outbound { line, room })
            .map_err(|_| gone(None))
    }
}

#[cfg(test)]
mod tests {
    use mcp_wire::{Object, Raw};

    use super::*;

    #[test]
    fn a_program_that_asks_and_never_reads_fills_no_memory() {
        let (outbound, mut queue) = mpsc::unbounded_channel();
        let shared = Shared {
            outbound,
            door: Mutex::default(),
            strays: mpsc::channel(1).0,
            state: Mutex::default(),
            answers: Arc::new(Semaphore::new(MAX_ANSWERS)),
        };
        let pong = || {
            let outcome = Ok(Raw::from(Object::new()));
            Frame::from(Response::new(Id::Number(1), outcome))
        };
        for _ in 0..MAX_ANSWERS {
            shared.queue_answer(&pong()).unwrap();
        }
        let broken = shared.queue_answer(&pong()).unwrap_err();
        assert_eq!(broken.delivery, Delivery::NotSent);
        // Calls still go out, and what is written makes room.
        shared.queue(Letter::new(pong().to_line())).unwrap();
        drop(queue.try_recv().unwrap());
        shared.queue_answer(&pong()).unwrap();
    }
}
