//! Calls that run as tasks: begun, watched, collected, cancelled; on disk from their beginning, so that a daemon that
//! comes after knows of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_wire::{Object, Outcome, Raw};
use mcpx_api::{ApiError, Code};
use mcpx_config::settings::key;
use mcpx_store::tasks::{Task, TaskState, Tasks};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::hub::Hub;
use crate::ops::Reply;
use crate::ops::refused::api_error;
use crate::registry::call::{Call, Wanted};

/// Calls that run as tasks.
pub struct RunningTasks {
    store: Tasks,
    running: Mutex<HashMap<String, Running>>,
}

#[derive(Clone)]
struct Running {
    cancelled: CancellationToken,
    over: watch::Receiver<bool>,
}

impl RunningTasks {
    /// The tasks of a store; those that ran when an earlier daemon ended are marked as interrupted.
    #[must_use]
    pub fn open(store: Tasks, now: jiff::Timestamp) -> (Self, Vec<Task>, Option<String>) {
        let (recovered, problem) = match store.recover(now) {
            Ok(recovered) => (recovered, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let tasks = Self {
            store,
            running: Mutex::default(),
        };
        (tasks, recovered, problem)
    }

    /// Begins a call as a task and answers with it.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn begin(
        &self,
        hub: &Arc<Hub>,
        mut call: Call,
        ttl_ms: Option<i64>,
    ) -> Result<Reply, ApiError> {
        let now = hub.now();
        let ttl = ttl_ms
            .and_then(|ms| u64::try_from(ms).ok())
            .unwrap_or_else(|| {
                u64::try_from(hub.settings().duration(key::TASKS_TTL).as_millis())
                    .unwrap_or(u64::MAX)
            });
        let (server, tool) = named(hub, &call);
        let task = Task {
            id: mcpx_store::tasks::new_id()
                .map_err(|error| ApiError::internal(error.to_string()))?,
            owner: call.caller.session.clone().unwrap_or_default(),
            server,
            tool,
            state: TaskState::Working,
            result: None,
            message: None,
            trace: Some(call.trace.clone()),
            created: now,
            updated: now,
            ttl_ms: Some(ttl),
        };
        self.store
            .put(&task)
            .map_err(|error| ApiError::internal(format!("the task cannot be kept: {error}")))?;
        let (done, over) = watch::channel(false);
        let cancelled = CancellationToken::new();
        call.cancelled = cancelled.clone();
        self.lock()
            .insert(task.id.clone(), Running { cancelled, over });
        hub.events.publish(
            "task.updated",
            Some(&task.server),
            call.caller.session.as_deref(),
            Object::new()
                .with("id", task.id.as_str())
                .with("state", "working"),
        );
        let (hub, begun) = (Arc::clone(hub), task.clone());
        let cap = crate::ops::settings_of(&hub, &call.caller).bytes(key::RESULTS_INLINE_MAX_BYTES);
        tokio::spawn(async move {
            let _open = hub.activity.begin();
            let ended = hub.registry.call(call).await;
            hub.tasks.end(&hub, begun, cap, ended);
            let _nobody_waits = done.send(true);
        });
        Ok(Reply::Json {
            status: 202,
            body: Raw::from(Object::new().with("task", Raw::of(&task))),
        })
    }

    fn end(
        &self,
        hub: &Hub,
        mut task: Task,
        cap: u64,
        ended: Result<crate::registry::call::Done, crate::registry::call::CallError>,
    ) {
        match ended {
            Ok(done) => {
                task.server.clone_from(&done.server);
                task.tool.clone_from(&done.tool);
                task.trace = Some(done.trace.clone());
                task.state = match done.outcome {
                    Outcome::Complete(_) => TaskState::Completed,
                    _ => TaskState::InputRequired,
                };
                task.result = Some(Raw::from(crate::ops::calls::answered(
                    hub,
                    &done,
                    Some(cap),
                )));
            }
            Err(error) => {
                task.state = match error {
                    crate::registry::call::CallError::Cancelled => TaskState::Cancelled,
                    _ => TaskState::Failed,
                };
                let trace = task.trace.as_deref().unwrap_or_default();
                let error = api_error(&error).with("traceId", trace);
                task.message = Some(error.message.clone());
                task.result = Some(Raw::from(error.to_document()));
            }
        }
        task.updated = hub.now();
        // Marked as interrupted meanwhile: what the end of the daemon made of the call says nothing of its outcome.
        if !self.lock().contains_key(&task.id) {
            return;
        }
        // A result that cannot be kept is told by the next reading of the task, which finds it as interrupted.
        let kept = self.store.put(&task);
        self.lock().remove(&task.id);
        let data = Object::new()
            .with("id", task.id.as_str())
            .with("state", Raw::of(&task.state))
            .with_some("problem", kept.err().map(|error| error.to_string()));
        hub.events
            .publish("task.updated", Some(&task.server), Some(&task.owner), data);
    }

    /// Every task.
    #[must_use]
    pub fn list(&self) -> Reply {
        let listing = self.store.list();
        let rows: Vec<Raw> = listing.tasks.iter().map(summary).collect();
        Reply::json(
            Object::new().with("tasks", Raw::of(&rows)).with(
                "broken",
                Raw::of(
                    &listing
                        .broken
                        .iter()
                        .map(ToString::to_string)
                        .collect::<Vec<_>>(),
                ),
            ),
        )
    }

    /// One task.
    ///
    /// # Errors
    /// When there is none of this id.
    pub fn get(&self, id: &str) -> Result<Reply, ApiError> {
        Ok(Reply::json(
            Object::new().with("task", summary(&self.find(id)?)),
        ))
    }

    /// Waits for the result: the answer of the call, or its error.
    ///
    /// # Errors
    /// As the call's; when it is not over in time; when there is none of this id.
    pub async fn result(&self, id: &str, wait: Duration) -> Result<Reply, ApiError> {
        let running = self.lock().get(id).cloned();
        if let Some(mut running) = running {
            let over = running.over.wait_for(|over| *over);
            if tokio::time::timeout(wait, over).await.is_err() {
                return Err(ApiError::new(
                    Code::Timeout,
                    format!("`{id}` is not done after {:.1} s", wait.as_secs_f64()),
                )
                .hint(format!("it goes on; ask again: `mcpx task result {id}`"))
                .with("task", summary(&self.find(id)?)));
            }
        }
        let task = self.find(id)?;
        match (task.state, &task.result) {
            (TaskState::Completed | TaskState::InputRequired, Some(result)) => {
                Ok(Reply::json(result.clone()))
            }
            (TaskState::Failed | TaskState::Cancelled, Some(result)) => {
                let document = result.object().unwrap_or_default();
                Err(ApiError::from_document(502, &document))
            }
            _ => Err(ApiError::new(
                Code::Unprocessable,
                task.message.clone().unwrap_or_else(|| {
                    "the daemon ended while it ran: whether the server did it is unknown".to_owned()
                }),
            )
            .hint("verify before you repeat it")
            .with("delivery", "outcome_unknown")
            .with("task", summary(&task))),
        }
    }

    /// Cancels one.
    ///
    /// # Errors
    /// When there is none of this id, or it is over.
    pub fn cancel(&self, id: &str) -> Result<Reply, ApiError> {
        let running = self.lock().get(id).cloned();
        match running {
            Some(running) => {
                running.cancelled.cancel();
                Ok(Reply::ok())
            }
            None => {
                let task = self.find(id)?;
                Err(
                    ApiError::new(Code::Conflict, format!("`{id}` is over already"))
                        .with("task", summary(&task)),
                )
            }
        }
    }

    /// Removes what is over for longer than it is kept.
    pub fn sweep(&self, hub: &Hub) -> Vec<String> {
        let keep = hub.settings().duration(key::TASKS_TTL);
        let keep = jiff::SignedDuration::try_from(keep).unwrap_or(jiff::SignedDuration::MAX);
        self.store.sweep(hub.now(), keep)
    }

    /// Marks what runs as interrupted: the daemon ends, and what becomes of it is unknown.
    pub fn interrupt(&self, hub: &Hub) {
        let running: Vec<String> = self.lock().drain().map(|(id, _)| id).collect();
        if running.is_empty() {
            return;
        }
        let marked = self.store.recover(hub.now()).unwrap_or_default();
        for task in marked {
            let data = Object::new()
                .with("id", task.id.as_str())
                .with("state", Raw::of(&task.state));
            hub.events
                .publish("task.updated", Some(&task.server), Some(&task.owner), data);
        }
    }

    /// How many run.
    #[must_use]
    pub fn running(&self) -> usize {
        self.lock().len()
    }

    fn find(&self, id: &str) -> Result<Task, ApiError> {
        match self.store.get(id) {
            Ok(Some(task)) => Ok(task),
            Ok(None) => Err(ApiError::not_found(format!(
                "no task `{}`",
                untrusted_text::terminal::one_line(id, 60)
            ))
            .hint("`mcpx task list` shows those that are kept")),
            Err(error) => Err(ApiError::bad(error.to_string())),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task without its result.
fn summary(task: &Task) -> Raw {
    Raw::of(&Task {
        result: None,
        ..task.clone()
    })
}

/// The server and the tool that a call says, as far as that can be told before the server is asked.
fn named(hub: &Hub, call: &Call) -> (String, String) {
    let server = call.server.clone().unwrap_or_default();
    match &call.wanted {
        Wanted::Request { method, .. } => (server, (*method).to_owned()),
        Wanted::Tool { name, .. } if call.server.is_some() => (server, name.clone()),
        Wanted::Tool { name, .. } => match hub.registry.views().find_tool(name) {
            Ok((upstream, tool)) => (upstream.server.name.clone(), tool),
            Err(_) => (server, name.clone()),
        },
    }
}
