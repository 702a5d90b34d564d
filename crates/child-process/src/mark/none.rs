//! Where the environments of processes cannot be read: nothing is proved, so nothing is ended.

use std::collections::BTreeSet;

use super::{CannotTell, Found, Mark};
use crate::Identity;

/// What is said to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Please end, and go on if you were stopped.
    End,
    /// End now.
    Kill,
}

/// Finds nothing: cannot tell.
pub(super) fn find(_mark: &Mark, _known: &BTreeSet<Identity>) -> Result<Vec<Found>, CannotTell> {
    Err(CannotTell)
}

/// Does nothing.
pub(super) fn signal(_to: Identity, _signal: Signal) {}
