//! Whether a server can be used, and why not.

use std::{fmt, path::PathBuf};

use crate::error::{quoted, quoted_path};

/// Whether a server can be used. One that cannot stays in every list, with its reason; the others work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can be started or contacted.
    Ready,
    /// It is not started and not contacted.
    Unavailable {
        /// Why.
        reason: Reason,
    },
}

/// Why a server cannot be used. `Display` says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// A project's file names it and nobody accepted that.
    Untrusted {
        /// The project's file.
        file: PathBuf,
        /// Where the entry begins.
        line: u32,
    },
    /// A variable without a value and without a default.
    MissingVariable {
        /// The variable.
        name: String,
        /// The key that names it, such as `env.TOKEN` or `args[1]`.
        key: String,
    },
    /// A `${input:…}` that nothing answers.
    MissingInput {
        /// The name of the input.
        name: String,
        /// The key that names it.
        key: String,
        /// The variable that would answer it.
        variable: String,
    },
    /// One of `requiresSecrets` is not set.
    MissingSecret {
        /// The variable.
        name: String,
    },
    /// One of `requiresServers`, or the server of an alias, is not there or cannot be used.
    MissingServer {
        /// Its name.
        name: String,
        /// Why, when it is there.
        because: Option<String>,
    },
    /// A value that is wrong after its variables were expanded.
    BadValue {
        /// The key.
        key: String,
        /// What is wrong.
        problem: String,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted { file, line } => write!(
                f,
                "{}:{line} belongs to a project, and nobody accepted this entry\nhint: read it, then run `mcpx servers trust`",
                quoted_path(file)
            ),
            Self::MissingVariable { name, key } => write!(
                f,
                "the variable {} of `{}` is not set\nhint: set it where the daemon starts, or write `${{{name}:-default}}`",
                quoted(name),
                untrusted_text::terminal::one_line(key, 80)
            ),
            Self::MissingInput {
                name,
                key,
                variable,
            } => write!(
                f,
                "the input {} of `{}` has no value\nhint: set the variable `{variable}`",
                quoted(name),
                untrusted_text::terminal::one_line(key, 80)
            ),
            Self::MissingSecret { name } => write!(
                f,
                "the variable {} of `requiresSecrets` is not set\nhint: set it where the daemon starts",
                quoted(name)
            ),
            Self::MissingServer { name, because } => match because {
                Some(because) => write!(f, "it needs the server {}: {because}", quoted(name)),
                None => write!(
                    f,
                    "it needs the server {}, which is not configured",
                    quoted(name)
                ),
            },
            Self::BadValue { key, problem } => {
                write!(
                    f,
                    "`{}`: {problem}",
                    untrusted_text::terminal::one_line(key, 80)
                )
            }
        }
    }
}
