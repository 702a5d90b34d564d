//! The life of a call: the one road to an upstream, whatever surface it comes from.
//!
//! Resolve which server and tool is meant, choose which instance, confirm that it may happen, lease the instance, send,
//! explain what the server refused, release. Each is a phase of its own, in this order, in [`Registry::call`]; nothing
//! goes around it. Only what was provably not sent is sent again by itself, once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_client::call::{OnLog, OnProgress};
use mcp_client::{Ask, CallOptions, Connection, Delivery, Failure, FailureKind};
use mcp_wire::tool::TaskSupport;
use mcp_wire::{Object, Outcome, Raw, method};
use mcpx_api::Caller;
use mcpx_config::{Reach, Scope, Server};
use tokio_util::sync::CancellationToken;

use super::explain::Finding;
use super::known::{KnownTool, Spelled};
use super::lease::Lease;
use super::notices::{CallRecord, Notices};
use super::pool::{LeaseError, Wait};
use super::scope::{Scoped, key_of};
use super::trace::Trace;
use super::upstream::{Backing, Reading, Upstream};
use super::{Registry, explain};

/// What is asked of an upstream.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// A call of a tool, as people or models spell it.
    Tool {
        /// The tool, or `namespace.tool` when no server is named.
        name: String,
        /// Its arguments.
        arguments: Object,
    },
    /// Any other request, as it is.
    Request {
        /// `prompts/get`, `resources/read`, …
        method: &'static str,
        /// Its params.
        params: Object,
    },
}

/// Told that a call became a task. Must not block.
pub type OnTask = Arc<dyn Fn() + Send + Sync>;

/// One call, on its way to an upstream.
#[derive(Clone)]
pub struct Call {
    /// The server's name or namespace; may be left out for a tool.
    pub server: Option<String>,
    /// What is asked.
    pub wanted: Wanted,
    /// More members of the params: `inputResponses`, `requestState`.
    pub more: Object,
    /// Keys of `_meta` that the client sent, the trace keys included.
    pub meta: Object,
    /// Who asks.
    pub caller: Caller,
    /// Who answers the server's questions in this call; `None`: nobody can.
    pub ask: Option<Arc<dyn Ask>>,
    /// Told about progress.
    pub on_progress: Option<OnProgress>,
    /// Told about log lines that are this call's beyond doubt.
    pub on_log: Option<OnLog>,
    /// Told when the server made a task of the call, which is then waited for. With [`Call::hand_back`] it also says that
    /// the caller takes tasks.
    pub on_task: Option<OnTask>,
    /// From which severity on the server may log during this call.
    pub log_level: Option<String>,
    /// Cancels it.
    pub cancelled: CancellationToken,
    /// Whether the questions of a modern server come back as they are, instead of being answered by [`Call::ask`]. A
    /// task is waited for in any case: it may live in the instance that was leased.
    pub hand_back: bool,
    /// Instead of the server's time for a call.
    pub timeout: Option<Duration>,
}

impl Call {
    /// A call of a tool, by somebody who only waits.
    #[must_use]
    pub fn tool(server: Option<String>, name: impl Into<String>, arguments: Object) -> Self {
        Self::new(
            server,
            Wanted::Tool {
                name: name.into(),
                arguments,
            },
        )
    }

    /// Any other request, by somebody who only waits.
    #[must_use]
    pub fn request(server: impl Into<String>, method: &'static str, params: Object) -> Self {
        Self::new(Some(server.into()), Wanted::Request { method, params })
    }

    fn new(server: Option<String>, wanted: Wanted) -> Self {
        Self {
            server,
            wanted,
            more: Object::new(),
            meta: Object::new(),
            caller: Caller::default(),
            ask: None,
            on_progress: None,
            on_log: None,
            on_task: None,
            log_level: None,
            cancelled: CancellationToken::new(),
            hand_back: false,
            timeout: None,
        }
    }
}

/// A call that was answered.
#[derive(Debug, Clone)]
pub struct Done {
    /// What the server answered.
    pub outcome: Outcome,
    /// The server, by its configured name.
    pub server: String,
    /// The tool, by its server's name for it; the method of anything else.
    pub tool: String,
    /// Which instance did it.
    pub instance: String,
    /// The span in the log.
    pub trace: String,
    /// How long it took, waiting for an instance included.
    pub took: Duration,
    /// What is known about an answer that says the call failed.
    pub findings: Vec<Finding>,
}

