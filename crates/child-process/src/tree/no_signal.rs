//! Where there are no signals: nothing can be asked, and only the program itself can be ended.

use std::collections::BTreeSet;

use super::Signal;

/// Does nothing.
pub(super) fn send(_group: Option<i32>, _members: &BTreeSet<i32>, _signal: Signal) {}
