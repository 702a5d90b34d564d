//! The hub's log: JSON Lines under `logs/`, written by one thread behind a bounded queue.
//!
//! [`Log::write`] never fails, blocks or panics. What does not fit the queue or the disk is counted, and one record tells
//! about it as soon as the disk takes records again. Arguments and results of calls have no field here; registered
//! secrets and values with the names of secrets are replaced before anything is written.
//!
//! Each writer has a file of its own, which it locks; several daemons may share the folder. The files are the truth, the
//! [`index`] is made from them when somebody asks.

mod cursor;
mod files;
pub mod index;
mod line;
mod queue;
mod record;
mod redaction;
mod writer;

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU8, AtomicU64, Ordering},
        mpsc::{Receiver, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use jiff::SignedDuration;
use untrusted_text::redact::Redactor;

pub use cursor::{Cursor, News};
pub use line::Entry;
pub use record::{Ended, Level, Record, event};

use self::queue::{Message, NotTaken, Queue};

use crate::{Clock, StateDir};

/// How long the last owner of a log waits for what is in the queue.
const CLOSE: Duration = Duration::from_secs(2);

/// How long to wait between two tries to put something into a full queue, where waiting is allowed.
const STEP: Duration = Duration::from_millis(1);

/// How much is kept.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Size after which a file is followed by another, in bytes.
    pub max_bytes: u64,
    /// Age after which a file is followed by another.
    pub max_age: SignedDuration,
    /// Lines after which a file is followed by another.
    pub max_lines: u64,
    /// Files that are kept, the one that is written included. One that another daemon writes stays beyond that.
    pub keep: usize,
    /// Records that may wait for the disk; what comes while so many wait is lost, and counted.
    pub queue: usize,
    /// Records below this level are dropped.
    pub level: Level,
    /// Finds secrets.
    pub redactor: Redactor,
}

impl Default for LogOptions {
    /// 16 MB, 24 hours, a million lines; 8 files; 4,096 waiting records; from `info` on.
    fn default() -> Self {
        Self {
            max_bytes: 16 << 20,
            max_age: SignedDuration::from_hours(24),
            max_lines: 1_000_000,
            keep: 8,
            queue: 4_096,
            level: Level::Info,
            redactor: Redactor::default(),
        }
    }
}

/// An open log. Clones write to the same file; the last one waits up to two seconds for what is in the queue.
#[derive(Clone)]
pub struct Log {
    inner: Arc<Inner>,
}

/// How a log fares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogHealth {
    /// Records that were written.
    pub written: u64,
    /// Records that were lost because too many waited.
    pub lost_queue: u64,
    /// Records that were lost because the disk refused them.
    pub lost_disk: u64,
    /// What the disk said, while it refuses.
    pub failing: Option<String>,
}

struct Inner {
    queue: Arc<Queue>,
    shared: Arc<Shared>,
    clock: Clock,
    /// Hears when the writer has ended.
    ended: Mutex<Receiver<()>>,
}

/// What the writer and the callers both see.
struct Shared {
    redactor: RwLock<Redactor>,
    level: AtomicU8,
    written: AtomicU64,
    lost_queue: AtomicU64,
    lost_disk: AtomicU64,
    failing: Mutex<Option<String>>,
}

impl Log {
    /// Opens the log of a state directory. Never fails: where nothing can be written, records are counted as lost until
    /// something can.
    #[must_use]
    pub fn open(state: &StateDir, options: LogOptions, clock: Clock) -> Self {
        let queue = Arc::new(Queue::new(options.queue));
        let (ending, ended) = sync_channel(1);
        let shared = Arc::new(Shared {
            redactor: RwLock::new(options.redactor.clone()),
            level: AtomicU8::new(options.level as u8),
            written: AtomicU64::new(0),
            lost_queue: AtomicU64::new(0),
            lost_disk: AtomicU64::new(0),
            failing: Mutex::new(None),
        });
        let writer = writer::Writer::new(&state.logs_dir(), options, Arc::clone(&shared));
        let started = thread::Builder::new().name("hub-log".to_owned()).spawn({
            let queue = Arc::clone(&queue);
            move || {
                writer.run(&queue);
                drop(ending);
            }
        });
        if let Err(error) = started {
            // Every record counts as lost.
            queue.deafen();
            shared.set_failing(Some(format!("no thread to write with: {error}")));
        }
        Self {
            inner: Arc::new(Inner {
                queue,
                shared,
                clock,
                ended: Mutex::new(ended),
            }),
        }
    }

    /// Says whether a record of this level would be written; for who wants to spare making one.
    #[must_use]
    pub fn takes(&self, level: Level) -> bool {
        level as u8 >= self.inner.shared.level.load(Ordering::Relaxed)
    }

    /// Hands a record to the writer.
    pub fn write(&self, record: Record) {
        if !self.takes(record.level) {
            return;
        }
        let shared = &self.inner.shared;
        let message = Message::Record(Box::new(((self.inner.clock)(), record)));
        match self.inner.queue.put(message) {
            Ok(()) => {}
            Err(NotTaken::Full) => {
                shared.lost_queue.fetch_add(1, Ordering::Relaxed);
            }
            Err(NotTaken::Gone) => {
                shared.lost_disk.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Changes which records are taken.
    pub fn set_level(&self, level: Level) {
        self.inner
            .shared
            .level
            .store(level as u8, Ordering::Relaxed);
    }

    /// Changes which secrets are known; for records that are not written yet too.
    pub fn set_redactor(&self, redactor: Redactor) {
        let mut known = self
            .inner
            .shared
            .redactor
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *known = redactor;
    }

    /// Says how the log fares.
    #[must_use]
    pub fn health(&self) -> LogHealth {
        let shared = &self.inner.shared;
        LogHealth {
            written: shared.written.load(Ordering::Relaxed),
            lost_queue: shared.lost_queue.load(Ordering::Relaxed),
            lost_disk: shared.lost_disk.load(Ordering::Relaxed),
            failing: shared
                .failing
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        }
    }

    /// Waits until everything before this was handed to the system, or lost. Returns whether that was within `timeout`.
    /// Blocks.
    #[must_use]
    pub fn flush(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let (reply, answer) = sync_channel(1);
        loop {
            match self.inner.queue.put(Message::Flush(reply.clone())) {
                Ok(()) => break,
                Err(NotTaken::Full) if Instant::now() < deadline => thread::sleep(STEP),
                Err(_) => return false,
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        answer.recv_timeout(left).is_ok()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.queue.close();
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        // An error says that the writer has ended, or that the disk hangs; then it ends with the process.
        let _ = ended.recv_timeout(CLOSE);
    }
}

impl Shared {
    fn redactor(&self) -> Redactor {
        self.redactor
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_failing(&self, reason: Option<String>) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}

/// Says whether a path is one of the log's files, by its name.
fn is_log_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.ends_with(".jsonl") && !name.starts_with('.'))
}

#[cfg(test)]
mod tests;
