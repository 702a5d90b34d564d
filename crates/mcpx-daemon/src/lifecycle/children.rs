//! Every process that a daemon starts, and all that those start, ends with the daemon, however it ends.
//!
//! Three things see to it. The daemon ends its servers as trees when it stops in order. A [guardian](super::guard) ends
//! what is left when the daemon was killed. And where the guardian was killed too, the next daemon of the same state
//! directory ends it. What belongs to a daemon is told by its nonce, which every process below it carries as a
//! [`Mark`], and by nothing less: a number in a file may mean another process by now.
//!
//! A daemon is gone when nobody holds the lock of its file. Its process id does not say so: a daemon in a container
//! that shares the directory has ids of its own.

use std::{collections::BTreeSet, thread, time::Duration};

use child_process::{CannotTell, Found, Identity, Mark, UnfitMark, mark::EndLimits};
use jiff::Timestamp;
use mcpx_store::{
    StateDir, StoreError,
    children::{self, Child, Left},
};
use tokio::task::spawn_blocking;

use super::guard::{Guard, GuardCommand, GuardError};

/// How what a dead daemon left is ended. Meanwhile nobody is answered, and a command waits two seconds for its first
/// answer.
const LEFTOVERS: EndLimits = EndLimits {
    grace: Duration::from_millis(700),
    deadline: Duration::from_millis(1_500),
};

/// How what an orderly stop left is ended: it was asked before.
const REST: EndLimits = EndLimits {
    grace: Duration::from_secs(1),
    deadline: Duration::from_secs(5),
};

/// The daemon's hold on what it starts. Dropping it lets the guardian end all of that.
#[derive(Debug)]
pub struct Children {
    mark: Mark,
    guard: Guard,
    /// Locked while the daemon lives.
    file: children::Children,
}

/// What [`Children::begin`] gives.
#[derive(Debug)]
pub struct Begun {
    /// The hold.
    pub children: Children,
    /// What dead daemons had left, one entry a daemon that left something or of which that cannot be told.
    pub leftovers: Vec<Leftover>,
    /// Why there is no guardian, and a killed daemon leaves its servers to the next one; for a warning.
    pub unguarded: Option<GuardError>,
}

/// What a dead daemon had left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The dead daemon's nonce.
    pub nonce: String,
    /// What was ended.
    pub ended: Vec<Found>,
    /// What could not be ended, and is looked for again at the next start.
    pub survivors: Vec<Found>,
    /// Why nothing could be told, in a sentence; none when it could.
    pub problem: Option<String>,
}

/// The hold on the children could not be had; the daemon must start none.
#[derive(Debug, thiserror::Error)]
pub enum ChildrenError {
    /// Its file could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The nonce is none.
    #[error(transparent)]
    Nonce(#[from] UnfitMark),
    /// The runtime is being taken down.
    #[error("the daemon ends before it has begun")]
    Ending,
}

impl Children {
    /// Ends what dead daemons of this state directory left, and starts a guardian for this one. Without anything left
    /// that is a few milliseconds, with something at most 1.5 s. `nonce` is that of the daemon's record.
    ///
    /// # Errors
    ///
    /// [`ChildrenError`]; nothing was started then.
    pub async fn begin(
        state: StateDir,
        nonce: String,
        guard: GuardCommand,
        now: Timestamp,
    ) -> Result<Begun, ChildrenError> {
        spawn_blocking(move || begin(&state, &nonce, guard, now))
            .await
            .map_err(|_| ChildrenError::Ending)?
    }

    /// Returns the mark that every [`Program`](child_process::Program) of this daemon gets.
    #[must_use]
    pub fn mark(&self) -> Mark {
        self.mark.clone()
    }

    /// Returns the guardian's process id; none when there is none.
    #[must_use]
    pub fn guardian(&self) -> Option<u32> {
        self.guard.id()
    }