impl Done {
    /// Whether the server says that the tool failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match &self.outcome {
            Outcome::Complete(result) => result
                .get("isError")
                .and_then(Raw::boolean)
                .unwrap_or(false),
            Outcome::InputRequired(_) | Outcome::Task(_) => false,
        }
    }
}

/// A call without an answer.
#[derive(Debug, Clone)]
pub enum CallError {
    /// No server of this name.
    UnknownServer {
        /// As it was spelled.
        spelled: String,
        /// Those that are spelled nearly so.
        near: Vec<String>,
        /// All there are.
        all: Vec<String>,
    },
    /// No tool of this name, and the server's tools are known.
    UnknownTool {
        /// The server's namespace.
        namespace: String,
        /// As it was spelled.
        spelled: String,
        /// Those that are spelled nearly so.
        near: Vec<String>,
        /// What the history knows of a tool that was there.
        findings: Vec<Finding>,
    },
    /// Several tools may be meant.
    Several {
        /// As it was spelled.
        spelled: String,
        /// What it may mean.
        candidates: Vec<String>,
    },
    /// The configuration hides the tool.
    Hidden {
        /// The server's namespace.
        namespace: String,
        /// The tool.
        tool: String,
    },
    /// The server cannot be used as it is configured.
    Unavailable {
        /// The server.
        server: String,
        /// Why.
        why: String,
        /// What to do.
        hint: Option<String>,
    },
    /// There was no room.
    Exhausted {
        /// The server.
        server: String,
        /// In words: how many there are, who holds them, how long was waited.
        why: String,
    },
    /// It took too long before it reached the server.
    Timeout {
        /// The server.
        server: String,
        /// What took so long.
        what: String,
        /// How long.
        after: Duration,
    },
    /// The server failed, or answered with an error.
    Failed {
        /// What it was.
        failure: Box<Failure>,
        /// What is known about it.
        findings: Vec<Finding>,
    },
    /// The server did not start a moment ago and is not tried again yet.
    Resting {
        /// What it was.
        failure: Box<Failure>,
        /// When it is tried again.
        retry_in: Duration,
    },
    /// Somebody said no.
    NotConfirmed {
        /// In words.
        why: String,
    },
    /// The caller gave up.
    Cancelled,
    /// The daemon is ending.
    Closing,
}

/// Which server and tool is meant.
pub struct Resolved {
    /// The server.
    pub upstream: Arc<Upstream>,
    /// What stands behind it.
    pub backing: Arc<Backing>,
    /// The tool, when it is a tool whose schema was read.
    pub tool: Option<KnownTool>,
    method: &'static str,
    params: Object,
    /// The tool by its server's name for it; the method of anything else.
    pub name: String,
}

/// Which instance it goes to.
pub struct Chosen {
    /// The caller's key.
    pub scoped: Scoped,
}

impl Registry {
    /// Makes a call.
    ///
    /// # Errors
    /// When there is no answer, or the answer is an error.
    pub async fn call(&self, call: Call) -> Result<Done, CallError> {
        let trace = Trace::call(&call.caller);
        let mut told = Told {
            record: Some(self.notices.call_begins(&trace, &call)),
            notices: &*self.notices,
            trace: &trace,
            begun: Instant::now(),
        };
        let ended = match &mut told.record {
            Some(record) => self.live(&call, &trace, record).await,
            None => Err(CallError::Cancelled),
        };
        told.end(&ended);
        ended
    }

    async fn live(
        &self,
        call: &Call,
        trace: &Trace,
        record: &mut CallRecord,
    ) -> Result<Done, CallError> {
        let begun = Instant::now();
        let resolved = self.resolve(call).await?;
        record.resolved(&resolved);
        let chosen = self.choose(&resolved, call).await?;
        self.confirm(&resolved, &chosen, call).await?;
        let lease = self.lease(&resolved, &chosen, call).await?;
        record.leased(&lease);
        let (lease, sent) = self.send(&resolved, &chosen, lease, call, trace).await?;
        let instance = lease.instance().id().to_owned();
        let explained = self.explain(&resolved, call, sent);
        release(lease);
        let (outcome, findings) = explained?;
        Ok(Done {
            outcome,
            server: resolved.upstream.server.name.clone(),
            tool: resolved.name,
            instance,
            trace: trace.id.clone(),
            took: begun.elapsed(),
            findings,
        })
    }

