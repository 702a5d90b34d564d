//! How often the daemon is looked for again: at once the first time, later and later when it goes on ending.

use std::time::Duration;

use tokio::time::Instant;

/// A connection that held this long was a good one.
const STEADY: Duration = Duration::from_secs(10);
/// The pauses before each try, when one connection after the other breaks.
const PAUSES: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(3),
];
/// The least time between two tries once it was given up.
const RETRY: Duration = Duration::from_secs(1);

/// The tries.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Breaks in a row, each soon after its connection was made.
    breaks: usize,
    connected: Option<Instant>,
    tried: Option<Instant>,
}

impl Pace {
    /// A connection was made.
    pub(super) fn connected(&mut self) {
        self.connected = Some(Instant::now());
    }

    /// A connection broke: how long to wait before the next one; `None` when it is enough.
    pub(super) fn broke(&mut self) -> Option<Duration> {
        let held = self.connected.take().map(|since| since.elapsed());
        if held.is_some_and(|held| held >= STEADY) {
            self.breaks = 0;
        }
        let pause = PAUSES.get(self.breaks).copied();
        self.breaks += 1;
        pause
    }

    /// No connection could be made.
    pub(super) fn failed(&mut self) {
        self.tried = Some(Instant::now());
    }

    /// A connection ended in order.
    pub(super) fn ended(&mut self) {
        self.connected = None;
        self.breaks = 0;
    }

    /// Somebody asks for something: how long to wait before it is tried for him.
    pub(super) fn wanted(&mut self) -> Duration {
        // Once more, and not five times.
        self.breaks = self.breaks.min(PAUSES.len());
        let since = self.tried.map(|tried| tried.elapsed());
        since.map_or(Duration::ZERO, |since| RETRY.saturating_sub(since))
    }

    /// How often it broke in a row.
    pub(super) fn breaks(&self) -> usize {
        self.breaks
    }
}
