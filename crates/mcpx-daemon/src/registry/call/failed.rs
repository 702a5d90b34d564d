//! Why a call has no answer.

use std::time::Duration;

use mcp_client::Failure;

use crate::registry::explain::Finding;
use crate::registry::pool::LeaseError;

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
        /// Why servers that may have it could not be asked.
        unasked: Vec<String>,
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
        /// A tool that may show whether the call was done, when nobody knows: `namespace.tool`.
        verify_with: Option<String>,
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

/// A failure under the name that was called: what runs may have that of another server that shares it.
pub(crate) fn of_server(server: &str, mut failure: Failure) -> Box<Failure> {
    server.clone_into(&mut failure.server.name);
    Box::new(failure)
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
            failure: of_server(server, failure),
            retry_in,
        },
        LeaseError::Start {
            failure,
            retry_in: None,
        } => CallError::Failed {
            failure: of_server(server, failure),
            findings: Vec::new(),
            verify_with: None,
        },
        LeaseError::Cancelled => CallError::Cancelled,
        LeaseError::Closed => CallError::Closing,
    }
}
