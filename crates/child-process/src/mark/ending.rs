//! Ending what carries a mark: ask, wait, kill, and look again.

use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
    time::{Duration, Instant},
};

use super::{
    CannotTell, EndLimits, Found, Mark, MarkEnded,
    search::{Signal, find, signal},
};
use crate::Identity;

/// How many looks in a row must find nothing: a process that is just being started shows no environment for a moment.
const QUIET: u32 = 3;

/// The longest pause between two looks.
const PAUSE: Duration = Duration::from_millis(25);

/// Ends every process of the owner.
pub(super) fn end(mark: &Mark, limits: EndLimits) -> Result<MarkEnded, CannotTell> {
    let begun = Instant::now();
    let kill_at = begun + limits.grace.min(limits.deadline / 2);
    let until = begun + limits.deadline;
    // Everything that was ever found, so that it is still known when its line of parents is broken.
    let mut known: BTreeMap<Identity, Found> = BTreeMap::new();
    let mut asked = BTreeSet::new();
    let mut quiet = 0;
    let mut pause = Duration::from_millis(1);
    loop {
        let seen = find(mark, &known.keys().copied().collect());
        if known.is_empty() && seen.is_err() {
            return Err(CannotTell);
        }
        let living: Vec<Identity> = match seen {
            Ok(seen) => {
                let living = seen.iter().map(|found| found.identity).collect();
                for found in seen {
                    // The first name is kept: what is being ended has none any more.
                    known.entry(found.identity).or_insert(found);
                }
                living
            }
            // No descriptors left, perhaps: what is known is still known.
            Err(CannotTell) => known
                .keys()
                .copied()
                .filter(|one| one.lives() != Some(false))
                .collect(),
        };
        let now = Instant::now();
        quiet = if living.is_empty() { quiet + 1 } else { 0 };
        if quiet >= QUIET || now >= until {
            let (survivors, ended) = known
                .into_values()
                .partition(|found| living.contains(&found.identity));
            return Ok(MarkEnded { ended, survivors });
        }
        for one in living {
            if now >= kill_at {
                signal(one, Signal::Kill);
            } else if asked.insert(one) {
                signal(one, Signal::End);
            }
        }
        thread::sleep(pause);
        pause = (pause * 2).min(PAUSE);
    }
}
