//! Signals, to a group and to single processes.

use std::collections::BTreeSet;

use rustix::process::{Pid, kill_process, kill_process_group};

use super::Signal;

/// Sends a signal to a group, if one is given, and to every member. What is gone meanwhile hears nothing.
pub(super) fn send(group: Option<i32>, members: &BTreeSet<i32>, signal: Signal) {
    let signal = match signal {
        Signal::End => rustix::process::Signal::TERM,
        Signal::GoOn => rustix::process::Signal::CONT,
        Signal::Kill => rustix::process::Signal::KILL,
    };
    if let Some(group) = group.and_then(Pid::from_raw) {
        let _gone = kill_process_group(group, signal);
    }
    for pid in members.iter().filter_map(|&pid| Pid::from_raw(pid)) {
        let _gone = kill_process(pid, signal);
    }
}
