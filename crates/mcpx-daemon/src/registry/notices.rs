//! What the registry tells of: calls, and changes of the catalogue.

use std::time::Duration;

use mcpx_catalog::history::Seen;

use super::call::{Call, CallError, Done, Resolved};
use super::lease::Lease;
use super::trace::Trace;

/// Told of what happens. Must neither block nor fail.
pub trait Notices: Send + Sync {
    /// A call begins.
    fn call_begins(&self, trace: &Trace, call: &Call) -> CallRecord {
        let _unused = trace;
        CallRecord {
            session: call.caller.session.clone(),
            ..CallRecord::default()
        }
    }

    /// A call ended.
    fn call_ended(
        &self,
        record: CallRecord,
        trace: &Trace,
        took: Duration,
        ended: &Result<Done, CallError>,
    );

    /// Tools of a server changed.
    fn catalogue_changed(&self, server: &str, changes: &[Seen]);

    /// How long nothing was heard of a session; `None` for one that was never heard of.
    fn silent_for(&self, session: &str) -> Option<Duration> {
        let _unknown = session;
        None
    }
}

/// What is written down of a call while it lives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallRecord {
    /// The caller's session.
    pub session: Option<String>,
    /// The server, once it is known.
    pub server: Option<String>,
    /// The tool, once it is known.
    pub tool: Option<String>,
    /// The instance, once it is leased.
    pub instance: Option<String>,
    /// The span of the instance's life.
    pub instance_trace: Option<String>,
}

impl CallRecord {
    pub(super) fn resolved(&mut self, resolved: &Resolved) {
        self.server = Some(resolved.upstream.server.name.clone());
        self.tool = Some(resolved.name.clone());
    }

    pub(super) fn leased(&mut self, lease: &Lease) {
        self.instance = Some(lease.instance().id().to_owned());
        self.instance_trace = Some(lease.instance().trace().to_owned());
    }
}
