//! The rollout: every event of a session as one line of JSON, `{"v":1,"seq":N,"ts":"…","event":{…}}`.

use cox_protocol::{Event, SessionId};

use crate::{Clock, Home, StoreError};

/// The open rollout of a session; the only writer while it lives.
#[derive(Debug)]
pub struct Rollout {}

/// One stored event.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Position, from 1, growing; gaps are possible after a skipped line.
    pub seq: u64,
    /// When it was written.
    pub ts: jiff::Timestamp,
    /// The event.
    pub event: Event,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// 1-based line number.
    pub line: usize,
    /// Why: torn, doubled, not JSON, of a newer version.
    pub why: String,
}

/// A rollout as read back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    /// Its events in order.
    pub events: Vec<Stored>,
    /// The lines that could not be read.
    pub skipped: Vec<Skipped>,
}

impl Rollout {
    /// Starts the rollout of a new session.
    pub fn create(home: &Home, session: SessionId, clock: Clock) -> Result<Self, StoreError> {
        let _ = (home, session, clock);
        Ok(Self {})
    }

    /// Opens the rollout of an earlier session for writing, and reads it.
    pub fn resume(home: &Home, session: SessionId, clock: Clock) -> Result<(Self, Replay), StoreError> {
        let _ = (home, session, clock);
        Ok((Self {}, Replay::default()))
    }

    /// Appends an event with one write; when it returns, a killed process loses it no more. Returns its `seq`.
    pub fn append(&mut self, event: &Event) -> Result<u64, StoreError> {
        let _ = event;
        Ok(0)
    }

    /// Makes what was appended survive a power cut.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Reads a rollout without opening it for writing.
    pub fn read(home: &Home, session: SessionId) -> Result<Replay, StoreError> {
        let _ = (home, session);
        Ok(Replay::default())
    }
}
