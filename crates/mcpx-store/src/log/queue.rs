//! What waits to be written. A record wakes the writer at most once in a while: between two looks it gathers, so that
//! a call pays for no switch of threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc::SyncSender};
use std::time::Duration;

use jiff::Timestamp;

use super::record::{Level, Record};

/// How long the writer gathers after the first record. A flush, a warning and a queue that fills up do not wait for it.
const GATHER: Duration = Duration::from_millis(20);

/// Records and wishes in the order they came.
pub(super) struct Queue {
    state: Mutex<State>,
    more: Condvar,
    room: usize,
}

#[derive(Default)]
struct State {
    waiting: Vec<Message>,
    /// Whether the writer should not gather any longer.
    urgent: bool,
    /// Whether the writer waits for the first of them: only then has it to be woken.
    idle: bool,
    closed: bool,
    /// Whether the writer is gone.
    deaf: bool,
}

/// What the writer is told.
pub(super) enum Message {
    /// To be written.
    Record(Box<(Timestamp, Record)>),
    /// Answered when everything before it was handed to the system.
    Flush(SyncSender<()>),
}

/// Why something was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotTaken {
    /// Too much waits.
    Full,
    /// Nobody writes.
    Gone,
}

impl Queue {
    /// With room for so many.
    pub(super) fn new(room: usize) -> Self {
        Self {
            state: Mutex::default(),
            more: Condvar::new(),
            room: room.max(1),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something at the end.
    ///
    /// # Errors
    /// When it was not taken.
    pub(super) fn put(&self, message: Message) -> Result<(), NotTaken> {
        let hurries = match &message {
            Message::Flush(_) => true,
            Message::Record(record) => record.1.level >= Level::Warn,
        };
        let mut state = self.state();
        if state.closed || state.deaf {
            return Err(NotTaken::Gone);
        }
        if state.waiting.len() >= self.room {
            return Err(NotTaken::Full);
        }
        state.waiting.push(message);
        let hurries = hurries || state.waiting.len() * 2 >= self.room;
        let wakes = state.idle || (hurries && !state.urgent);
        state.urgent |= hurries;
        state.idle = false;
        drop(state);
        if wakes {
            self.more.notify_one();
        }
        Ok(())
    }

    /// Waits for the first of them, gathers for a while, and takes them all into `into`. `false`: it is closed, and
    /// empty.
    pub(super) fn take(&self, into: &mut Vec<Message>) -> bool {
        let mut state = self.state();
        while state.waiting.is_empty() {
            if state.closed {
                return false;
            }
            state.idle = true;
            state = self
                .more
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let (mut state, _over) = self
            .more
            .wait_timeout_while(state, GATHER, |state| !state.urgent && !state.closed)
            .unwrap_or_else(PoisonError::into_inner);
        state.urgent = false;
        into.append(&mut state.waiting);
        true
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.more.notify_one();
    }

    /// Nobody writes any more: what waits is forgotten.
    pub(super) fn deafen(&self) {
        let mut state = self.state();
        state.deaf = true;
        state.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::sync_channel;

    use super::*;

    fn record(level: Level) -> Message {
        Message::Record(Box::new((
            Timestamp::UNIX_EPOCH,
            Record::new(level, "test", ""),
        )))
    }

    #[test]
    fn the_order_is_kept_and_what_has_no_room_is_refused() {
        let queue = Queue::new(2);
        queue.put(record(Level::Info)).unwrap();
        queue.put(record(Level::Error)).unwrap();
        assert_eq!(queue.put(record(Level::Info)), Err(NotTaken::Full));
        let mut taken = Vec::new();
        assert!(queue.take(&mut taken));
        let levels: Vec<Level> = taken
            .iter()
            .filter_map(|message| match message {
                Message::Record(record) => Some(record.1.level),
                Message::Flush(_) => None,
            })
            .collect();
        assert_eq!(levels, [Level::Info, Level::Error]);
        queue.close();
        assert_eq!(queue.put(record(Level::Info)), Err(NotTaken::Gone));
        assert!(!queue.take(&mut taken));
    }

    #[test]
    fn a_flush_waits_for_no_gathering_and_a_quiet_record_wakes_a_waiting_writer() {
        let queue = Arc::new(Queue::new(100));
        let (done_in, done) = sync_channel(1);
        let writer = std::thread::spawn({
            let queue = Arc::clone(&queue);
            move || {
                let mut taken = Vec::new();
                let mut records = 0;
                while queue.take(&mut taken) {
                    for message in taken.drain(..) {
                        match message {
                            Message::Record(_) => records += 1,
                            Message::Flush(reply) => reply.send(()).unwrap(),
                        }
                    }
                }
                done_in.send(records).unwrap();
            }
        });
        for _ in 0..10 {
            queue.put(record(Level::Info)).unwrap();
            let (reply, answer) = sync_channel(1);
            queue.put(Message::Flush(reply)).unwrap();
            answer.recv_timeout(Duration::from_secs(30)).unwrap();
        }
        queue.put(record(Level::Debug)).unwrap();
        queue.close();
        assert_eq!(done.recv_timeout(Duration::from_secs(30)), Ok(11));
        writer.join().unwrap();
    }
}
