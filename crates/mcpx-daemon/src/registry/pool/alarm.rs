//! When a caller in the queue looks up, and what it then does: waits on, or gives up.

use std::time::Duration;

use tokio::time::Instant;

use super::{FOREVER, Wait};

/// When a caller in the queue looks up.
pub(super) struct Alarm {
    pub(super) at: Instant,
    /// The end of the queue's time.
    queue: Instant,
    /// How much of a start it waits for, when that is less than the start has.
    patience: Option<Duration>,
}

/// What there is to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rung {
    /// Wait until the alarm rings again.
    Waits,
    /// There was no room in time.
    Exhausted,
    /// The start takes longer than this caller waits for one.
    StartsTooLong(Duration),
}

impl Alarm {
    /// `start`: how long a start may take.
    pub(super) fn set(now: Instant, wait: &Wait, start: Duration) -> Self {
        let queue = now + wait.queue.min(FOREVER);
        let patience = wait.start.filter(|limit| *limit < start);
        Self {
            at: patience.map_or(queue, |limit| queue.min(now + limit)),
            queue,
            patience,
        }
    }

    /// It rang. `starting`: since when a start for the caller is under way, and until when at the latest.
    pub(super) fn rings(&mut self, starting: Option<(Instant, Instant)>) -> Rung {
        let now = self.at;
        self.at = match (starting, self.patience) {
            // A start that begins from now on is not over its time before that.
            (None, Some(limit)) => self.queue.min(now + limit),
            (None, None) => self.queue,
            (Some((since, _)), Some(limit)) => match since + limit {
                over if over <= now => return Rung::StartsTooLong(limit),
                over => over,
            },
            // A start has a deadline of its own, which that of the queue does not cut.
            (Some((_, until)), None) => until,
        };
        if self.at > now {
            Rung::Waits
        } else {
            Rung::Exhausted
        }
    }
}
