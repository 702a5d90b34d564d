//! What happens in the registry, told to the log and to those who listen.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::{Event as Said, Failure};
use mcp_wire::{Object, Raw};
use mcpx_catalog::history::Seen;
use mcpx_store::log::Log;

use crate::events::Events;
use crate::ops::refused::api_error;
use crate::registry::call::{CallError, Done};
use crate::registry::instance::Instance;
use crate::registry::notices::{CallRecord, Notices};
use crate::registry::pool::{Ending, PoolWatch};
use crate::registry::scope::Degraded;
use crate::registry::trace::Trace;

/// Tells the log and those who listen.
pub struct Telling {
    log: Log,
    events: Arc<Events>,
}

impl Telling {
    /// Tells this log and these listeners.
    #[must_use]
    pub fn new(log: Log, events: Arc<Events>) -> Self {
        Self { log, events }
    }
}

impl PoolWatch for Telling {
    fn started(&self, instance: &Instance, ready: Duration) {
        let data = Object::new()
            .with("instance", instance.id())
            .with("readyMs", Raw::of(&ready.as_millis()));
        self.events
            .publish("server.start", Some(server_of(instance)), None, data);
    }

    fn ended(&self, instance: &Instance, why: Ending) {
        let data = Object::new()
            .with("instance", instance.id())
            .with("reason", why.to_string().as_str());
        self.events
            .publish("server.stop", Some(server_of(instance)), None, data);
    }

    fn warned(&self, server: &str, text: String) {
        let data = Object::new().with("text", text.as_str());
        self.events
            .publish("server.warning", Some(server), None, data);
    }

    fn event(&self, instance: &Instance, event: Said) {
        let _later = (instance, event);
    }

    fn start_failed(&self, server: &str, failure: &Failure) {
        let data = Object::new().with("error", failure.to_string().as_str());
        self.events
            .publish("server.failed", Some(server), None, data);
    }
}

impl Notices for Telling {
    fn call_ended(
        &self,
        record: CallRecord,
        trace: &Trace,
        took: Duration,
        ended: &Result<Done, CallError>,
    ) {
        let _to_the_log = (&self.log, record, trace, took);
        if let Err(error) = ended {
            let _message = api_error(error);
        }
    }

    fn catalogue_changed(&self, server: &str, changes: &[Seen]) {
        for change in changes {
            let data = Object::new()
                .with("tool", change.tool.as_str())
                .with("kind", change.change.difference.kind.word())
                .with("what", change.change.difference.what.as_str());
            self.events
                .publish("catalog.changed", Some(server), None, data);
        }
    }

    fn degraded(&self, server: &str, degraded: &Degraded) {
        let _once = (server, degraded);
    }
}

/// The server of an instance, from its id.
fn server_of(instance: &Instance) -> &str {
    let id = instance.id();
    id.rsplit_once('#').map_or(id, |(server, _)| server)
}
