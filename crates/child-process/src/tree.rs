//! A child with everything it started: who belongs to it, and how all of it ends.
//!
//! A process belongs to a tree when it is in the leader's session or group, when its parent belongs to it, or when it
//! carries the tree's mark in its environment. What cleared its environment *and* left the session *and* lost its
//! parent can only be claimed when this process adopts orphans ([`adopt_orphans`]); otherwise we cannot prove that it
//! is ours, and it is left alone.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::process::Child;

use crate::{LeftBehind, cap::Cap};

#[cfg(unix)]
#[path = "tree/signal.rs"]
mod signal;
#[cfg(not(unix))]
#[path = "tree/no_signal.rs"]
mod signal;

#[cfg(target_os = "linux")]
#[path = "tree/proc.rs"]
pub(crate) mod table;
#[cfg(not(target_os = "linux"))]
#[path = "tree/none.rs"]
pub(crate) mod table;

/// The variable that marks every process of a tree.
pub(crate) const MARK: &str = "CHILD_PROCESS_TREE";

/// How long killed processes may take to go.
const AFTER_KILL: Duration = Duration::from_secs(1);

/// How long a great many killed processes may take to go: the kernel takes each apart.
const AFTER_KILL_MANY: Duration = Duration::from_secs(15);

/// How long what is left may take to go by itself before it counts as left behind.
const SETTLE: Duration = Duration::from_millis(50);

/// The trees that run now, for telling one's orphans from another's.
static LIVE: Mutex<Live> = Mutex::new(Live {
    leaders: BTreeSet::new(),
    apart: BTreeSet::new(),
    count: 0,
    adopting: false,
});

struct Live {
    leaders: BTreeSet<i32>,
    /// Children of this process that belong to no tree and are no orphans: guardians.
    apart: BTreeSet<i32>,
    count: u64,
    adopting: bool,
}

fn live() -> MutexGuard<'static, Live> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process the parent of every orphan among its descendants, so that a process that left its session and
/// cleared its environment can still be found and ended. For a binary, at its start; returns whether the system can.
pub fn adopt_orphans() -> bool {
    let adopting = table::become_subreaper();
    live().adopting = adopting;
    adopting
}

/// Returns what is known of adopted orphans, seen from one tree; none where this process adopts none.
pub(crate) fn orphans_of(leader: i32) -> Option<table::Orphans> {
    let live = live();
    live.adopting.then(|| table::Orphans {
        alone: live.leaders.iter().all(|&other| other == leader),
        leaders: live.leaders.union(&live.apart).copied().collect(),
    })
}

/// Starts a child that belongs to no tree. No tree that ends meanwhile takes it for an orphan.
#[cfg(target_os = "linux")]
pub(crate) fn start_apart(
    start: impl FnOnce() -> std::io::Result<std::process::Child>,
) -> std::io::Result<std::process::Child> {
    let mut live = live();
    let child = start()?;
    live.apart.extend(i32::try_from(child.id()).ok());
    Ok(child)
}

/// Forgets a child that belonged to no tree: it was waited for, and its number may be given again.
#[cfg(target_os = "linux")]
pub(crate) fn forget_apart(child: &std::process::Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        live().apart.remove(&pid);
    }
}

/// Returns a mark that no other tree has.
pub(crate) fn new_mark() -> String {
    let mut live = live();
    live.count += 1;
    let random = RandomState::new().hash_one(live.count);
    format!("{}.{}.{random:016x}", std::process::id(), live.count)
}

/// A child and its descendants. Kills them when dropped before they were ended.
#[derive(Debug)]
pub(crate) struct Tree {
    leader: i32,
    /// When the leader started, in the kernel's ticks since boot; nothing older belongs to the tree.
    started: u64,
    mark: String,
    /// Holds it to its number of processes; dropped when all have ended.
    cap: Cap,
    /// See [`crate::Wrap::generations`].
    unasked: usize,
    ended: bool,
}

/// What is said to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    /// Please end.
    End,
    /// Go on, if you were stopped.
    GoOn,
    /// End now.
    Kill,
}

/// What came of ending a tree.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Which processes were still there, the leader not counted, and have been ended.
    pub(crate) ended: LeftBehind,
    /// Process ids of what could not be ended, ascending.
    pub(crate) survivors: Vec<i32>,
}

