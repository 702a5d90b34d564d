//! Exit codes, and failures that know theirs.

use std::process::ExitCode;

use mcp_wire::Object;
use mcpx_api::{ApiError, ClientError, Code};

/// How the process ends. The numbers are a promise to scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Ok,
    /// Something failed, a tool that says so of itself included.
    Failed,
    /// The command line was wrong.
    Usage,
    /// Something waits: for a person, or for a task that goes on.
    Waiting,
    /// A time limit was reached.
    TimedOut,
    /// Ctrl-C ended it.
    Interrupted,
}

impl Exit {
    /// Every exit code, for the reference page.
    pub(crate) const ALL: [Self; 6] = [
        Self::Ok,
        Self::Failed,
        Self::Usage,
        Self::Waiting,
        Self::TimedOut,
        Self::Interrupted,
    ];

    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Waiting => 75,
            Self::TimedOut => 124,
            Self::Interrupted => 130,
        }
    }

    /// What the number means.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "done",
            Self::Failed => "something failed; also a tool that answers that it failed",
            Self::Usage => "the command line is wrong, or names what does not exist",
            Self::Waiting => "something waits: for a person's answer, or for a task that goes on",
            Self::TimedOut => "a time limit was reached",
            Self::Interrupted => "Ctrl-C ended it",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// A command that did not do what it was asked.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// How the process ends.
    pub(crate) exit: Exit,
    /// What was received and what was expected; `hint` and more in the document.
    pub(crate) error: ApiError,
}

impl Failure {
    /// Something failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failed,
            error: ApiError::internal(message),
        }
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            error: ApiError::bad(message),
        }
    }

    /// Ctrl-C ended it.
    pub(crate) fn interrupted() -> Self {
        Self {
            exit: Exit::Interrupted,
            error: ApiError::new(Code::Conflict, "interrupted"),
        }
    }

    /// With what to do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.error = self.error.hint(hint);
        self
    }

    /// From a text whose last lines begin with `hint: `.
    pub(crate) fn with_hint_lines(exit: Exit, text: &str) -> Self {
        let (message, hint) = mcpx_config::hint_apart(text);
        let hint = hint.map(|hint| hint.replace("\nhint: ", "\n"));
        let failure = match exit {
            Exit::Usage => Self::usage(message),
            _ => Self::failed(message),
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// The document for `--json`.
    pub(crate) fn document(&self) -> Object {
        self.error.to_document()
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let exit = match error.code {
            _ if error.data.contains("inputRequired") => Exit::Waiting,
            Code::BadRequest | Code::NotFound => Exit::Usage,
            Code::Timeout if error.data.contains("task") => Exit::Waiting,
            Code::Timeout => Exit::TimedOut,
            _ => Exit::Failed,
        };
        Self { exit, error }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Api(error) => error.into(),
            ClientError::Timeout(_) => Self {
                exit: Exit::TimedOut,
                error: ApiError::new(Code::Timeout, error.to_string()),
            },
            other => Self::failed(other.to_string()),
        }
    }
}
