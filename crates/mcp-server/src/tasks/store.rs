//! The tasks that are kept: bounded in number and time, under ids that nobody can guess.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use mcp_wire::task::Status;
use mcp_wire::{Answer, Era, InputRequired, Object, Question, Raw, RpcError, error};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::Clock;
use crate::server::BUSY;

/// Who may see a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Whoever is let in under this name.
    Principal(String),
    /// One legacy session.
    Connection(u64),
    /// Whoever knows the id.
    Anyone,
}

/// One task.
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) owner: Owner,
    pub(crate) cancel: CancellationToken,
    pub(crate) ttl: Duration,
    created: Timestamp,
    poll: Duration,
    clock: Clock,
    inner: Mutex<Inner>,
    version: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    updated: Timestamp,
    message: Option<String>,
    outcome: Option<Result<Object, RpcError>>,
    cancelled: bool,
    questions: Vec<(String, Question)>,
    answers: BTreeMap<String, Answer>,
    used_keys: BTreeSet<String>,
    /// Whether a legacy client is being asked at this moment.
    is_asking: bool,
}

impl Entry {
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.inner();
        inner.updated = (self.clock)();
        let out = change(&mut inner);
        drop(inner);
        self.version.send_modify(|version| *version += 1);
        out
    }

    pub(crate) fn say(&self, message: &str) {
        self.change(|inner| inner.message = Some(message.to_owned()));
    }

    /// Puts questions into the task's state.
    pub(crate) fn pose(&self, questions: &[(String, Question)]) -> Result<(), RpcError> {
        self.change(|inner| {
            if let Some((key, _)) = questions
                .iter()
                .find(|(key, _)| inner.used_keys.contains(key))
            {
                let message = format!("the server asked twice under the key `{key}` in one task");
                return Err(RpcError::new(error::INTERNAL_ERROR, message));
            }
            inner
                .used_keys
                .extend(questions.iter().map(|(key, _)| key.clone()));
            inner.questions = questions.to_vec();
            inner.answers.clear();
            Ok(())
        })
    }

    /// The questions that have no answer yet.
    pub(crate) fn open_questions(&self) -> Vec<(String, Question)> {
        self.inner().questions.clone()
    }

    /// Takes the questions to ask a legacy client; `None` when there are none, or somebody is asking them.
    pub(crate) fn start_asking(&self) -> Option<Vec<(String, Question)>> {
        let mut inner = self.inner();
        if inner.questions.is_empty() || inner.is_asking {
            return None;
        }
        inner.is_asking = true;
        Some(inner.questions.clone())
    }

    pub(crate) fn stop_asking(&self) {
        self.change(|inner| inner.is_asking = false);
    }

    /// Takes answers to open questions; others are left alone. The first answer counts.
    pub(crate) fn answer(&self, answers: BTreeMap<String, Answer>) {
        self.change(|inner| {
            for (key, answer) in answers {
                if let Some(at) = inner.questions.iter().position(|(asked, _)| *asked == key) {
                    inner.questions.remove(at);
                    inner.answers.insert(key, answer);
                }
            }
        });
    }

    pub(crate) fn take_answers(&self) -> BTreeMap<String, Answer> {
        self.change(|inner| {
            inner.questions.clear();
            std::mem::take(&mut inner.answers)
        })
    }

    pub(crate) async fn until_answered(&self) {
        self.until(|inner| inner.questions.is_empty()).await;
    }

    /// Waits until it is over, or has questions that nobody asks.
    pub(crate) async fn until_over_or_asking(&self) {
        self.until(|inner| inner.is_over() || (!inner.questions.is_empty() && !inner.is_asking))
            .await;
    }

    async fn until(&self, holds: impl Fn(&Inner) -> bool) {
        let mut version = self.version.subscribe();
        loop {
            version.borrow_and_update();
            if holds(&self.inner()) || version.changed().await.is_err() {
                return;
            }
        }
    }

    pub(crate) fn finish(&self, outcome: Result<Object, RpcError>) {
        self.change(|inner| {
            if !inner.is_over() {
                inner.questions.clear();
                inner.outcome = Some(outcome);
            }
        });
    }

    /// Ends it on request. `false` when it was over.
    pub(crate) fn cancel(&self) -> bool {
        let was_running = self.change(|inner| {
            let was_running = !inner.is_over();
            inner.cancelled |= was_running;
            inner.questions.clear();
            was_running
        });
        self.cancel.cancel();
        was_running
    }

    pub(crate) fn outcome(&self) -> Option<Result<Object, RpcError>> {
        self.inner().outcome.clone()
    }

    /// Where it is, as this era sees it.
    pub(crate) fn status(&self, era: Era) -> Status {
        self.inner().status(era)
    }

    /// The description of this era, without `resultType`.
    pub(crate) fn describe(&self, era: Era) -> Object {
        let inner = self.inner();
        let whole = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let (ttl, poll) = match era {
            Era::Modern => ("ttlMs", "pollIntervalMs"),
            Era::Legacy => ("ttl", "pollInterval"),
        };
        let task = Object::new()
            .with("taskId", self.id.as_str())
            .with("status", inner.status(era).word())
            .with_some("statusMessage", inner.message.as_deref())
            .with("createdAt", self.created.to_string())
            .with("lastUpdatedAt", inner.updated.to_string())
            .with(ttl, whole(self.ttl))
            .with(poll, whole(self.poll));
        if era == Era::Legacy {
            return task;
        }
        match &inner.outcome {
            Some(Ok(result)) => task.with("result", result.clone()),
            Some(Err(error)) => task.with("error", error.raw().clone()),
            None if !inner.questions.is_empty() => {
                let asked = InputRequired::new(&inner.questions, None);
                task.with_some("inputRequests", asked.raw().get("inputRequests").cloned())
            }
            None => task,
        }
    }
}

