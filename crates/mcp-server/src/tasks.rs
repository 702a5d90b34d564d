//! Calls that go on after they were answered: kept, asked about, answered, ended; in the shapes of both eras.

mod methods;
mod store;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mcp_wire::{Answer, ClientCapabilities, Object, Question, Revision, RpcError, error};
use tokio_util::sync::CancellationToken;

pub(crate) use methods::legacy_ttl;
pub(crate) use store::{Entry, Owner, Tasks};

use crate::ask::{self, LegacyAsk, NO_ANSWER_IN_TIME};
use crate::context::required;
use crate::{Limits, Notifier};

type Run = dyn FnOnce(TaskContext) -> Pin<Box<dyn Future<Output = Result<Object, RpcError>> + Send>>
    + Send;

/// Work that may become a task.
pub struct TaskWork {
    pub(crate) run: Box<Run>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) poll: Duration,
}

impl std::fmt::Debug for TaskWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskWork").finish_non_exhaustive()
    }
}

impl TaskWork {
    /// Work whose result is a complete result of the request, in the newest shape.
    pub fn new<F, Fut>(run: F) -> Self
    where
        F: FnOnce(TaskContext) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Object, RpcError>> + Send + 'static,
    {
        Self {
            run: Box::new(|context| Box::pin(run(context))),
            ttl: None,
            poll: Duration::from_secs(1),
        }
    }

    /// How long the task is kept after it was made, at most [`Limits::task_ttl`].
    #[must_use]
    pub fn kept_for(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// How often a client should look.
    #[must_use]
    pub fn polled_every(mut self, poll: Duration) -> Self {
        self.poll = poll;
        self
    }
}

/// What the work of a task can do while it runs.
#[derive(Clone)]
pub struct TaskContext {
    pub(crate) asker: Asker,
    pub(crate) cancelled: CancellationToken,
    pub(crate) limits: Arc<Limits>,
}

/// Whom the work asks.
#[derive(Clone)]
pub(crate) enum Asker {
    /// The questions are a part of the task's state.
    Task {
        entry: Arc<Entry>,
        notifier: Notifier,
        capabilities: ClientCapabilities,
        revision: Revision,
    },
    /// The work is waited for by a legacy client.
    Legacy {
        ask: LegacyAsk,
        capabilities: ClientCapabilities,
    },
    /// The work is waited for by a modern client, which can be asked in a task only.
    Nobody,
}

impl std::fmt::Debug for TaskContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskContext").finish_non_exhaustive()
    }
}

impl TaskContext {
    /// Cancelled when the client no longer wants the result.
    #[must_use]
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// The id of the task; `None` when the work is waited for.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match &self.asker {
            Asker::Task { entry, .. } => Some(&entry.id),
            _ => None,
        }
    }

    /// Says in words where the work is.
    pub fn say(&self, message: &str) {
        if let Asker::Task {
            entry, notifier, ..
        } = &self.asker
        {
            entry.say(message);
            notifier.task_changed(&entry.id);
        }
    }

    /// Asks the client and waits for all of the answers. One that the client could not answer, or not in time, is
    /// [`Answer::Failed`].
    ///
    /// # Errors
    /// When the client did not declare what a question needs, when a key was used before in this task, when a modern
    /// client that takes no tasks waits for the work, or when the task was cancelled.
    pub async fn ask(
        &self,
        questions: Vec<(String, Question)>,
    ) -> Result<BTreeMap<String, Answer>, RpcError> {
        match &self.asker {
            Asker::Nobody => Err(RpcError::new(
                error::MISSING_CLIENT_CAPABILITY,
                "the request has to ask in mid-work, which needs the tasks extension",
            )
            .with_data(required(&[
                "extensions",
                mcp_wire::capability::TASKS_EXTENSION,
            ]))),
            Asker::Legacy { ask, capabilities } => {
                for (_, question) in &questions {
                    ask::check(question, capabilities, ask.revision)?;
                }
                Ok(ask.all(&questions, &self.limits).await)
            }
            Asker::Task {
                entry,
                notifier,
                capabilities,
                revision,
            } => {
                for (_, question) in &questions {
                    ask::check(question, capabilities, *revision)?;
                }
                entry.pose(&questions)?;
                notifier.task_changed(&entry.id);
                let answers = tokio::select! {
                    () = entry.until_answered() => entry.take_answers(),
                    () = self.cancelled.cancelled() => return Err(cancelled()),
                    () = tokio::time::sleep(self.limits.answer) => entry.take_answers(),
                };
                notifier.task_changed(&entry.id);
                Ok(with_missing(answers, &questions))
            }
        }
    }
}

pub(crate) fn cancelled() -> RpcError {
    RpcError::new(error::INTERNAL_ERROR, "the task was cancelled")
}

fn with_missing(
    mut answers: BTreeMap<String, Answer>,
    questions: &[(String, Question)],
) -> BTreeMap<String, Answer> {
    for (key, _) in questions {
        answers.entry(key.clone()).or_insert_with(|| {
            Answer::Failed(RpcError::new(
                NO_ANSWER_IN_TIME,
                "the client did not answer in time",
            ))
        });
    }
    answers
}
