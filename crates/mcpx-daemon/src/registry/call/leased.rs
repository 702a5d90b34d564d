//! The instance of a call: leased, told what the call wants of it, and marked as used by the caller.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::Abilities;
use mcp_client::call::OnLog;

use super::{Call, CallError, Chosen, Resolved, lease_failed};
use crate::registry::Registry;
use crate::registry::asking::{is_untouched, undeclared};
use crate::registry::instance::Instance;
use crate::registry::lease::Lease;
use crate::registry::pool::Wait;
use crate::registry::users::name_of;

impl Registry {
    /// *Lease*: the right to use an instance for this call.
    pub(super) async fn lease(
        &self,
        resolved: &Resolved,
        chosen: &Chosen,
        call: &Call,
    ) -> Result<Lease, CallError> {
        let able = call
            .ask
            .as_ref()
            .map_or_else(Abilities::default, |ask| ask.abilities());
        let _waits = self.somebody.waits(&chosen.scoped.key, able);
        let mut lease = self.wait_for_lease(resolved, chosen, call).await?;
        if undeclared(lease.instance(), able) != Abilities::default() {
            if is_untouched(lease.instance()) {
                lease.poison(
                    "it was started before there was a client that can answer its questions, and has done nothing yet",
                );
                drop(lease);
                lease = self.wait_for_lease(resolved, chosen, call).await?;
            } else if lease.instance().is_first_lack() {
                let text = format!(
                    "{} was started when no client could answer what this one can, so it will not ask\nhint: `mcpx restart {}` \
                     starts it with what can be answered now",
                    lease.instance().id(),
                    resolved.upstream.server.name
                );
                self.watch.warned(&resolved.upstream.server.name, text);
            }
        }
        let who = name_of(&call.caller, &call.trace);
        lease.instance().users().came(&who, call.hears.clone());
        self.tell_level(&resolved.backing, lease.instance(), true)
            .await;
        Ok(lease)
    }

    async fn wait_for_lease(
        &self,
        resolved: &Resolved,
        chosen: &Chosen,
        call: &Call,
    ) -> Result<Lease, CallError> {
        let wait = Wait {
            queue: call
                .timeout
                .unwrap_or(Duration::MAX)
                .min(self.limits().queue),
            start: Some(resolved.upstream.server.start_timeout),
            cancelled: call.cancelled.clone(),
        };
        resolved
            .backing
            .pool
            .lease(&chosen.scoped, wait)
            .await
            .map_err(|error| lease_failed(&resolved.upstream.server.name, error))
    }
}

/// Who is told the log lines that come with a call: over HTTP they came on its own stream, and an instance that serves one
/// call at a time means this one. Of any other it is certain only while nobody else has used it.
pub(super) fn lines(instance: &Arc<Instance>, call: &Call) -> Option<OnLog> {
    let on_log = call.on_log.clone()?;
    let is_program = instance.pid().is_some();
    let is_certain = !is_program || instance.connection().serves_one_at_a_time();
    let who = name_of(&call.caller, &call.trace);
    let instance = Arc::clone(instance);
    Some(Arc::new(move |params| {
        if is_certain || instance.users().is_only(&who) {
            on_log(params);
        } else {
            instance.users().count_unheard();
        }
    }))
}
