//! Exit codes, and failures that know theirs.

use std::{fmt, process::ExitCode};

/// How the process ends. The numbers are a promise to scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Ok,
    /// Something failed: the provider, the network, a file, the configuration.
    Error,
    /// A call was denied, or the model refused.
    Denied,
    /// The spend cap was reached.
    Budget,
    /// A person or a closed output stopped it.
    Interrupted,
    /// The command line was wrong.
    Usage,
    /// SIGHUP stopped it: the terminal went away.
    HungUp,
    /// SIGTERM stopped it.
    Terminated,
}

impl Exit {
    /// Every exit code, for the reference page.
    pub(crate) const ALL: [Self; 8] = [
        Self::Ok,
        Self::Error,
        Self::Denied,
        Self::Budget,
        Self::Interrupted,
        Self::Usage,
        Self::HungUp,
        Self::Terminated,
    ];

    /// Returns the number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Error => 1,
            Self::Denied => 2,
            Self::Budget => 3,
            Self::Interrupted => 4,
            Self::Usage => 5,
            Self::HungUp => 129,
            Self::Terminated => 143,
        }
    }

    /// Returns what the number means, for help and reference.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "done",
            Self::Error => {
                "an error: the provider, the network, a file, the configuration, stdout, or the request limit"
            }
            Self::Denied => "a tool call was denied, or the model refused",
            Self::Budget => "the spend cap was reached",
            Self::Interrupted => "interrupted, or nobody reads stdout any more",
            Self::Usage => "wrong usage: a flag, an argument, an image",
            Self::HungUp => "ended by SIGHUP: the terminal went away",
            Self::Terminated => "ended by SIGTERM",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// A failure with its exit code. Its text is lower case without a period; hints stand on lines of their own.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the process ends.
    pub(crate) exit: Exit,
    /// What happened. May hold text from outside: printed only through the terminal filter.
    pub(crate) message: String,
}

impl Failure {
    /// Makes a failure that ends with code 1.
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Error,
            message: message.into(),
        }
    }

    /// Makes a failure that ends with code 5.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.into(),
        }
    }

    /// Makes a failure out of an error and all of its sources.
    pub(crate) fn from_chain(error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            let text = inner.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            source = inner.source();
        }
        Self::error(message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<cox_store::StoreError> for Failure {
    fn from(error: cox_store::StoreError) -> Self {
        Self::from_chain(&error)
    }
}
