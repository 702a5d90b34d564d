//! Holds a tree to a number of processes and threads, by the strongest means there is.
//!
//! The kernel does not hold root to a limit of its user, so for root a control group is made; where that cannot be, a
//! thread that comes before all others looks on. A limit of the user counts everything that the user runs, so it is
//! set as far above what the whole machine runs now.
#![allow(
    unsafe_code,
    reason = "the lines between fork and exec may only make plain system calls"
)]

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::sleep;

use crate::tree::{orphans_of, table};

/// How often it is looked whether the limit was met.
const LOOK: Duration = Duration::from_millis(100);

/// What holds one tree.
#[derive(Debug)]
pub(crate) struct Cap {
    max: u64,
    /// How many processes and threads the whole machine had at the start.
    at_start: Option<u64>,
    /// The fewest that it was seen to have since; all where that cannot be told.
    fewest: AtomicU64,
    #[cfg(target_os = "linux")]
    group: Option<crate::control_group::ControlGroup>,
    #[cfg(target_os = "linux")]
    is_root: bool,
}

/// What a child does between fork and exec to come under the cap. Holds no memory that would have to be freed.
#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Where a zero is written to.
    #[cfg(target_os = "linux")]
    group: Option<std::os::fd::RawFd>,
    /// The limit of the user.
    #[cfg(target_os = "linux")]
    limit: Option<u64>,
}

impl Cap {
    /// Makes a cap for a tree that is about to start.
    pub(crate) fn new(max: u64) -> Self {
        #[cfg(target_os = "linux")]
        let is_root = rustix::process::geteuid().is_root();
        let at_start = table::load();
        Self {
            max,
            at_start,
            fewest: AtomicU64::new(at_start.unwrap_or(u64::MAX)),
            #[cfg(target_os = "linux")]
            group: is_root
                .then(|| crate::control_group::ControlGroup::make(max))
                .flatten(),
            #[cfg(target_os = "linux")]
            is_root,
        }
    }

    /// Returns how a child comes under the cap, valid while the cap lives.
    #[cfg(unix)]
    pub(crate) fn entry(&self) -> Entry {
        Entry {
            #[cfg(target_os = "linux")]
            group: self
                .group
                .as_ref()
                .map(crate::control_group::ControlGroup::door),
            #[cfg(target_os = "linux")]
            limit: self
                .at_start
                .filter(|_| !self.is_root)
                .map(|others| others.saturating_add(self.max)),
        }
    }

    /// Completes when the tree has met its limit; never where nobody can tell.
    pub(crate) async fn reached(&self, leader: i32, started: u64) {
        #[cfg(target_os = "linux")]
        {
            if let Some(group) = &self.group {
                while !group.was_full() {
                    sleep(LOOK).await;
                }
                return;
            }
            if self.is_root {
                crate::control_group::watched(leader, started, self.max, self.at_start).await;
                return;
            }
        }
        if self.at_start.is_none() {
            return std::future::pending().await;
        }
        loop {
            sleep(LOOK).await;
            if self.was_met(leader, started) {
                return;
            }
        }
    }

    /// Says whether the tree met its limit, as far as that can be told without waiting: the kernel counts for a control
    /// group, and for the rest those count that are there now.
    pub(crate) fn was_met(&self, leader: i32, started: u64) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(group) = &self.group {
            return group.was_full();
        }
        // The table of processes is read only when the whole machine has so many more than it ever had without this tree
        // that they may be the tree's.
        let now = table::load().unwrap_or(0);
        let more = now.saturating_sub(self.fewest.fetch_min(now, Ordering::Relaxed));
        let weight = || table::weight(leader, started, orphans_of(leader).as_ref());
        #[cfg(target_os = "linux")]
        let is_held = !self.is_root;
        #[cfg(not(target_os = "linux"))]
        let is_held = true;
        let least = if is_held {
            // Some of the tree may have ended since a fork was refused.
            self.max - self.max / 16
        } else {
            self.max.saturating_add(1)
        };
        more > self.max / 2 && weight() >= least
    }
}

#[cfg(unix)]
impl Entry {
    /// Brings this process under the cap. Called between fork and exec: makes plain system calls and nothing else.
    /// A cap that cannot be had is no reason not to run.
    pub(crate) fn enter(self) {
        #[cfg(target_os = "linux")]
        {
            if let Some(door) = self.group {
                // SAFETY: writes one byte from a constant to a descriptor that lives as long as the cap.
                let _gone = unsafe { libc::write(door, b"0".as_ptr().cast(), 1) };
            }
            if let Some(limit) = self.limit {
                use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
                let now = getrlimit(Resource::Nproc);
                let lower = |old: Option<u64>| Some(old.map_or(limit, |old| old.min(limit)));
                let _refused = setrlimit(
                    Resource::Nproc,
                    Rlimit {
                        current: lower(now.current),
                        maximum: now.maximum,
                    },
                );
            }
        }
    }
}
