//! A line on its way to the program, which can be taken back until the first byte of it has left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The line; shared by the queue it waits in and whoever may want it back.
#[derive(Clone, Debug)]
pub(super) struct Letter(Arc<Mutex<State>>);

#[derive(Debug)]
enum State {
    Waiting(Vec<u8>),
    /// From here on the program may have read it.
    Sent,
    Withdrawn,
}

impl Letter {
    pub(super) fn new(line: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(State::Waiting(line))))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the line to write it; `None` when it was taken back.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let state = &mut *self.state();
        match state {
            State::Waiting(line) => {
                let line = std::mem::take(line);
                *state = State::Sent;
                Some(line)
            }
            State::Sent | State::Withdrawn => None,
        }
    }

    /// Takes the line back. Whether that came in time: then the program never sees it.
    pub(super) fn withdraw(&self) -> bool {
        let state = &mut *self.state();
        if matches!(state, State::Waiting(_)) {
            *state = State::Withdrawn;
        }
        matches!(state, State::Withdrawn)
    }

    /// Whether the program may have read it.
    pub(super) fn is_sent(&self) -> bool {
        matches!(*self.state(), State::Sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_either_written_or_taken_back() {
        let letter = Letter::new(b"a\n".to_vec());
        assert!(!letter.is_sent());
        assert_eq!(letter.take().as_deref(), Some(&b"a\n"[..]));
        assert!(letter.is_sent() && !letter.withdraw() && letter.take().is_none());

        let letter = Letter::new(b"b\n".to_vec());
        assert!(letter.withdraw() && letter.withdraw() && !letter.is_sent());
        assert_eq!(letter.take(), None);
    }
}