    /// *Resolve*: which server, which tool, by any spelling. Reads the server's tools when they were never read.
    async fn resolve(&self, call: &Call) -> Result<Resolved, CallError> {
        let views = self.views();
        let (upstream, spelled) = match (&call.server, &call.wanted) {
            (Some(server), Wanted::Tool { name, .. }) => {
                let upstream = views.find(server)?;
                // `namespace.tool` beside a server of the same name means the tool.
                let bare = name
                    .strip_prefix(&upstream.server.namespace)
                    .and_then(|rest| rest.strip_prefix('.'))
                    .filter(|_| {
                        upstream
                            .known()
                            .is_none_or(|known| known.tool(name).is_none())
                    });
                (upstream, Some(bare.unwrap_or(name).to_owned()))
            }
            (Some(server), Wanted::Request { .. }) => (views.find(server)?, None),
            (None, Wanted::Tool { name, .. }) => {
                let (upstream, tool) = views.find_tool(name)?;
                (upstream, Some(tool))
            }
            (None, Wanted::Request { method, .. }) => {
                return Err(CallError::UnknownServer {
                    spelled: format!("(none named for `{method}`)"),
                    near: Vec::new(),
                    all: views.namespaces(),
                });
            }
        };
        let backing = self.usable(&upstream)?;
        let (method, params) = match &call.wanted {
            Wanted::Request { method, params } => {
                return Ok(Resolved {
                    upstream,
                    backing,
                    tool: None,
                    method,
                    params: params.clone(),
                    name: (*method).to_owned(),
                });
            }
            Wanted::Tool { arguments, .. } => (method::TOOLS_CALL, arguments),
        };
        let spelled = spelled.unwrap_or_default();
        let tool = self.resolve_tool(&upstream, &backing, &spelled).await?;
        let name = tool.as_ref().map_or(spelled, |tool| tool.name.clone());
        let params = Object::new()
            .with("name", name.as_str())
            .with("arguments", params.clone());
        Ok(Resolved {
            upstream,
            backing,
            tool,
            method,
            params,
            name,
        })
    }

    /// The tool that is meant. Reads the server's tools when they were never read, or when what an earlier daemon read does
    /// not have it.
    async fn resolve_tool(
        &self,
        upstream: &Upstream,
        backing: &Arc<Backing>,
        spelled: &str,
    ) -> Result<Option<KnownTool>, CallError> {
        let namespace = &upstream.server.namespace;
        let mut known = match backing.known() {
            Some(known) => known,
            None => self.read(upstream, backing, false).await?,
        };
        let mut found = known.resolve(spelled, upstream.filter());
        // What the cache does not know may have come since.
        if matches!(found, Spelled::Unknown(_)) && !known.confirmed {
            known = self.read(upstream, backing, false).await?;
            found = known.resolve(spelled, upstream.filter());
        }
        match found {
            Spelled::Tool(name) => Ok(known.keep(&name)),
            Spelled::Hidden(tool) => Err(CallError::Hidden {
                namespace: namespace.clone(),
                tool,
            }),
            Spelled::Several(names) => Err(CallError::Several {
                spelled: format!("{namespace}.{spelled}"),
                candidates: names
                    .iter()
                    .map(|name| format!("{namespace}.{name}"))
                    .collect(),
            }),
            Spelled::Unknown(near) => Err(CallError::UnknownTool {
                findings: self.explain_unknown(upstream, spelled),
                namespace: namespace.clone(),
                spelled: spelled.to_owned(),
                near,
            }),
        }
    }

    /// Reads a server's lists and takes them into the catalogue.
    pub(crate) async fn read(
        &self,
        upstream: &Upstream,
        backing: &Arc<Backing>,
        again: bool,
    ) -> Result<Arc<super::known::Known>, CallError> {
        let base = self.definition(&upstream.server);
        let reading = Reading {
            queue: self.limits().queue,
            limit: base.start_timeout + self.limits().list,
            now: &*self.clock,
            again,
        };
        let before = backing.known();
        let known = backing.read(&base, reading).await?;
        if before.is_none_or(|before| !Arc::ptr_eq(&before, &known)) {
            self.took(&base, &known);
        }
        Ok(known)
    }

