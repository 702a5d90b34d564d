//! Whose a process is: a mark in its environment, which everything that it starts inherits.
//!
//! An owner that is killed cannot end what it started, and what a wrapper such as `npx` started outlives it, in sessions
//! of its own if it likes. Whoever knows the mark finds all of that and ends it. Only what is *proved* to be the owner's
//! is found:
//!
//! - what carries the mark in the environment that it was started with,
//! - what descends from such a process, as far as its line of parents still lives,
//! - what is in the session that such a process leads.
//!
//! What carries the mark of another owner is left to that one, with all it started. What cleared its environment (`env
//! -i`) or wrote over it *and* lost its parents *and* left their sessions cannot be proved to be anybody's, and is left
//! alone. No process is signalled by its id alone: see [`Identity`].

use std::{collections::BTreeSet, fmt, time::Duration};

use crate::Identity;

mod ending;
#[cfg(not(target_os = "linux"))]
#[path = "mark/none.rs"]
mod search;
#[cfg(target_os = "linux")]
#[path = "mark/proc.rs"]
mod search;

/// The variable that holds the mark. Whoever starts a process that is to outlive the owner, such as another daemon, sets
/// it to nothing for that process: it is then nobody's, with all it starts.
pub const VARIABLE: &str = "CHILD_PROCESS_OWNER";

/// An owner's mark. No secret: it proves nothing about who *set* it, only what may be ended with the owner.
#[derive(Clone, PartialEq, Eq)]
pub struct Mark(String);

/// A text that cannot be a mark.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{received}` is no mark of an owner: expected {} to {} letters, digits, `-`, `_` or `.`, made at random",
    Mark::MIN,
    Mark::MAX
)]
pub struct UnfitMark {
    /// The text, at most its first 128 characters.
    pub received: String,
}

/// This system does not show whose a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot tell whose a process is: this system does not show the environments of processes")]
pub struct CannotTell;

/// A process that belongs to the owner of a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which one it is.
    pub identity: Identity,
    /// Its command line, as it gave it itself, cut at 256 bytes. Foreign text.
    pub command: String,
}

/// How long ending takes at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndLimits {
    /// How long a process that was asked to end may take, before it is killed. At most half of `deadline` counts.
    pub grace: Duration,
    /// How long all of it may take.
    pub deadline: Duration,
}

/// What came of ending everything that carries a mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkEnded {
    /// What has ended, by process id.
    pub ended: Vec<Found>,
    /// What still runs at the deadline, by process id.
    pub survivors: Vec<Found>,
}

impl Mark {
    /// Fewest characters: too many to be met by chance.
    pub const MIN: usize = 16;

    /// Most characters.
    pub const MAX: usize = 128;

    /// Makes a mark of a nonce that no other owner has.
    ///
    /// # Errors
    ///
    /// [`UnfitMark`] when it is too short to be one, too long, or holds other characters than letters, digits, `-`, `_`
    /// and `.`.
    pub fn new(nonce: &str) -> Result<Self, UnfitMark> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if (Self::MIN..=Self::MAX).contains(&nonce.len()) && nonce.bytes().all(fits) {
            return Ok(Self(nonce.to_owned()));
        }
        Err(UnfitMark {
            received: nonce.chars().take(Self::MAX).collect(),
        })
    }

    /// Returns the nonce.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Finds every process of the owner that runs now, ordered by process id; never this process. Takes as long as it
    /// takes to read the process table: some ten microseconds a process.
    ///
    /// # Errors
    ///
    /// [`CannotTell`] where the system does not show it.
    pub fn find(&self) -> Result<Vec<Found>, CannotTell> {
        search::find(self, &BTreeSet::new())
    }

    /// Ends every process of the owner: asks each once, waits, kills, and looks again until there is none. Blocks this
    /// thread, for no longer than the limits say.
    ///
    /// # Errors
    ///
    /// [`CannotTell`] where the system does not show whose a process is; nothing was ended then.
    pub fn end(&self, limits: EndLimits) -> Result<MarkEnded, CannotTell> {
        ending::end(self, limits)
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mark({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Mark;

    #[test]
    fn a_mark_is_long_and_plain() {
        let long = "a".repeat(Mark::MAX);
        for fit in ["0123456789abcdef", "A-b_c.0123456789", &long] {
            assert_eq!(Mark::new(fit).unwrap().as_str(), fit);
        }
        for unfit in [
            "",
            "0123456789abcde",
            "0123456789abcde=",
            "0123456789 abcdef",
            "0123456789abcdé",
            &format!("{long}a"),
        ] {
            let error = Mark::new(unfit).unwrap_err();
            assert!(unfit.starts_with(&error.received), "{unfit}");
        }
    }
}
