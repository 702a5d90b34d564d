//! Calls that go on after they were answered, in both eras: polled until they are over, their questions answered.

pub(crate) mod owners;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use mcp_wire::task::{Status, Task};
use mcp_wire::tool::TaskSupport;
use mcp_wire::{CallResult, Era, Object, Outcome, Raw, Revision, RpcError, method};

use crate::call::{CallOptions, Watched};
use crate::connection::{Connection, Inner};
use crate::failure::{Cause, Delivery, Failure, FailureKind};
use crate::questions;
use crate::transport::Broken;

/// How often a task is looked at when its server does not say.
const POLL: Duration = Duration::from_secs(1);
/// The bounds of what a server may say about that.
const POLL_BOUNDS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(30));
/// How long 2025-11-25 servers are asked to keep a task, in milliseconds.
const TTL_MS: i64 = 3_600_000;

impl Connection {
    /// Calls a tool, answers its questions, waits for its task when it becomes one.
    ///
    /// # Errors
    /// When there is no result; a result that says `isError` is a result.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Object,
        options: &CallOptions,
    ) -> Result<CallResult, Failure> {
        let inner = &self.inner;
        let watched = Watched {
            inner,
            options,
            clock: inner.clock(options),
        };
        let mut params = Object::new()
            .with("name", name)
            .with("arguments", arguments);
        if inner.wants_task(name, options).await? {
            params.set("task", Object::new().with("ttl", TTL_MS));
        }
        let complete = match watched.rounds(method::TOOLS_CALL, params).await? {
            Outcome::Complete(object) => object,
            Outcome::Task(task) => watched.see_through(task).await?,
            Outcome::InputRequired(_) => {
                return Err(inner.unreadable("it asked after the call was over"));
            }
        };
        CallResult::parse(complete).map_err(|error| inner.unreadable(&error.reason))
    }

    /// A task's present state.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn task(&self, id: &str, options: &CallOptions) -> Result<Task, Failure> {
        let result = self
            .inner
            .request(method::TASKS_GET, task_params(id), options)
            .await?;
        Task::parse(&Raw::from(result)).map_err(|error| self.inner.unreadable(&error.reason))
    }

    /// Waits for a task that an earlier call handed back, answers its questions, and gives its result.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn see_task_through(
        &self,
        task: Task,
        options: &CallOptions,
    ) -> Result<CallResult, Failure> {
        let watched = Watched {
            inner: &self.inner,
            options,
            clock: self.inner.clock(options),
        };
        let complete = watched.see_through(task).await?;
        CallResult::parse(complete).map_err(|error| self.inner.unreadable(&error.reason))
    }

    /// Asks a server to end a task.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn cancel_task(&self, id: &str, options: &CallOptions) -> Result<(), Failure> {
        self.inner
            .request(method::TASKS_CANCEL, task_params(id), options)
            .await
            .map(|_| ())
    }
}

fn task_params(id: &str) -> Object {
    Object::new().with("taskId", id)
}

impl Inner {
    /// Whether a tool of 2025-11-25 is called as a task: only when it cannot be called in another way.
    async fn wants_task(
        self: &Arc<Self>,
        name: &str,
        options: &CallOptions,
    ) -> Result<bool, Failure> {
        let agreed = self.agreed();
        if agreed.revision != Revision::V2025_11_25 || !agreed.capabilities.has("tasks") {
            return Ok(false);
        }
        let tool = match self.tool(name) {
            Some(tool) => Some(tool),
            None => {
                self.read_tools(options).await?;
                self.tool(name)
            }
        };
        Ok(tool.is_some_and(|tool| tool.task_support() == TaskSupport::Required))
    }
}

