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

/// How long a session has to be idle before it makes room for another, when there is none.
const SPARE: Duration = Duration::from_secs(30);

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

    /// Whether there is no room for another, after a session that nobody seems to need any more was taken out: the one
    /// that has been idle for longest, and for a while. Its client finds out by a 404 and begins another one.
    pub(super) fn make_room(&self) -> (bool, Option<Arc<Session>>) {
        let now = Instant::now();
        let mut sessions = self.all();
        if sessions.len() < self.most {
            return (true, None);
        }
        let longest_idle = sessions
            .values()
            .filter_map(|session| Some((session.idle_since()?, session)))
            .filter(|(since, _)| now.duration_since(*since) >= SPARE)
            .min_by_key(|(since, _)| *since)
            .map(|(_, session)| Arc::clone(session));
        if let Some(session) = &longest_idle {
            sessions.remove(&session.id);
        }
        (longest_idle.is_some(), longest_idle)
    }

    /// Keeps a session for a connection that had its handshake. `None` when there is no room, or no randomness.
    pub(super) fn begin(&self, connection: Arc<Connection>) -> Option<Arc<Session>> {
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
        if sessions.len() >= self.most {
            return None;
        }
        sessions.insert(session.id.clone(), Arc::clone(&session));
        Some(session)
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
            let pause = (self.idle / 4).min(Duration::from_secs(10));
            if now.duration_since(*swept) < pause {
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
    async fn a_session_that_nobody_uses_makes_room_for_another_and_one_in_use_does_not() {
        let sessions = Sessions::new(2, Duration::from_secs(3_600));
        let begin = || {
            let connection = Connection::new(1, None, CancellationToken::new());
            sessions.begin(Arc::new(connection))
        };
        let (first, second) = (begin().unwrap(), begin().unwrap());
        assert!(begin().is_none());
        // Both were begun just now.
        assert!(!sessions.make_room().0);
        tokio::time::advance(SPARE).await;
        let open = first.open();
        let (has_room, spare) = sessions.make_room();
        assert!(has_room);
        assert_eq!(spare.unwrap().id, second.id);
        assert!(sessions.get(&second.id, None).is_none());
        begin().unwrap();
        assert!(
            !sessions.make_room().0,
            "one is open, and one was begun just now"
        );
        drop(open);
        tokio::time::advance(SPARE).await;
        assert!(sessions.make_room().0);
    }
}
