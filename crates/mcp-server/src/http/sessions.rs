//! The legacy sessions: how many, for how long, and the streams of each that can be resumed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::time::Instant;

use crate::connection::Connection;
use crate::event_log::EventLog;

/// How many ended streams of a session wait for a client that went away.
const MAX_ENDED: usize = 32;
/// How many bytes they may hold.
const MAX_ENDED_BYTES: usize = 4 * 1024 * 1024;

/// One session.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) connection: Arc<Connection>,
    /// What belongs to no request.
    pub(super) general: Arc<EventLog>,
    /// Which connection reads the general stream: the newest.
    pub(super) general_reader: tokio::sync::watch::Sender<u64>,
    streams: AtomicU64,
    logs: Mutex<Vec<Arc<EventLog>>>,
    open: AtomicUsize,
    last_seen: Mutex<Instant>,
}

/// A connection that reads a stream of a session: it is not idle meanwhile.
pub(super) struct Open(Arc<Session>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
        self.0.seen();
    }
}

impl Session {
    pub(super) fn seen(&self) {
        *self
            .last_seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn open(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::AcqRel);
        Open(Arc::clone(self))
    }

    /// A stream for one request.
    pub(super) fn begin_log(&self) -> Arc<EventLog> {
        let log = Arc::new(EventLog::new(
            self.streams.fetch_add(1, Ordering::Relaxed) + 1,
        ));
        let mut logs = self.logs();
        logs.push(Arc::clone(&log));
        loop {
            let ended: Vec<(usize, usize)> = logs
                .iter()
                .enumerate()
                .filter_map(|(at, log)| Some((at, log.state())).filter(|(_, (ended, _))| *ended))
                .map(|(at, (_, bytes))| (at, bytes))
                .collect();
            let bytes: usize = ended.iter().map(|(_, bytes)| bytes).sum();
            match ended.first() {
                Some((oldest, _)) if ended.len() > MAX_ENDED || bytes > MAX_ENDED_BYTES => {
                    logs.remove(*oldest);
                }
                _ => break,
            }
        }
        drop(logs);
        log
    }

    pub(super) fn forget_log(&self, stream: u64) {
        self.logs().retain(|log| log.stream != stream);
    }

    /// The stream of this number. 0 is the general one.
    pub(super) fn log(&self, stream: u64) -> Option<Arc<EventLog>> {
        if stream == 0 {
            return Some(Arc::clone(&self.general));
        }
        self.logs().iter().find(|log| log.stream == stream).cloned()
    }

    fn idle_since(&self) -> Option<Instant> {
        let is_busy = self.open.load(Ordering::Acquire) > 0 || self.connection.running() > 0;
        (!is_busy).then(|| {
            *self
                .last_seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        })
    }

    fn logs(&self) -> std::sync::MutexGuard<'_, Vec<Arc<EventLog>>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All sessions.
pub(super) struct Sessions {
    most: usize,
    idle: Duration,
    random: SystemRandom,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    swept: Mutex<Instant>,
}

impl Sessions {
    pub(super) fn new(most: usize, idle: Duration) -> Self {
        Self {
            most,
            idle,
            random: SystemRandom::new(),
            sessions: Mutex::default(),
            swept: Mutex::new(Instant::now()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all().len()
    }

    /// Keeps a session for a connection that had its handshake. When there is no room, the session that has been idle for
    /// longest gives its place, and is returned too: its client finds out by a 404 and begins another one. `None` when all
    /// are in use, or there is no randomness.
    pub(super) fn begin(
        &self,
        connection: Arc<Connection>,
    ) -> Option<(Arc<Session>, Option<Arc<Session>>)> {
        let mut bytes = [0; 24];
        self.random.fill(&mut bytes).ok()?;
        let session = Arc::new(Session {
            id: URL_SAFE_NO_PAD.encode(bytes),
            connection,
            general: Arc::new(EventLog::new(0)),
            general_reader: tokio::sync::watch::Sender::new(0),
            streams: AtomicU64::new(0),
            logs: Mutex::default(),
            open: AtomicUsize::new(0),
            last_seen: Mutex::new(Instant::now()),
        });
        let mut sessions = self.all();
        let mut spare = None;
        if sessions.len() >= self.most {
            let idle = sessions
                .values()
                .filter_map(|session| Some((session.idle_since()?, &session.id)));
            let (_, longest) = idle.min_by_key(|(since, _)| *since)?;
            let longest = longest.clone();
            spare = sessions.remove(&longest);
        }
        sessions.insert(session.id.clone(), Arc::clone(&session));
        Some((session, spare))
    }

    /// How often it is worth looking for those that were idle for too long.
    pub(super) fn pause(&self) -> Duration {
        (self.idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(10))
    }

    /// The session of this id, when it is this principal's.
    pub(super) fn get(&self, id: &str, principal: Option<&str>) -> Option<Arc<Session>> {
        let session = self.all().get(id).cloned()?;
        if session.connection.principal.as_deref() != principal {
            return None;
        }
        session.seen();
        Some(session)
    }

    pub(super) fn remove(&self, id: &str) -> Option<Arc<Session>> {
        self.all().remove(id)
    }

    /// Takes out the sessions that were idle for too long; looks at most every few seconds.
    pub(super) fn take_idle(&self) -> Vec<Arc<Session>> {
        let now = Instant::now();
        {
            let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
            if now.duration_since(*swept) < self.pause() {
                return Vec::new();
            }
            *swept = now;
        }
        let mut gone = Vec::new();
        self.all().retain(|_, session| {
            let is_idle = session
                .idle_since()
                .is_some_and(|since| now.duration_since(since) >= self.idle);
            if is_idle {
                gone.push(Arc::clone(session));
            }
            !is_idle
        });
        gone
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_session_that_is_idle_for_longest_gives_its_place_and_one_in_use_does_not() {
        let sessions = Sessions::new(3, Duration::from_secs(3_600));
        let begin = || {
            let connection = Connection::new(1, None, CancellationToken::new());
            sessions.begin(Arc::new(connection))
        };
        let mut begun = Vec::new();
        for _ in 0..3 {
            let (session, spare) = begin().unwrap();
            assert!(spare.is_none());
            begun.push(session);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        // The first one reads a stream, the second one runs a request, the third one does nothing.
        let open = begun[0].open();
        let running = begun[1].connection.begin(&mcp_wire::Id::Number(1)).unwrap();
        let (fourth, spare) = begin().unwrap();
        assert_eq!(spare.unwrap().id, begun[2].id);
        assert!(sessions.get(&begun[2].id, None).is_none());
        let fourth_is_open = fourth.open();
        assert!(begin().is_none(), "all are in use");
        assert_eq!(sessions.len(), 3);
        drop((open, running, fourth_is_open));
        tokio::time::advance(Duration::from_millis(1)).await;
        sessions.get(&begun[1].id, None).unwrap();
        sessions.get(&fourth.id, None).unwrap();
        let (_, spare) = begin().unwrap();
        assert_eq!(
            spare.unwrap().id,
            begun[0].id,
            "it was seen before the others"
        );
    }
}
