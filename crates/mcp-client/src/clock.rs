//! The clock of one call: an idle timer that progress starts anew, and a hard maximum. Both stand while a question is
//! open.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Which of the two ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// No sign of life for this long.
    Idle(Duration),
    /// This long in all.
    Max(Duration),
}

impl fmt::Display for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle(time) => write!(f, "no sign of life within {} s", seconds(*time)),
            Self::Max(time) => write!(f, "not done within {} s", seconds(*time)),
        }
    }
}

/// In seconds, to the millisecond: what is left of a limit is no round number.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1_000.0).round() / 1_000.0
}

/// The clock of one call. Shared by whoever waits for the call and whoever asks its questions.
#[derive(Debug)]
pub struct Clock {
    idle: Duration,
    max: Duration,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// When the idle timer was started last.
    alive: Instant,
    /// Running time before the present stretch.
    used: Duration,
    /// When the present stretch began; `None` while it stands.
    running: Option<Instant>,
    /// How many questions are open.
    open: usize,
}

impl Clock {
    /// A clock that runs from now on.
    #[must_use]
    pub fn new(idle: Duration, max: Duration) -> Self {
        let now = Instant::now();
        let state = State {
            alive: now,
            used: Duration::ZERO,
            running: Some(now),
            open: 0,
        };
        Self {
            idle,
            max,
            state: Mutex::new(state),
            changed: Notify::new(),
        }
    }

    /// A sign of life: the idle timer starts anew.
    pub fn progress(&self) {
        self.change(|state| state.alive = Instant::now());
    }

    /// A question is open until the guard is dropped. Then the idle timer starts anew, and the maximum goes on.
    pub fn pause(&self) -> Paused<'_> {
        self.change(|state| {
            state.open += 1;
            if let Some(since) = state.running.take() {
                state.used += since.elapsed();
            }
        });
        Paused { clock: self }
    }

    /// Waits until one of the two runs out.
    pub async fn expired(&self) -> Expiry {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match self.next() {
                Some((at, expiry)) => tokio::select! {
                    () = tokio::time::sleep_until(at) => {
                        // Time may have been added while this slept.
                        if self.next().is_some_and(|(now_at, _)| now_at <= Instant::now()) {
                            return expiry;
                        }
                    }
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }

    fn next(&self) -> Option<(Instant, Expiry)> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let running = state.running?;
        let idle_at = state.alive + self.idle;
        let max_at = running + self.max.saturating_sub(state.used);
        Some(if idle_at <= max_at {
            (idle_at, Expiry::Idle(self.idle))
        } else {
            (max_at, Expiry::Max(self.max))
        })
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_waiters();
    }
}

/// While it lives, a clock stands.
#[derive(Debug)]
pub struct Paused<'a> {
    clock: &'a Clock,
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.clock.change(|state| {
            state.open = state.open.saturating_sub(1);
            if state.open == 0 {
                let now = Instant::now();
                state.running = Some(now);
                state.alive = now;
            }
        });
    }
}

/// The clocks that run against one server, so that all of them stand while a person signs in there.
#[derive(Debug, Default)]
pub(crate) struct Clocks(Mutex<Vec<Weak<Clock>>>);

impl Clocks {
    pub(crate) fn add(&self, clock: &Arc<Clock>) {
        let mut clocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        clocks.retain(|clock| clock.strong_count() > 0);
        clocks.push(Arc::downgrade(clock));
    }

    pub(crate) fn running(&self) -> Vec<Arc<Clock>> {
        let clocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        clocks.iter().filter_map(Weak::upgrade).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_limit_is_told_to_the_millisecond() {
        let told = |micros| Expiry::Idle(Duration::from_micros(micros)).to_string();
        assert_eq!(told(99_619), "no sign of life within 0.1 s");
        assert_eq!(told(699_700), "no sign of life within 0.7 s");
        assert_eq!(told(60_000_000), "no sign of life within 60 s");
    }

    #[tokio::test(start_paused = true)]
    async fn progress_extends_idle_not_max() {
        let clock = Clock::new(10 * SECOND, 25 * SECOND);
        let start = Instant::now();
        let alive = async {
            loop {
                tokio::time::sleep(9 * SECOND).await;
                clock.progress();
            }
        };
        let expiry =
            tokio::select! { expiry = clock.expired() => expiry, () = alive => unreachable!() };
        assert_eq!(expiry, Expiry::Max(25 * SECOND));
        assert_eq!(start.elapsed(), 25 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_stands_while_a_question_is_open() {
        let clock = Clock::new(10 * SECOND, 25 * SECOND);
        let start = Instant::now();
        let asking = async {
            tokio::time::sleep(9 * SECOND).await;
            let outer = clock.pause();
            let inner = clock.pause();
            tokio::time::sleep(1_000 * SECOND).await;
            drop(outer);
            tokio::time::sleep(1_000 * SECOND).await;
            drop(inner);
            std::future::pending::<()>().await;
        };
        let expiry =
            tokio::select! { expiry = clock.expired() => expiry, () = asking => unreachable!() };
        assert_eq!(expiry, Expiry::Idle(10 * SECOND));
        assert_eq!(start.elapsed(), 2_019 * SECOND);
    }
}