    /// *Choose*: which instance, when that is open. Today the caller's scope decides alone.
    #[allow(clippy::unused_async, reason = "a person may be asked here")]
    async fn choose(&self, resolved: &Resolved, call: &Call) -> Result<Chosen, CallError> {
        let scoped = key_of(resolved.upstream.server.scope, &call.caller);
        if let Some(degraded) = &scoped.degraded {
            self.notices
                .degraded(&resolved.upstream.server.name, degraded);
        }
        Ok(Chosen { scoped })
    }

    /// *Confirm*: whether it may happen. Today nothing is asked.
    #[allow(clippy::unused_async, reason = "a person may be asked here")]
    async fn confirm(
        &self,
        resolved: &Resolved,
        chosen: &Chosen,
        call: &Call,
    ) -> Result<(), CallError> {
        let _decided_by_later_rules = (resolved, chosen);
        if call.cancelled.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        Ok(())
    }

    /// *Lease*: the right to use an instance for this call.
    async fn lease(
        &self,
        resolved: &Resolved,
        chosen: &Chosen,
        call: &Call,
    ) -> Result<Lease, CallError> {
        let wait = Wait {
            queue: self.limits().queue,
            cancelled: call.cancelled.clone(),
        };
        resolved
            .backing
            .pool
            .lease(&chosen.scoped, wait)
            .await
            .map_err(|error| lease_failed(&resolved.upstream.server.name, error))
    }

    /// *Send*: the request, and once more on a fresh instance when it provably never left.
    async fn send(
        &self,
        resolved: &Resolved,
        chosen: &Chosen,
        lease: Lease,
        call: &Call,
        trace: &Trace,
    ) -> Result<(Lease, Result<Outcome, Failure>), CallError> {
        let options = options(resolved, call, trace);
        let first = request(lease.connection(), resolved, call, &options).await;
        let Err(failure) = &first else {
            return Ok((lease, first));
        };
        let gone = matches!(
            &failure.kind,
            FailureKind::NoAnswer {
                cause: mcp_client::Cause::Closed | mcp_client::Cause::Start,
                ..
            }
        );
        if gone {
            lease.poison("its connection is gone");
        }
        let not_sent = matches!(
            &failure.kind,
            FailureKind::NoAnswer {
                delivery: Delivery::NotSent,
                ..
            }
        );
        if !gone || !not_sent || call.cancelled.is_cancelled() {
            return Ok((lease, first));
        }
        release(lease);
        let lease = self.lease(resolved, chosen, call).await?;
        let second = request(lease.connection(), resolved, call, &options).await;
        Ok((lease, second))
    }

    /// *Explain*: what is known about an answer that says no. Only what a server answered is explained.
    fn explain(
        &self,
        resolved: &Resolved,
        call: &Call,
        sent: Result<Outcome, Failure>,
    ) -> Result<(Outcome, Vec<Finding>), CallError> {
        match sent {
            Ok(outcome) => {
                let findings = self.explain_result(resolved, call, &outcome);
                Ok((outcome, findings))
            }
            Err(failure)
                if matches!(
                    &failure.kind,
                    FailureKind::NoAnswer {
                        cause: mcp_client::Cause::Cancelled,
                        ..
                    }
                ) && call.cancelled.is_cancelled() =>
            {
                Err(CallError::Cancelled)
            }
            Err(failure) => Err(CallError::Failed {
                findings: self.explain_failure(resolved, call, &failure),
                failure: Box::new(failure),
            }),
        }
    }

    pub(crate) fn usable(&self, upstream: &Upstream) -> Result<Arc<Backing>, CallError> {
        if let Some(reason) = upstream.server.reason() {
            let text = reason.to_string();
            let (why, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
            return Err(CallError::Unavailable {
                server: upstream.server.name.clone(),
                why: why.to_owned(),
                hint: (!hint.is_empty()).then(|| hint.to_owned()),
            });
        }
        upstream.backing.clone().ok_or(CallError::Unavailable {
            server: upstream.server.name.clone(),
            why: "it has nothing behind it".to_owned(),
            hint: None,
        })
    }

    fn explain_unknown(&self, upstream: &Upstream, spelled: &str) -> Vec<Finding> {
        explain::unknown_tool(
            &self.history(),
            &self.definition(&upstream.server),
            &upstream.server.namespace,
            spelled,
            upstream.known().as_deref(),
        )
    }

    fn explain_result(&self, resolved: &Resolved, call: &Call, outcome: &Outcome) -> Vec<Finding> {
        explain::result(self, resolved, call, outcome)
    }

    fn explain_failure(&self, resolved: &Resolved, call: &Call, failure: &Failure) -> Vec<Finding> {
        explain::failure(self, resolved, call, failure)
    }
}

/// Tells how a call ended, also when nobody waited for its end.
struct Told<'a> {
    record: Option<CallRecord>,
    notices: &'a dyn Notices,
    trace: &'a Trace,
    begun: Instant,
}

