//! A call on its way to an upstream, and one that was answered.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::Ask;
use mcp_client::call::{OnLog, OnProgress};
use mcp_wire::{Era, Object, Outcome, Raw};
use mcpx_api::Caller;
use tokio_util::sync::CancellationToken;

use crate::registry::explain::Finding;
use crate::registry::trace::span;

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
    /// Its span in the log, `cal-` and 16 hexadecimal digits.
    pub trace: String,
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
    /// Told about log lines that came with this call and are about nobody else's, beyond doubt.
    pub on_log: Option<OnLog>,
    /// Told about log lines that came with no call, while they can only be this caller's.
    pub hears: Option<OnLog>,
    /// Told when the server made a task of the call, which is then waited for. With [`Call::hand_back`] it also says that
    /// the caller takes tasks.
    pub on_task: Option<OnTask>,
    /// From which severity on the server may log during this call.
    pub log_level: Option<String>,
    /// Keeps its server at that level while it lives.
    pub wanted_level: Option<Arc<crate::registry::levels::Wanted>>,
    /// Cancels it.
    pub cancelled: CancellationToken,
    /// Whether the questions of a modern server come back as they are, instead of being answered by [`Call::ask`]. A
    /// task is waited for in any case: it may live in the instance that was leased.
    pub hand_back: bool,
    /// The era that the caller speaks: a server that follows its callers is spoken to in it.
    pub era: Era,
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
            trace: span("cal"),
            server,
            wanted,
            more: Object::new(),
            meta: Object::new(),
            caller: Caller::default(),
            ask: None,
            on_progress: None,
            on_log: None,
            hears: None,
            on_task: None,
            log_level: None,
            wanted_level: None,
            cancelled: CancellationToken::new(),
            hand_back: false,
            era: Era::Modern,
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
