//! The tool contract: spec, subject, call.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use cox_workspace::Roots;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::Relay;

mod input;

pub use input::parse_input;

/// A tool that a model may call.
///
/// Calls arrive only through the session's dispatch, which validates nothing but that the arguments are a JSON object:
/// a tool reads them with [`parse_input`].
#[async_trait]
pub trait Tool: Send + Sync {
    /// What the tool is. The same for the whole session.
    fn spec(&self) -> &ToolSpec;

    /// What this call is about, for the permission engine. Reads the file system at most to resolve links; runs nothing.
    ///
    /// # Errors
    ///
    /// [`ToolError`] for arguments that cannot be read or a path outside the roots: the call is refused unjudged.
    fn subject(&self, input: &Value, cx: &SubjectCx) -> Result<Subject, ToolError>;

    /// Does it. Everything printed on the way goes to `cx.output`, whole; what is returned is added at the end.
    /// Stops soon after `cx.cancel` fires.
    ///
    /// # Errors
    ///
    /// [`ToolError`] when nothing was done. A command that ran and failed is a [`ToolOutput`] with `is_error`.
    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError>;
}

/// What a tool is.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The name that a model calls, `[a-z0-9_]+`.
    pub name: &'static str,
    /// What it does and when to use it, for a model; short, every byte is paid for on each request.
    pub description: &'static str,
    /// JSON Schema of the arguments: an object with `properties` and `required`.
    pub input_schema: Value,
    /// Whether it joins the context only through `tool_search`.
    pub deferred: bool,
    /// The risk of an ordinary call.
    pub risk: Risk,
    /// Whether calls may run beside others.
    pub concurrency: Concurrency,
}

/// Whether calls of a tool may run beside others of the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// Beside any call that does not touch the same path.
    Parallel,
    /// Alone.
    Exclusive,
}

/// What a subject is read with.
#[derive(Clone, Debug)]
pub struct SubjectCx {
    /// The roots.
    pub roots: Arc<Roots>,
}

/// What a call works with.
#[derive(Clone)]
pub struct ToolCx {
    /// The workspace's files, and the doors through which they change.
    pub workspace: Arc<cox_workspace::Workspace>,
    /// Where whole outputs and pre-images go.
    pub archive: Arc<cox_store::Archive>,
    /// How commands are run: sandbox, environment, shell.
    pub commands: Arc<crate::commands::Commands>,
    /// Fires when the call must stop.
    pub cancel: CancellationToken,
    /// Takes what the call prints while it runs.
    pub output: Arc<dyn OutputSink>,
    /// The session behind the call.
    pub relay: Arc<dyn Relay>,
    /// Whether a path may be shown by a search: false for what a `Read` deny covers. Takes an absolute real path.
    pub may_read: Arc<dyn Fn(&std::path::Path) -> bool + Send + Sync>,
}

/// Takes the output of a running call: archives all of it, and shows a bounded part to people.
pub trait OutputSink: Send + Sync {
    /// Takes the next bytes. Never blocks for long, never fails: a full disk is reported by dispatch when the call ends.
    fn write(&self, bytes: &[u8]);
}

/// What a call produced.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    /// The text, added after what was streamed to the sink.
    pub text: String,
    /// Whether the call failed although it ran.
    pub is_error: bool,
    /// Images for the model.
    pub images: Vec<ToolImage>,
    /// The change as a unified diff, for people.
    pub diff: Option<String>,
    /// Exit code of a command.
    pub exit_code: Option<i32>,
    /// Pre-images of the files that were changed.
    pub preimages: Vec<(PathBuf, cox_store::ArchiveId)>,
    /// Deferred tools that join the session.
    pub discovered: Vec<String>,
    /// What the sandbox refused to a command that failed: run again without it, the command may succeed.
    pub sandbox_denied: Option<String>,
}

impl ToolOutput {
    /// Makes a successful output of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Makes a failed output of text alone.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: true,
            ..Self::default()
        }
    }
}

/// An image for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolImage {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// The bytes, base64.
    pub base64: String,
}

/// Why a call did nothing. The text tells a model what was received, what was expected and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The arguments do not fit the schema.
    #[error("bad arguments for `{tool}`: {problem}")]
    BadInput {
        /// The tool.
        tool: String,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// The call may not be done, whatever the permissions.
    #[error("{0}")]
    Refused(String),
    /// The path lies outside the roots.
    #[error(transparent)]
    Confined(#[from] cox_workspace::ConfineError),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// The text to change stands in several places.
    #[error("{message}")]
    Ambiguous {
        /// 1-based line numbers of the candidates.
        lines: Vec<usize>,
        /// What was looked for, where it stands, what to do.
        message: String,
    },
    /// The thing is over a limit.
    #[error("too_large: {what} has {bytes} bytes, the limit is {cap} bytes{hint}")]
    TooLarge {
        /// What it is.
        what: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        cap: u64,
        /// What to do instead, starting with `; `, or empty.
        hint: String,
    },
    /// The file is not text.
    #[error("{0}")]
    Binary(String),
    /// It took longer than it may.
    #[error("{what} did not end within {after:?}")]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long.
        after: Duration,
    },
    /// The system failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, with its path.
        what: String,
        /// The failure.
        source: std::io::Error,
    },
    /// The call was cancelled.
    #[error("cancelled before it was done")]
    Cancelled,
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tool({})", self.spec().name)
    }
}
