//! Commands that run in the background of a session.
//!
//! A task is started by `bash`, read and ended by `task`, and ended as a whole tree with the session at the latest. Its
//! output goes to the archive as it comes and is read from there, so memory stays small whatever it prints. A task that
//! ended by itself is news, told once.

use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{Keeper, ToolError, bash::outcome, commands::Ready};

/// Most tasks that run at a time.
const MAX_RUNNING: usize = 16;

/// How long the end of all tasks may take: asking, killing, and the last output.
const END: Duration = Duration::from_secs(6);

/// What the answer of a call begins with that started a task; the task's id follows, then a semicolon.
pub const STARTED: &str = "[runs in the background as task ";

/// What the news of a task's end begin with; the task's id follows, then a blank.
pub const ENDED: &str = "Background task ";

/// Longest part of a line that is quoted, in characters.
const QUOTE: usize = 80;

/// The tasks of a session.
#[derive(Debug, Default)]
pub struct Tasks {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    last: u32,
    tasks: BTreeMap<u32, Entry>,
    /// What else should be told.
    news: Vec<String>,
    /// Set when the session ends: nothing starts any more.
    closed: bool,
}

struct Entry {
    line: String,
    begun: Instant,
    cancel: CancellationToken,
    output: Arc<Mutex<Box<dyn Keeper>>>,
    /// How it ended, in words, once it has.
    ended: watch::Receiver<Option<String>>,
    /// How much of the output was read, in bytes.
    read: u64,
    /// Whether its end was told.
    is_told: bool,
}

/// A task as it stands.
#[derive(Debug)]
pub struct Look {
    /// How it ended, such as `[exit 0, 3.2 s]`; none while it runs.
    pub ended: Option<String>,
    /// How long it has run by now, or ran.
    pub age: Duration,
    /// The output kept so far, and from where on it was not read yet, in bytes; or why it cannot be read.
    pub output: Result<(File, u64), String>,
}

impl Tasks {
    /// Starts a task and returns its id. Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ToolError::Refused`] when too many run, or the session is ending.
    pub(crate) fn start(
        self: &Arc<Self>,
        line: &str,
        ready: Ready,
        timeout: Duration,
        keeper: Box<dyn Keeper>,
    ) -> Result<String, ToolError> {
        let mut inner = self.lock();
        let running = inner
            .tasks
            .values()
            .filter(|entry| !entry.has_ended())
            .count();
        if inner.closed {
            return Err(ToolError::Refused("the session is ending".to_owned()));
        }
        if running >= MAX_RUNNING {
            return Err(ToolError::Refused(format!(
                "{running} tasks run already, which is the most\nhint: end one that is not needed any more"
            )));
        }
        inner.last += 1;
        let id = inner.last;
        let (told, ended) = watch::channel(None);
        let output = Arc::new(Mutex::new(keeper));
        let cancel = CancellationToken::new();
        inner.tasks.insert(
            id,
            Entry {
                line: line.to_owned(),
                begun: Instant::now(),
                cancel: cancel.clone(),
                output: Arc::clone(&output),
                ended,
                read: 0,
                is_told: false,
            },
        );
        drop(inner);
        tokio::spawn(async move {
            let sink = Arc::clone(&output);
            let ran = ready
                .run(timeout, &cancel, &mut |bytes: &[u8]| {
                    lock(&sink).write(bytes);
                })
                .await;
            let mut words = match ran {
                Ok(ran) => outcome::text(&ran, timeout)
                    .trim_start_matches('\n')
                    .to_owned(),
                Err(error) => format!("[could not run: {error}]"),
            };
            if let Err(problem) = lock(&output).finish() {
                words.push_str(&format!("\n[its output could not be kept: {problem}]"));
            }
            told.send_replace(Some(words));
        });
        Ok(format!("t{id}"))
    }

