//! The life of a call: the one road to an upstream, whatever surface it comes from.
//!
//! Resolve which server and tool is meant, choose which instance, confirm that it may happen, lease the instance, send,
//! explain what the server refused, release. Each is a phase of its own, in this order, in [`Registry::call`]; nothing
//! goes around it. Only what was provably not sent is sent again by itself, once.

mod asked;
mod failed;
mod leased;
mod resolve;
mod sent;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_client::{Delivery, Failure, FailureKind};
use mcp_wire::{Era, Object, Outcome, Revision};
use mcpx_config::{Protocol, hint_apart};
use untrusted_text::terminal::one_line;

use super::explain::{Finding, Refused};
use super::known::KnownTool;
use super::lease::Lease;
use super::notices::{CallRecord, Notices};
use super::scope::{Lane, Scoped, key_of};
use super::trace::Trace;
use super::upstream::{Backing, Upstream};
use super::{Registry, explain};

pub use self::asked::{Call, Done, OnTask, Wanted};
pub use self::failed::CallError;
pub(crate) use self::failed::{lease_failed, of_server};
use self::sent::{options, request};

/// What a server has to answer at least once a call got to it, and the advantage of an error that knows more.
const LEAST: Duration = Duration::from_millis(50);

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
        let (resolved, chosen, lease) = self.ready(call, record).await?;
        let left = call
            .timeout
            .map(|limit| limit.saturating_sub(begun.elapsed()).max(LEAST));
        let sent = self.send(&resolved, &chosen, lease, call, trace, left);
        let (lease, sent) = sent.await?;
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

    /// Everything before *send*, within the time that the caller gives the call. What a server needs to start goes on when
    /// its caller gave up.
    async fn ready(
        &self,
        call: &Call,
        record: &mut CallRecord,
    ) -> Result<(Resolved, Chosen, Lease), CallError> {
        let ready = async {
            let resolved = self.resolve(call).await?;
            record.resolved(&resolved);
            let chosen = self.choose(&resolved, call).await?;
            self.confirm(&resolved, &chosen, call).await?;
            let lease = self.lease(&resolved, &chosen, call).await?;
            record.leased(&lease);
            Ok((resolved, chosen, lease))
        };
        let Some(limit) = call.timeout else {
            return ready.await;
        };
        // A wait in the queue ends first, because it says who is in the way.
        if let Ok(ready) = tokio::time::timeout(limit + LEAST, ready).await {
            return ready;
        }
        let named = record.server.clone().or_else(|| call.server.clone());
        let wanted = match &call.wanted {
            Wanted::Tool { name, .. } => name.as_str(),
            Wanted::Request { method, .. } => method,
        };
        Err(CallError::Timeout {
            server: one_line(named.as_deref().unwrap_or(wanted), 120),
            what: "getting ready, which goes on,".to_owned(),
            after: limit,
        })
    }

    /// *Choose*: which instance, when that is open. Today the caller's scope decides alone.
    #[allow(clippy::unused_async, reason = "a person may be asked here")]
    async fn choose(&self, resolved: &Resolved, call: &Call) -> Result<Chosen, CallError> {
        let server = &resolved.upstream.server;
        let mut scoped = key_of(server.scope, &call.caller);
        if server.protocol == Protocol::Follow {
            scoped.key = scoped.key.in_lane(lane_of(call.era, resolved));
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

    /// *Send*: the request, and once more on a fresh instance when it provably never left.
    async fn send(
        &self,
        resolved: &Resolved,
        chosen: &Chosen,
        lease: Lease,
        call: &Call,
        trace: &Trace,
        left: Option<Duration>,
    ) -> Result<(Lease, Result<Outcome, Failure>), CallError> {
        let mut options = options(resolved, call, trace);
        if let Some(left) = left {
            (options.idle, options.max) = (Some(left), Some(left));
        }
        options.on_log = leased::lines(lease.instance(), call);
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
        options.on_log = leased::lines(lease.instance(), call);
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
                verify_with: explain::verify_with(refused, &failure),
                failure: of_server(&refused.resolved.upstream.server.name, failure),
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

/// In which era a server is spoken to that follows its callers. One that has no newer era has one lane.
fn lane_of(caller: Era, resolved: &Resolved) -> Lane {
    let known = resolved.backing.known();
    let revision = known.as_ref().and_then(|known| known.revision.as_deref());
    let is_newest_legacy = revision
        .and_then(Revision::parse)
        .is_some_and(|revision| revision.era() == Era::Legacy);
    if caller == Era::Legacy && !is_newest_legacy {
        Lane::Legacy
    } else {
        Lane::Newest
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