    /// Finds everything that the daemon's servers run now, them included.
    ///
    /// # Errors
    ///
    /// [`CannotTell`] where the system does not show it.
    pub async fn find(&self) -> Result<Vec<Found>, CannotTell> {
        let mark = self.mark();
        spawn_blocking(move || mark.find())
            .await
            .unwrap_or(Err(CannotTell))
    }

    /// Starts another guardian when the first one has gone, and says whether it did. For the daemon's tick.
    ///
    /// # Errors
    ///
    /// [`GuardError`] when it has gone and there is no other.
    pub async fn watch(&self) -> Result<bool, GuardError> {
        let guard = self.guard.clone();
        spawn_blocking(move || guard.renew())
            .await
            .unwrap_or(Ok(false))
    }

    /// Ends what is left when the daemon has ended its servers, and sends the guardian home. Returns what survived,
    /// which the next daemon looks for again. At most some seconds, a few milliseconds when nothing is left.
    pub async fn end(self) -> Vec<Found> {
        spawn_blocking(move || end(self)).await.unwrap_or_default()
    }
}

fn begin(
    state: &StateDir,
    nonce: &str,
    guard: GuardCommand,
    now: Timestamp,
) -> Result<Begun, ChildrenError> {
    let mark = Mark::new(nonce)?;
    let mut file = children::Children::open(state, nonce)?;
    // The daemon itself comes first: so its nonce is found even when it was killed before it wrote anything else.
    file.started(Child {
        pid: std::process::id(),
        process_started: Identity::own().map(|own| own.started),
        nonce: nonce.to_owned(),
        server: String::new(),
        command: "mcpx".to_owned(),
        at: now,
    })?;
    let (guard, unguarded) = Guard::start(guard, mark.clone());
    let leftovers = end_leftovers(state);
    let children = Children { mark, guard, file };
    Ok(Begun {
        children,
        leftovers,
        unguarded,
    })
}

/// Ends what dead daemons left, all at the same time.
fn end_leftovers(state: &StateDir) -> Vec<Leftover> {
    let left = children::left(state);
    thread::scope(|scope| {
        let working: Vec<_> = left
            .into_iter()
            .map(|left| scope.spawn(|| end_leftover(left)))
            .collect();
        let done = working.into_iter().filter_map(|one| one.join().ok());
        done.flatten().collect()
    })
}

/// Ends what one dead daemon left. Its file stays when it is needed again.
fn end_leftover(left: Left) -> Vec<Leftover> {
    let nonces: BTreeSet<&str> = left
        .children
        .iter()
        .map(|child| child.nonce.as_str())
        .collect();
    let mut leftovers: Vec<Leftover> = nonces.into_iter().map(end_marked).collect();
    if leftovers
        .iter()
        .all(|leftover| leftover.survivors.is_empty())
    {
        // One that cannot be removed is only looked at again.
        let _again = left.forget();
    }
    leftovers.retain(|leftover| {
        !leftover.ended.is_empty() || !leftover.survivors.is_empty() || leftover.problem.is_some()
    });
    leftovers
}

fn end_marked(nonce: &str) -> Leftover {
    let ended = Mark::new(nonce)
        .map_err(|error| error.to_string())
        .and_then(|mark| mark.end(LEFTOVERS).map_err(|error| error.to_string()));
    let problem = ended.as_ref().err().cloned();
    let ended = ended.unwrap_or_default();
    Leftover {
        nonce: nonce.to_owned(),
        ended: ended.ended,
        survivors: ended.survivors,
        problem,
    }
}

fn end(mut children: Children) -> Vec<Found> {
    // Where it cannot be told, there is no guardian and no next daemon that could do better.
    let survivors = children
        .mark
        .end(REST)
        .map_or_else(|CannotTell| Vec::new(), |ended| ended.survivors);
    // With survivors the guardian is let go, not sent home: it tries for longer.
    if survivors.is_empty() {
        children.guard.disarm();
        let done = children.file.ended(std::process::id());
        // A file that stays is looked at by the next daemon, which finds nothing.
        let _stays = done.and_then(|()| children.file.close());
    }
    survivors
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
