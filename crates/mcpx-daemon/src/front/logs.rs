//! Log lines for clients: from which level on each wants them, and the way back to a session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_client::call::OnLog;
use mcp_server::{Context, Level};
use mcp_wire::Era;
use mcpx_api::Caller;

use super::Front;
use crate::hub::Hub;
use crate::registry::levels::Wanted;

/// How long a session that sets its level waits for servers to hear of it; what takes longer goes on.
const HEARD: Duration = Duration::from_secs(3);

/// The levels that sessions have set, by their connections.
#[derive(Default)]
pub(super) struct Logs(Mutex<HashMap<u64, Wanted>>);

impl Logs {
    /// A session is over: nobody wants its level any more.
    pub(super) fn forget(&self, connection: u64) {
        // Dropped without the lock.
        let gone = self.lock().remove(&connection);
        drop(gone);
    }

    /// All of them are over.
    pub(super) fn clear(&self) {
        let gone = std::mem::take(&mut *self.lock());
        drop(gone);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Wanted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Front {
    /// A session wants lines from this level on: the servers that it can reach are told.
    pub(super) async fn want_level(&self, hub: &Arc<Hub>, level: Level, context: &Context) {
        let Some(connection) = context.connection else {
            return;
        };
        let wanted = self.want(hub, level, self.who.of_connection(context));
        let before = self.logs.lock().insert(connection, wanted);
        drop(before);
        let hub = Arc::clone(hub);
        let telling = tokio::spawn(async move { hub.registry.tell_levels().await });
        let _goes_on = tokio::time::timeout(HEARD, telling).await;
    }

    /// A modern client says with each call from which level on it wants lines.
    pub(super) fn wanted_by(
        &self,
        hub: &Hub,
        context: &Context,
        caller: &Caller,
    ) -> Option<Wanted> {
        let level = context.log_level.filter(|_| context.era() == Era::Modern)?;
        Some(self.want(hub, level, caller.clone()))
    }

    fn want(&self, hub: &Hub, level: Level, caller: Caller) -> Wanted {
        let servers = (!self.kind.own).then(|| self.kind.passthrough.clone());
        hub.registry.levels().want(level, caller, servers)
    }

    /// The way to a session outside of its requests. A modern client has none.
    pub(super) fn hears(&self, context: &Context) -> Option<OnLog> {
        let session = context
            .connection
            .filter(|_| context.era() == Era::Legacy)?;
        let notifier = self.notifier.clone();
        Some(Arc::new(move |params| notifier.log(session, params)))
    }
}