impl Watched<'_> {
    /// Polls a task until it is over. Each answer is a sign of life; giving up asks the server to end the task.
    async fn see_through(&self, task: Task) -> Result<Object, Failure> {
        let id = task.id.clone();
        let owned = self.inner.own(&id, self.options, &self.clock);
        let waited = tokio::select! {
            waited = self.poll(task) => return waited,
            () = self.options.cancelled.cancelled() => self.cancelled(Delivery::OutcomeUnknown),
            expiry = self.clock.expired() => self.expired(expiry, Delivery::OutcomeUnknown),
        };
        // Who gave up is asked nothing more.
        drop(owned);
        let goodbye = CallOptions {
            idle: Some(Duration::from_secs(2)),
            ..CallOptions::default()
        };
        let _best_effort = self
            .inner
            .exchange(method::TASKS_CANCEL, task_params(&id), &goodbye)
            .await;
        Err(waited)
    }

    async fn poll(&self, mut task: Task) -> Result<Object, Failure> {
        let legacy = self.inner.revision().era() == Era::Legacy;
        let mut answered = HashSet::new();
        loop {
            match task.status {
                // Legacy: the result is asked for, and questions come on the way to it.
                Status::Completed | Status::Failed | Status::InputRequired if legacy => {
                    return self
                        .complete(method::TASKS_RESULT, task_params(&task.id))
                        .await;
                }
                Status::Completed => return self.result_of(&task),
                Status::Failed => {
                    return Err(self.inner.fail(FailureKind::Answered(error_of(&task))));
                }
                Status::Cancelled => {
                    let why = "its task was cancelled";
                    return Err(self.inner.no_answer(Broken::new(
                        Delivery::OutcomeUnknown,
                        Cause::Cancelled,
                        why,
                    )));
                }
                Status::InputRequired => self.answer_task(&task, &mut answered).await?,
                Status::Working => {}
            }
            let pause = task
                .poll_ms
                .map_or(POLL, Duration::from_millis)
                .clamp(POLL_BOUNDS.0, POLL_BOUNDS.1);
            tokio::time::sleep(pause).await;
            let raw = self
                .complete(method::TASKS_GET, task_params(&task.id))
                .await?;
            task = Task::parse(&Raw::from(raw))
                .map_err(|error| self.inner.unreadable(&error.reason))?;
            self.clock.progress();
        }
    }

    async fn complete(&self, method: &str, params: Object) -> Result<Object, Failure> {
        let raw = self.with_repeats(method, &params).await?;
        raw.object()
            .map_err(|error| self.inner.unreadable(&error.reason))
    }

    #[expect(clippy::result_large_err, reason = "it is what every request ends in")]
    fn result_of(&self, task: &Task) -> Result<Object, Failure> {
        let result = task
            .result()
            .ok_or_else(|| self.inner.unreadable("a completed task without a result"))?;
        result
            .object()
            .map_err(|error| self.inner.unreadable(&error.reason))
    }

    /// Answers what a waiting task asks, each key once.
    async fn answer_task(
        &self,
        task: &Task,
        answered: &mut HashSet<String>,
    ) -> Result<(), Failure> {
        let Some(Ok(round)) = task.questions() else {
            return Ok(());
        };
        let fresh = |(key, _): &&mcp_wire::input::KeyedQuestion| !answered.contains(key);
        let questions: Vec<_> = round.questions.iter().filter(fresh).cloned().collect();
        if questions.is_empty() {
            return Ok(());
        }
        answered.extend(questions.iter().map(|(key, _)| key.clone()));
        let answers = questions::answer_round(self.inner, self.options, &self.clock, &questions)
            .await
            .map_err(|why| {
                self.inner
                    .no_answer(Broken::new(Delivery::OutcomeUnknown, Cause::Rounds, why))
            })?;
        let params = task_params(&task.id).with("inputResponses", answers);
        self.complete(method::TASKS_UPDATE, params)
            .await
            .map(|_| ())
    }
}

fn error_of(task: &Task) -> RpcError {
    let error = task
        .raw()
        .get("error")
        .and_then(|raw| RpcError::parse(raw).ok());
    error.unwrap_or_else(|| {
        let message = task
            .message
            .clone()
            .unwrap_or_else(|| "its task failed".to_owned());
        RpcError::new(mcp_wire::error::INTERNAL_ERROR, message)
    })
}