impl Tree {
    pub(crate) fn new(child: &Child, mark: String, cap: Cap, unasked: usize) -> Self {
        // A child that was never waited for has an id.
        let leader = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .unwrap_or(0);
        live().leaders.insert(leader);
        let started = table::start_of(leader).unwrap_or(0);
        Self {
            leader,
            started,
            mark,
            cap,
            unasked,
            ended: false,
        }
    }

    pub(crate) fn leader(&self) -> i32 {
        self.leader
    }

    /// Waits a moment for what ends with its leader anyway, such as the other half of a pipeline.
    pub(crate) async fn settle(&self) {
        self.wait_gone(self.members(), SETTLE, None).await;
    }

    /// Ends the tree: asks every process, waits up to `grace`, then kills until none is left or the time is up.
    pub(crate) async fn end(&mut self, grace: Duration) -> Outcome {
        let first = self.members();
        // Their names are asked for now: later there is nobody to ask.
        let mut named = 0;
        let asked: Vec<(i32, Option<String>)> = first
            .iter()
            .filter(|&&pid| pid != self.leader)
            .map(|&pid| {
                let name = (named < LeftBehind::NAMES)
                    .then(|| table::name(pid))
                    .flatten();
                named += usize::from(name.is_some());
                (pid, name)
            })
            .collect();
        if !first.is_empty() {
            self.ask(&first);
            // A stopped process sees the signal only when it goes on.
            self.signal(&first, Signal::GoOn);
        }
        let mut left = self.wait_gone(first, grace, None).await;
        if !left.is_empty() {
            left = self.wait_gone(left, AFTER_KILL, Some(Signal::Kill)).await;
        }
        self.ended = true;
        live().leaders.remove(&self.leader);
        let survivors: Vec<i32> = left.into_iter().collect();
        let mut ended = LeftBehind::default();
        for (pid, name) in asked {
            if !survivors.contains(&pid) {
                ended.count += 1;
                ended.names.extend(name);
            }
        }
        Outcome { ended, survivors }
    }

    /// Kills the tree without asking, and waits longer: a great many take their time.
    pub(crate) async fn kill(&mut self) -> Vec<i32> {
        let left = self
            .wait_gone(self.members(), AFTER_KILL_MANY, Some(Signal::Kill))
            .await;
        self.ended = true;
        live().leaders.remove(&self.leader);
        left.into_iter().collect()
    }

    /// Completes when the tree has as many processes and threads as it may.
    pub(crate) async fn outgrown(&self) {
        self.cap.reached(self.leader, self.started).await;
    }

    /// Says whether the tree met its limit, for when its leader failed: a fork that is refused ends many a program before
    /// anybody looks.
    pub(crate) fn was_outgrown(&self) -> bool {
        self.cap.was_met(self.leader, self.started)
    }

    /// Waits until no member is left or `limit` has passed, sending `signal` again at each look: a process may fork
    /// between two looks.
    async fn wait_gone(
        &self,
        mut members: BTreeSet<i32>,
        limit: Duration,
        signal: Option<Signal>,
    ) -> BTreeSet<i32> {
        let until = Instant::now() + limit;
        let mut pause = Duration::from_millis(1);
        while !members.is_empty() {
            if let Some(signal) = signal {
                self.signal(&members, signal);
            }
            if Instant::now() >= until {
                break;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(25));
            members = self.members();
        }
        members
    }

    fn members(&self) -> BTreeSet<i32> {
        if self.leader <= 0 {
            return BTreeSet::new();
        }
        let orphans = orphans_of(self.leader);
        table::members(self.leader, self.started, &self.mark, orphans.as_ref())
    }

    /// Asks every member to end but those of a wrap.
    fn ask(&self, members: &BTreeSet<i32>) {
        if self.unasked == 0 {
            self.signal(members, Signal::End);
            return;
        }
        let wrap = table::first_generations(self.leader, self.unasked);
        // One by one: the wrap is in the group of what it holds.
        let asked: BTreeSet<i32> = members.difference(&wrap).copied().collect();
        if asked.is_empty() {
            self.signal(members, Signal::End);
        } else {
            signal::send(None, &asked, Signal::End);
        }
    }

    fn signal(&self, members: &BTreeSet<i32>, signal: Signal) {
        // The group is signalled only while a member is known to live: after that its number may belong to others.
        if !members.is_empty() {
            signal::send(Some(self.leader), members, signal);
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        // The future was dropped: no time to ask, but two looks catch what forked in between.
        for _ in 0..2 {
            let members = self.members();
            self.signal(&members, Signal::Kill);
        }
        live().leaders.remove(&self.leader);
    }
}
