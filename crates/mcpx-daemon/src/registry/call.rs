//! The life of a call: the one road to an upstream, whatever surface it comes from.
//!
//! Resolve which server and tool is meant, choose which instance, confirm that it may happen, lease the instance, send,
//! explain what the server refused, release. Each is a phase of its own, in this order, in [`Registry::call`]; nothing
//! goes around it. Only what was provably not sent is sent again by itself, once.

mod asked;
mod failed;
mod sent;

use std::sync::Arc;
use std::time::Instant;

use mcp_client::{Delivery, Failure, FailureKind};
use mcp_wire::{Object, Outcome, method};
use mcpx_config::hint_apart;

use super::explain::{Finding, Refused};
use super::known::{KnownTool, Spelled};
use super::lease::Lease;
use super::notices::{CallRecord, Notices};
use super::pool::Wait;
use super::scope::{Scoped, key_of};
use super::trace::Trace;
use super::upstream::{Backing, Reading, Upstream};
use super::{Registry, explain};

pub use self::asked::{Call, Done, OnTask, Wanted};
pub use self::failed::CallError;
pub(crate) use self::failed::lease_failed;
use self::sent::{options, request};

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
        let trace = Trace::of(&call);
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
        let (begun, at) = (Instant::now(), (self.clock)());
        let resolved = self.resolve(call).await?;
        record.resolved(&resolved);
        let chosen = self.choose(&resolved, call).await?;
        self.confirm(&resolved, &chosen, call).await?;
        let lease = self.lease(&resolved, &chosen, call).await?;
        record.leased(&lease);
        let (lease, sent) = self.send(&resolved, &chosen, lease, call, trace).await?;
        let instance = lease.instance().id().to_owned();
        let refused = Refused {
            resolved: &resolved,
            call,
            connection: lease.connection(),
            at,
        };
        let explained = self.explain(refused, sent).await;
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
                findings: explain::unknown_tool(
                    &self.history(),
                    &self.definition(&upstream.server),
                    namespace,
                    spelled,
                    upstream.known().as_deref(),
                ),
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
    async fn explain(
        &self,
        refused: Refused<'_>,
        sent: Result<Outcome, Failure>,
    ) -> Result<(Outcome, Vec<Finding>), CallError> {
        match sent {
            Ok(outcome) => {
                let findings = explain::result(self, refused, &outcome).await;
                Ok((outcome, findings))
            }
            Err(failure)
                if matches!(
                    &failure.kind,
                    FailureKind::NoAnswer {
                        cause: mcp_client::Cause::Cancelled,
                        ..
                    }
                ) && refused.call.cancelled.is_cancelled() =>
            {
                Err(CallError::Cancelled)
            }
            Err(failure) => Err(CallError::Failed {
                findings: explain::failure(self, refused, &failure).await,
                failure: Box::new(failure),
            }),
        }
    }

    pub(crate) fn usable(&self, upstream: &Upstream) -> Result<Arc<Backing>, CallError> {
        if let Some(reason) = upstream.server.reason() {
            let text = reason.to_string();
            let (why, hint) = hint_apart(&text);
            return Err(CallError::Unavailable {
                server: upstream.server.name.clone(),
                why: why.to_owned(),
                hint: hint.map(str::to_owned),
            });
        }
        upstream.backing.clone().ok_or(CallError::Unavailable {
            server: upstream.server.name.clone(),
            why: "it has nothing behind it".to_owned(),
            hint: None,
        })
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