impl Told<'_> {
    fn end(&mut self, ended: &Result<Done, CallError>) {
        if let Some(record) = self.record.take() {
            self.notices
                .call_ended(record, self.trace, self.begun.elapsed(), ended);
        }
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.end(&Err(CallError::Cancelled));
    }
}

/// *Release*: the instance is free for others. Dropping the lease does it on every other way out.
fn release(lease: Lease) {
    drop(lease);
}

fn options(resolved: &Resolved, call: &Call, trace: &Trace) -> CallOptions {
    let server: &Server = &resolved.upstream.server;
    let limit = call
        .timeout
        .or((!server.call_timeout.is_zero()).then_some(server.call_timeout));
    let nobody: Arc<dyn Ask> = Arc::new(super::asking::Nobody);
    CallOptions {
        // A call that reports progress lives as long as it may in all.
        idle: limit,
        max: limit,
        label: Some(trace.id.clone()),
        cancelled: call.cancelled.clone(),
        on_progress: call.on_progress.clone(),
        on_log: call
            .on_log
            .clone()
            .filter(|_| logs_are_the_callers(resolved)),
        log_level: call.log_level.clone(),
        meta: call.meta.clone(),
        ask: Some(call.ask.clone().unwrap_or(nobody)),
        hand_back: call.hand_back,
        // What is handed back is the client's to answer, and a task's questions are asked in another way.
        without_tasks: call.hand_back && call.on_task.is_none(),
        repeatable: resolved
            .tool
            .as_ref()
            .map_or(resolved.method != method::TOOLS_CALL, |tool| {
                tool.hints().safe_to_repeat()
            }),
    }
}

async fn request(
    connection: &Connection,
    resolved: &Resolved,
    call: &Call,
    options: &CallOptions,
) -> Result<Outcome, Failure> {
    let mut params = resolved.params.clone();
    let only_as_task = resolved
        .tool
        .as_ref()
        .is_some_and(|tool| tool.task_support() == TaskSupport::Required);
    let became_task = || {
        if let Some(on_task) = &call.on_task {
            on_task();
        }
    };
    if only_as_task && call.more.is_empty() {
        became_task();
        let arguments = params.object("arguments").unwrap_or_default();
        let called = connection.call_tool(&resolved.name, arguments, options);
        return called
            .await
            .map(|result| Outcome::Complete(result.into_raw()));
    }
    params.append(call.more.clone());
    match connection.request(resolved.method, params, options).await? {
        Outcome::Task(task) => {
            became_task();
            let seen = connection.see_task_through(task, options).await?;
            Ok(Outcome::Complete(seen.into_raw()))
        }
        other => Ok(other),
    }
}

/// Whether a log line during a call can only be about this caller's calls: over HTTP it came on the call's own stream;
/// a program serves one call at a time, or one caller.
fn logs_are_the_callers(resolved: &Resolved) -> bool {
    let server = &resolved.upstream.server;
    matches!(server.reach, Reach::Http { .. })
        || resolved.backing.pool.is_exclusive()
        || server.scope != Scope::Global
}

/// Why there is no lease, as the failure of a call.
pub(crate) fn lease_failed(server: &str, error: LeaseError) -> CallError {
    match error {
        LeaseError::Exhausted {
            waited,
            max,
            holders,
        } => CallError::Exhausted {
            server: server.to_owned(),
            why: format!(
                "all {max} instance(s) are in use{}; waited {:.1} s",
                if holders.is_empty() {
                    String::new()
                } else {
                    format!(" by {}", holders.join(", "))
                },
                waited.as_secs_f64()
            ),
        },
        LeaseError::Start {
            failure,
            retry_in: Some(retry_in),
        } => CallError::Resting {
            failure: Box::new(failure),
            retry_in,
        },
        LeaseError::Start {
            failure,
            retry_in: None,
        } => CallError::Failed {
            failure: Box::new(failure),
            findings: Vec::new(),
        },
        LeaseError::Cancelled => CallError::Cancelled,
        LeaseError::Closed => CallError::Closing,
    }
}
