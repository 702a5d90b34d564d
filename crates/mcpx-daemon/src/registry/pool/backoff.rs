//! How long a server that could not be started is left alone.

use std::time::Duration;

use mcp_client::Failure;
use tokio::time::Instant;

/// The wait after the first failure.
pub(super) const FIRST: Duration = Duration::from_millis(250);
/// The longest wait.
pub(super) const LONGEST: Duration = Duration::from_secs(30);

/// What is known of the failures in a row.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    in_a_row: u32,
    last: Option<(Failure, Instant)>,
}

impl Backoff {
    /// Notes a failure; returns how long nothing is tried: doubled with each one in a row.
    pub(super) fn failed(&mut self, failure: Failure, now: Instant) -> Duration {
        let wait = FIRST
            .saturating_mul(2_u32.saturating_pow(self.in_a_row))
            .min(LONGEST);
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.last = Some((failure, now + wait));
        wait
    }

    /// It was started, or a person asked to try again.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Why nothing is tried now, and for how long; `None` when it may be.
    pub(super) fn refuses(&self, now: Instant) -> Option<(Failure, Duration)> {
        let (failure, until) = self.last.as_ref()?;
        let left = until.checked_duration_since(now)?;
        (!left.is_zero()).then(|| (failure.clone(), left))
    }

    /// The last failure, until something started.
    pub(super) fn last(&self) -> Option<&Failure> {
        self.last.as_ref().map(|(failure, _)| failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_client::{FailureKind, Label, Refuser};

    fn failure() -> Failure {
        Failure {
            server: Label {
                name: "a".to_owned(),
                resolved: "a".to_owned(),
            },
            kind: FailureKind::Refused {
                by: Refuser::Client,
                why: "no".to_owned(),
            },
            stderr: None,
        }
    }

    #[test]
    fn the_wait_doubles_up_to_thirty_seconds_and_a_success_ends_it() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        assert_eq!(backoff.refuses(now), None);
        let waits: Vec<u128> = (0..10)
            .map(|_| backoff.failed(failure(), now).as_millis())
            .collect();
        assert_eq!(
            waits,
            [
                250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000
            ]
        );
        assert_eq!(backoff.refuses(now), Some((failure(), LONGEST)));
        assert_eq!(backoff.refuses(now + LONGEST), None);
        backoff.reset();
        assert_eq!(backoff.failed(failure(), now), FIRST);
    }
}
