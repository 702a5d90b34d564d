//! Where no process table can be read: the group is all that is known.

use std::collections::BTreeSet;

/// What helps to tell whose an adopted orphan is.
pub(crate) struct Orphans {
    /// Whether the tree is the only one that runs now.
    #[expect(dead_code, reason = "only Linux adopts orphans")]
    pub(super) alone: bool,
    /// The leaders of all trees, and guardians.
    #[expect(dead_code, reason = "only Linux adopts orphans")]
    pub(super) leaders: BTreeSet<i32>,
}

/// Makes this process the reaper of its descendants: only Linux can.
pub(super) fn become_subreaper() -> bool {
    false
}

/// Returns when a process started: not known here.
pub(crate) fn start_of(_pid: i32) -> Option<u64> {
    None
}

/// Returns how many processes the machine has: not known here.
pub(crate) fn load() -> Option<u64> {
    None
}

/// Returns how many processes belong to the leader: not known here.
pub(crate) fn weight(_leader: i32, _started: u64, _orphans: Option<&Orphans>) -> u64 {
    0
}

/// Returns the leader and its descendants down to some generation: not known here.
pub(super) fn first_generations(_leader: i32, _count: usize) -> BTreeSet<i32> {
    BTreeSet::new()
}

/// Returns the command line of a process: not known here.
pub(super) fn name(_pid: i32) -> Option<String> {
    None
}

/// Returns the leader while its group has a member; nobody where there are no groups.
pub(super) fn members(
    leader: i32,
    _started: u64,
    _mark: &str,
    _orphans: Option<&Orphans>,
) -> BTreeSet<i32> {
    if group_lives(leader) {
        BTreeSet::from([leader])
    } else {
        BTreeSet::new()
    }
}

#[cfg(unix)]
fn group_lives(leader: i32) -> bool {
    rustix::process::Pid::from_raw(leader)
        .is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
}

#[cfg(not(unix))]
fn group_lives(_leader: i32) -> bool {
    false
}
