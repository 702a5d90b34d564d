//! Which calls of one message wait for which: calls that touch the same path run in call order.

use std::path::{Path, PathBuf};

use cox_permission::{Subject, Target};
use cox_tools::Concurrency;
use tokio::sync::watch;

/// What a call touches, as far as order matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Footprint {
    /// It may touch anything: it runs alone.
    Everything,
    /// It touches these paths and what lies below them.
    Paths {
        /// Read.
        read: Vec<PathBuf>,
        /// Changed.
        changed: Vec<PathBuf>,
    },
}

impl Footprint {
    /// Returns the footprint of a call.
    pub(super) fn of(concurrency: Concurrency, subject: &Subject) -> Self {
        if concurrency == Concurrency::Exclusive {
            return Self::Everything;
        }
        let (mut read, mut changed) = (Vec::new(), Vec::new());
        for target in &subject.targets {
            match target {
                Target::Read(path) => read.push(path.real.clone()),
                Target::Edit(path) => changed.push(path.real.clone()),
                Target::Command { .. } => return Self::Everything,
                Target::Url(_) | Target::Mcp { .. } => {}
            }
        }
        Self::Paths { read, changed }
    }

    /// Returns the footprint of a call that does nothing.
    pub(super) fn nothing() -> Self {
        Self::Paths {
            read: Vec::new(),
            changed: Vec::new(),
        }
    }

    fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Paths { read, changed },
                Self::Paths {
                    read: other_read,
                    changed: other_changed,
                },
            ) => {
                overlap(changed, other_changed)
                    || overlap(changed, other_read)
                    || overlap(read, other_changed)
            }
            (Self::Everything, _) | (_, Self::Everything) => true,
        }
    }
}

fn overlap(some: &[PathBuf], others: &[PathBuf]) -> bool {
    let touches = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
    some.iter().any(|a| others.iter().any(|b| touches(a, b)))
}

/// A call's place in the order.
pub(super) struct Turn {
    before: Vec<watch::Receiver<bool>>,
    ended: watch::Sender<bool>,
}

impl Turn {
    /// Waits until every earlier call that touches the same paths has ended.
    pub(super) async fn come(&self) {
        for before in &self.before {
            // An error means that the sender is gone: that call ended too.
            drop(before.clone().wait_for(|ended| *ended).await);
        }
    }

    /// Lets the calls that wait for this one begin. Dropping it does the same.
    pub(super) fn end(self) {
        self.ended.send_replace(true);
    }
}

/// Returns each call's place, in call order.
pub(super) fn turns(footprints: &[Footprint]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::with_capacity(footprints.len());
    for (index, footprint) in footprints.iter().enumerate() {
        let before = footprints[..index]
            .iter()
            .zip(&turns)
            .filter(|(earlier, _)| earlier.conflicts(footprint))
            .map(|(_, turn)| turn.ended.subscribe())
            .collect();
        turns.push(Turn {
            before,
            ended: watch::Sender::new(false),
        });
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(read: &[&str], changed: &[&str]) -> Footprint {
        let own = |list: &[&str]| list.iter().map(PathBuf::from).collect();
        Footprint::Paths {
            read: own(read),
            changed: own(changed),
        }
    }

    /// For each call, how many earlier calls it waits for.
    fn check(footprints: &[Footprint], waits: &[usize]) {
        let found: Vec<usize> = turns(footprints)
            .iter()
            .map(|turn| turn.before.len())
            .collect();
        assert_eq!(found, waits);
    }

    #[test]
    fn reads_run_side_by_side() {
        check(
            &[
                paths(&["/w/a"], &[]),
                paths(&["/w/a"], &[]),
                paths(&["/w"], &[]),
            ],
            &[0, 0, 0],
        );
    }

    #[test]
    fn calls_on_the_same_file_run_in_order() {
        check(
            &[
                paths(&[], &["/w/a"]),
                paths(&[], &["/w/a"]),
                paths(&["/w/a"], &[]),
            ],
            &[0, 1, 2],
        );
    }

    #[test]
    fn a_search_waits_for_an_edit_below_its_folder() {
        check(
            &[
                paths(&[], &["/w/src/a"]),
                paths(&["/w"], &[]),
                paths(&["/w/srcs"], &[]),
            ],
            &[0, 1, 0],
        );
    }

    #[test]
    fn an_exclusive_call_waits_for_all_and_all_wait_for_it() {
        check(
            &[
                paths(&["/w/a"], &[]),
                Footprint::Everything,
                Footprint::nothing(),
            ],
            &[0, 1, 1],
        );
    }
}