    /// Waits until a task has ended, at most `limit`.
    ///
    /// # Errors
    ///
    /// [`ToolError::NotFound`] names the tasks there are.
    pub async fn wait(&self, id: &str, limit: Duration) -> Result<(), ToolError> {
        let mut ended = {
            let mut inner = self.lock();
            inner.entry(id)?.ended.clone()
        };
        // That it still runs is told by looking at it.
        let _still_runs = tokio::time::timeout(limit, ended.wait_for(Option::is_some)).await;
        Ok(())
    }

    /// Asks a task to end, with everything it started.
    ///
    /// # Errors
    ///
    /// [`ToolError::NotFound`] names the tasks there are.
    pub fn end(&self, id: &str) -> Result<(), ToolError> {
        self.lock().entry(id)?.cancel.cancel();
        Ok(())
    }

    /// Looks at a task. Its end counts as told.
    ///
    /// # Errors
    ///
    /// [`ToolError::NotFound`] names the tasks there are.
    pub fn look(&self, id: &str) -> Result<Look, ToolError> {
        let mut inner = self.lock();
        let entry = inner.entry(id)?;
        let ended = entry.ended.borrow().clone();
        entry.is_told |= ended.is_some();
        let read = entry.read;
        let output = lock(&entry.output).open().map(|file| (file, read));
        Ok(Look {
            ended,
            age: entry.begun.elapsed(),
            output,
        })
    }

    /// Remembers up to where a task's output was read, in bytes.
    pub fn read_to(&self, id: &str, bytes: u64) {
        if let Ok(entry) = self.lock().entry(id) {
            entry.read = bytes;
        }
    }

    /// Has something told with the next news.
    pub fn tell(&self, news: String) {
        self.lock().news.push(news);
    }

    /// Returns what should be told: the tasks that ended by themselves since the last time, one text each.
    pub fn news(&self) -> Vec<String> {
        let mut inner = self.lock();
        let mut news = std::mem::take(&mut inner.news);
        for (id, entry) in &mut inner.tasks {
            if entry.is_told {
                continue;
            }
            if let Some(words) = entry.ended.borrow().as_deref() {
                entry.is_told = true;
                news.push(format!(
                    "{ENDED}t{id} (`{}`) has ended: {words}",
                    quote(&entry.line)
                ));
            }
        }
        news
    }

    /// Ends every task that runs and starts no more. Returns which were ended, in words.
    pub async fn end_all(&self) -> Vec<String> {
        let mut running = Vec::new();
        {
            let mut inner = self.lock();
            inner.closed = true;
            for (id, entry) in &inner.tasks {
                if !entry.has_ended() {
                    entry.cancel.cancel();
                    running.push((*id, quote(&entry.line), entry.ended.clone()));
                }
            }
        }
        let until = tokio::time::Instant::now() + END;
        let mut words = Vec::new();
        for (id, line, mut ended) in running {
            let end = tokio::time::timeout_at(until, ended.wait_for(Option::is_some)).await;
            let how = match end {
                Ok(_) => "",
                Err(_) => ", which still runs",
            };
            words.push(format!("t{id} (`{line}`){how}"));
        }
        words
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn entry(&mut self, id: &str) -> Result<&mut Entry, ToolError> {
        let number = id.trim().trim_start_matches('t').parse::<u32>().ok();
        let known: Vec<String> = self.tasks.keys().map(|id| format!("t{id}")).collect();
        number
            .and_then(|number| self.tasks.get_mut(&number))
            .ok_or_else(|| {
                let known = if known.is_empty() {
                    "none was started".to_owned()
                } else {
                    format!("the tasks are {}", known.join(", "))
                };
                ToolError::NotFound(format!("there is no task `{}`; {known}", quote(id)))
            })
    }
}

impl Entry {
    fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

fn lock(output: &Mutex<Box<dyn Keeper>>) -> MutexGuard<'_, Box<dyn Keeper>> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

fn quote(line: &str) -> String {
    untrusted_text::terminal::one_line(line, QUOTE)
}
