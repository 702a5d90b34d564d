//! The requests about tasks, and the making of one.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use mcp_wire::{Answer, Era, Object, Raw, Request, RpcError, error, meta, method};

use super::{Asker, Entry, Owner, TaskContext, TaskWork, cancelled};
use crate::ask::{self, LegacyAsk};
use crate::call::Caller;
use crate::{Context, Server, spell};

/// `params.task.ttl` of 2025-11-25.
pub(crate) fn legacy_ttl(task: &Raw) -> Option<Duration> {
    let ttl = task.object().ok()?.get("ttl")?.integer()?;
    Some(Duration::from_millis(u64::try_from(ttl).ok()?))
}

impl Server {
    fn owner(caller: &Caller, era: Era) -> Owner {
        match (&caller.principal, &caller.connection, era) {
            (Some(principal), ..) => Owner::Principal(principal.clone()),
            (None, Some(connection), Era::Legacy) => Owner::Connection(connection.number),
            _ => Owner::Anyone,
        }
    }

    /// Whether a modern client may hear of a task.
    pub(crate) fn sees_task(&self, id: &str, caller: &Caller) -> bool {
        self.tasks
            .get(id, &Self::owner(caller, Era::Modern))
            .is_ok()
    }

    /// Makes a task of work and answers with it.
    pub(crate) fn start_task(
        &self,
        work: TaskWork,
        asked_ttl: Option<Duration>,
        context: &Context,
        caller: &Caller,
        method: &str,
    ) -> Result<Object, RpcError> {
        let era = context.era();
        let most = self.task_ttl();
        let ttl = work.ttl.or(asked_ttl).unwrap_or(most).min(most);
        let owner = Self::owner(caller, era);
        let entry = self
            .tasks
            .create(owner, ttl, work.poll, &self.config.clock)?;
        if let (Era::Legacy, Some(connection)) = (era, &caller.connection)
            && let Some(mailbox) = connection.mailbox()
        {
            mailbox.filter(|filter| filter.tasks.insert(entry.id.clone()));
        }
        let asker = Asker::Task {
            entry: Arc::clone(&entry),
            notifier: self.notifier.clone(),
            capabilities: context.client_capabilities.clone(),
            revision: context.revision,
        };
        let run = self.work(work, asker, entry.cancel.clone());
        let server = self.clone();
        let (running, method, revision) = (Arc::clone(&entry), method.to_owned(), context.revision);
        let mailbox = caller
            .connection
            .as_ref()
            .and_then(|connection| connection.mailbox().cloned());
        let described = entry.describe(era);
        self.running.spawn(async move {
            let started = tokio::time::Instant::now();
            let mut run = std::pin::pin!(run);
            let outcome = tokio::select! {
                outcome = run.as_mut() => outcome,
                () = tokio::time::sleep(running.ttl) => {
                    running.cancel.cancel();
                    let _too_late = run.await;
                    let message = "the task ran longer than it is kept";
                    Err(RpcError::new(error::INTERNAL_ERROR, message))
                }
            };
            let offer = server.offer();
            running.finish(match outcome {
                Ok(result) => Ok(spell::complete(result, &method, revision, None, &offer)),
                Err(error) => Err(spell::error(error, revision)),
            });
            server.notifier.task_changed(&running.id);
            tokio::select! {
                () = tokio::time::sleep_until(started + running.ttl) => {}
                () = server.closing.cancelled() => {}
            }
            server.tasks.remove(&running.id);
            if let Some(mailbox) = mailbox {
                mailbox.filter(|filter| filter.tasks.remove(&running.id));
            }
        });
        Ok(match era {
            Era::Modern => {
                let mut result = described.with("resultType", "task");
                meta::set(
                    &mut result,
                    meta::SERVER_INFO,
                    self.offer().info.raw().clone(),
                );
                result
            }
            Era::Legacy => Object::new().with("task", described),
        })
    }

    /// Waits for work that does not become a task.
    pub(crate) async fn wait_for(
        &self,
        work: TaskWork,
        context: &Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        let asker = match (context.era(), &caller.connection) {
            (Era::Legacy, Some(connection)) => Asker::Legacy {
                ask: LegacyAsk {
                    connection: Arc::clone(connection),
                    stream: caller.stream.clone(),
                    cancelled: caller.cancelled.clone(),
                    revision: context.revision,
                    related_task: None,
                },
                capabilities: context.client_capabilities.clone(),
            },
            _ => Asker::Nobody,
        };
        let run = self.work(work, asker, context.cancelled.clone());
        match tokio::time::timeout(self.limits().call, run).await {
            Ok(outcome) => outcome,
            Err(_) => Err(RpcError::new(
                error::INTERNAL_ERROR,
                "the request ran too long",
            )),
        }
    }

    /// The work, ended by a panic as by an error, and dropped some time after it was cancelled.
    fn work(
        &self,
        work: TaskWork,
        asker: Asker,
        token: tokio_util::sync::CancellationToken,
    ) -> impl Future<Output = Result<Object, RpcError>> + use<> {
        let limits = Arc::new(self.limits().clone());
        let grace = limits.grace;
        let context = TaskContext {
            asker,
            cancelled: token.clone(),
            limits,
        };
        let run = std::panic::AssertUnwindSafe((work.run)(context)).catch_unwind();
        async move {
            tokio::select! {
                biased;
                outcome = run => outcome.unwrap_or_else(|_| {
                    Err(RpcError::new(error::INTERNAL_ERROR, "the server failed while it worked on the task"))
                }),
                () = async {
                    token.cancelled().await;
                    tokio::time::sleep(grace).await;
                } => Err(cancelled()),
            }
        }
    }

