//! The guardian of a daemon: what ends the servers when the daemon is killed.
//!
//! It is the hub's binary, started again on a hidden word. What it does is in [`child_process::guard`].

use std::sync::{Arc, Mutex, PoisonError};

use child_process::{GuardLimits, Guardian, Mark};

pub use child_process::{GuardCommand, GuardError};

/// The hidden word on which the binary calls [`run`], before anything else.
pub const WORD: &str = "guard";

/// Is a guardian, and returns the exit code of the process.
#[must_use]
pub fn run() -> u8 {
    child_process::guard::run()
}

/// The daemon's guardian, or why there is none.
#[derive(Clone, Debug)]
pub(super) struct Guard(Arc<Mutex<Option<Guardian>>>);

impl Guard {
    /// Starts a guardian. Blocks.
    pub(super) fn start(command: GuardCommand, mark: Mark) -> (Self, Option<GuardError>) {
        let (guardian, error) = match Guardian::start(command, mark, GuardLimits::default()) {
            Ok(guardian) => (Some(guardian), None),
            Err(error) => (None, Some(error)),
        };
        (Self(Arc::new(Mutex::new(guardian))), error)
    }

    /// Starts another guardian when the first one has gone, and says whether it did. Blocks.
    pub(super) fn renew(&self) -> Result<bool, GuardError> {
        let mut guardian = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guardian.as_mut().map_or(Ok(false), Guardian::renew)
    }

    /// Sends the guardian home. Blocks for a moment.
    pub(super) fn disarm(&self) {
        let mut guardian = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(guardian) = guardian.take() {
            guardian.disarm();
        }
    }

    /// Returns the guardian's process id; none when there is none.
    pub(super) fn id(&self) -> Option<u32> {
        let guardian = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guardian.as_ref().map(Guardian::id)
    }
}