impl Inner {
    fn is_over(&self) -> bool {
        self.cancelled || self.outcome.is_some()
    }

    fn status(&self, era: Era) -> Status {
        match &self.outcome {
            _ if self.cancelled => Status::Cancelled,
            None if self.questions.is_empty() => Status::Working,
            None => Status::InputRequired,
            Some(Err(_)) => Status::Failed,
            Some(Ok(result)) => {
                let is_error = result.get("isError").and_then(Raw::boolean) == Some(true);
                if is_error && era == Era::Legacy {
                    Status::Failed
                } else {
                    Status::Completed
                }
            }
        }
    }
}

/// All tasks.
pub(crate) struct Tasks {
    most: usize,
    random: SystemRandom,
    entries: Mutex<HashMap<String, Arc<Entry>>>,
}

impl Tasks {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            random: SystemRandom::new(),
            entries: Mutex::default(),
        }
    }

    /// A new task. When there is no room the oldest one that is over makes some.
    pub(crate) fn create(
        &self,
        owner: Owner,
        ttl: Duration,
        poll: Duration,
        clock: &Clock,
    ) -> Result<Arc<Entry>, RpcError> {
        let mut bytes = [0; 24];
        self.random
            .fill(&mut bytes)
            .map_err(|_| RpcError::new(error::INTERNAL_ERROR, "the system gave no randomness"))?;
        let now = clock();
        let entry = Arc::new(Entry {
            id: URL_SAFE_NO_PAD.encode(bytes),
            owner,
            cancel: CancellationToken::new(),
            ttl,
            created: now,
            poll,
            clock: Arc::clone(clock),
            inner: Mutex::new(Inner {
                updated: now,
                ..Inner::default()
            }),
            version: watch::Sender::new(0),
        });
        let mut entries = self.entries();
        if entries.len() >= self.most {
            let over = entries.values().filter(|entry| entry.inner().is_over());
            let oldest = over
                .min_by_key(|entry| entry.created)
                .map(|entry| entry.id.clone());
            let Some(oldest) = oldest else {
                let message = format!("{} tasks are running; try again later", self.most);
                return Err(RpcError::new(BUSY, message));
            };
            entries.remove(&oldest);
        }
        entries.insert(entry.id.clone(), Arc::clone(&entry));
        Ok(entry)
    }

    /// The task of this id, when `owner` may see it.
    pub(crate) fn get(&self, id: &str, owner: &Owner) -> Result<Arc<Entry>, RpcError> {
        self.entries()
            .get(id)
            .filter(|entry| entry.owner == *owner)
            .cloned()
            // The same for a task of somebody else: who asks learns nothing.
            .ok_or_else(|| {
                RpcError::invalid_params("no such task: it is unknown, or was kept long enough")
            })
    }

    /// The task of this id, for whoever was told of it.
    pub(crate) fn peek(&self, id: &str) -> Option<Arc<Entry>> {
        self.entries().get(id).cloned()
    }

    /// The tasks of `owner`, the oldest first.
    pub(crate) fn of(&self, owner: &Owner) -> Vec<Arc<Entry>> {
        let mut entries: Vec<_> = self
            .entries()
            .values()
            .filter(|entry| entry.owner == *owner)
            .cloned()
            .collect();
        entries.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        entries
    }

    pub(crate) fn remove(&self, id: &str) {
        self.entries().remove(id);
    }

    pub(crate) fn cancel_all(&self) {
        let entries: Vec<_> = self.entries().values().cloned().collect();
        for entry in entries {
            entry.cancel();
        }
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