    /// `tasks/*` of the modern era.
    pub(crate) fn modern_task(
        &self,
        request: &Request,
        context: &Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        if !context.takes_tasks() {
            let path = ["extensions", mcp_wire::capability::TASKS_EXTENSION];
            let message = format!(
                "`{}` needs the tasks extension, which the client did not declare",
                request.method
            );
            return Err(RpcError::new(error::MISSING_CLIENT_CAPABILITY, message)
                .with_data(crate::context::required(&path)));
        }
        let entry = self.task_of(&request.params, caller, Era::Modern)?;
        let mut result = match request.method.as_str() {
            method::TASKS_GET => entry.describe(Era::Modern),
            method::TASKS_UPDATE => {
                self.update_task(&entry, &request.params)?;
                Object::new()
            }
            method::TASKS_CANCEL => {
                if entry.cancel() {
                    self.notifier.task_changed(&entry.id);
                }
                Object::new()
            }
            other => return Err(RpcError::method_not_found(other)),
        };
        result.set("resultType", "complete");
        Ok(result)
    }

    fn update_task(&self, entry: &Entry, params: &Object) -> Result<(), RpcError> {
        let responses = params
            .get("inputResponses")
            .ok_or_else(|| RpcError::invalid_params("`tasks/update` without `inputResponses`"))?;
        let kinds: Vec<_> = entry
            .open_questions()
            .iter()
            .map(|(key, question)| (key.clone(), ask::kind_of(question).to_owned()))
            .collect();
        entry.answer(ask::read_answers(Some(responses), Some(&kinds))?);
        self.notifier.task_changed(&entry.id);
        Ok(())
    }

    fn task_of(&self, params: &Object, caller: &Caller, era: Era) -> Result<Arc<Entry>, RpcError> {
        let id = params
            .string("taskId")
            .ok_or_else(|| RpcError::invalid_params("`taskId` is missing"))?;
        self.tasks.get(&id, &Self::owner(caller, era))
    }

    /// `tasks/*` of 2025-11-25.
    pub(crate) async fn legacy_task(
        &self,
        request: &Request,
        context: &Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        let params = &request.params;
        match request.method.as_str() {
            method::TASKS_LIST => {
                if params.contains("cursor") {
                    return Err(RpcError::invalid_params(
                        "no such cursor: the list of tasks has one page",
                    ));
                }
                let tasks = self.tasks.of(&Self::owner(caller, Era::Legacy));
                let tasks: Vec<Raw> = tasks
                    .iter()
                    .map(|entry| Raw::from(entry.describe(Era::Legacy)))
                    .collect();
                Ok(Object::new().with("tasks", Raw::of(&tasks)))
            }
            method::TASKS_GET => Ok(self
                .task_of(params, caller, Era::Legacy)?
                .describe(Era::Legacy)),
            method::TASKS_CANCEL => {
                let entry = self.task_of(params, caller, Era::Legacy)?;
                if !entry.cancel() {
                    let status = entry.status(Era::Legacy).word();
                    return Err(RpcError::invalid_params(format!(
                        "the task is over: it is {status}"
                    )));
                }
                self.notifier.task_changed(&entry.id);
                Ok(entry.describe(Era::Legacy))
            }
            method::TASKS_RESULT => {
                let entry = self.task_of(params, caller, Era::Legacy)?;
                self.task_result(&entry, context, caller).await
            }
            other => Err(RpcError::method_not_found(other)),
        }
    }

    /// Waits for a task, and asks what it has to ask on the stream of this request.
    async fn task_result(
        &self,
        entry: &Arc<Entry>,
        context: &Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        loop {
            tokio::select! {
                () = entry.until_over_or_asking() => {}
                () = caller.cancelled.cancelled() => return Err(cancelled()),
                () = tokio::time::sleep(self.task_ttl()) => return Err(cancelled()),
            }
            let (Some(questions), Some(connection)) = (entry.start_asking(), &caller.connection)
            else {
                if entry.status(Era::Legacy).is_over() {
                    break;
                }
                continue;
            };
            let asking = StopsAsking(entry);
            let ask = LegacyAsk {
                connection: Arc::clone(connection),
                stream: caller.stream.clone(),
                cancelled: caller.cancelled.clone(),
                revision: context.revision,
                related_task: Some(entry.id.clone()),
            };
            let mut answers = ask.all(&questions, self.limits()).await;
            if caller.cancelled.is_cancelled() {
                // Whoever asks next for the result is asked again.
                answers.retain(|_, answer| !matches!(answer, Answer::Failed(_)));
            }
            entry.answer(answers);
            drop(asking);
        }
        match entry.outcome() {
            Some(Ok(mut result)) => {
                let related = Object::new().with("taskId", entry.id.as_str());
                meta::set(&mut result, meta::RELATED_TASK, related);
                Ok(result)
            }
            Some(Err(error)) => Err(error),
            None => Err(cancelled()),
        }
    }
}

/// Lets the next one ask, also when this one is dropped in the middle.
struct StopsAsking<'a>(&'a Entry);

impl Drop for StopsAsking<'_> {
    fn drop(&mut self) {
        self.0.stop_asking();
    }
}
