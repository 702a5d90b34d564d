//! A server as it is configured, ready to be started or with the reason why not.

mod auth;
mod availability;
mod choices;
mod definition;
mod expand;
mod identity;
mod patterns;
mod reach;
mod same_launch;
mod shown;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

pub use auth::{Auth, Secret};
pub use availability::{Availability, Reason};
pub(crate) use choices::PROTOCOL_ALIASES;
pub use choices::{Protocol, Scope, Sharing};
#[cfg(test)]
pub(crate) use definition::BLOCK_KEYS;
pub(crate) use definition::{
    Context, LAUNCH_KEYS, PoolBlock, is_disabled, is_pool_key, namespace_of, read,
};
pub(crate) use expand::{escaped, input_variable, unread};
pub(crate) use patterns::Pattern;
pub use patterns::ToolFilter;
pub use reach::{Reach, Transport};
pub use same_launch::{Shared, shared};
pub(crate) use shown::{is_secret_name, launch, shown};

/// Where an entry was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file; for the built-in demo server, the program.
    pub file: PathBuf,
    /// Where the entry begins, from 1; 0 when it is built in.
    pub line: u32,
    /// What relative paths in the entry are relative to.
    pub folder: PathBuf,
    /// Whether it is a project's file, found by walking up from the current folder.
    pub is_project: bool,
}

/// What a tool wants before it is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Precondition {
    /// Environment variables that have to hold something.
    pub requires_secrets: Vec<String>,
    /// Servers that have to be usable.
    pub requires_servers: Vec<String>,
}

/// A configured server. Every variable in it is expanded already.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// As the file spells it.
    pub name: String,
    /// Its identifier: what people, models and scripts type.
    pub namespace: String,
    /// Where it was written.
    pub origin: Origin,
    /// How it is reached.
    pub reach: Reach,
    /// The credential it wants, in addition to what `reach` holds.
    pub auth: Option<Auth>,
    /// Which era of the protocol is tried.
    pub protocol: Protocol,
    /// How many callers an instance serves at a time.
    pub sharing: Sharing,
    /// What an instance belongs to.
    pub scope: Scope,
    /// Most instances, at least 1; 1 for the scope `global`.
    pub max: usize,
    /// Instances that stay when nobody uses them, at most `max`.
    pub min: usize,
    /// Life of an unused instance; zero: for ever.
    pub idle_timeout: Duration,
    /// Longest call; zero: no limit.
    pub call_timeout: Duration,
    /// Time to become ready.
    pub start_timeout: Duration,
    /// One line for people and models.
    pub description: Option<String>,
    /// The person's own words above the signatures.
    pub prelude: Option<String>,
    /// The groups it is in.
    pub profiles: Vec<String>,
    /// Whether it is there when no group is asked for.
    pub default: bool,
    /// Which of its tools exist.
    pub tools: ToolFilter,
    /// Environment variables that have to hold something.
    pub requires_secrets: Vec<String>,
    /// Servers that have to be usable, by name.
    pub requires_servers: Vec<String>,
    /// What single tools want, by pattern.
    pub preconditions: BTreeMap<String, Precondition>,
    /// Lowest level of its records, when it is another than everybody's.
    pub log_level: Option<String>,
    /// Keys of the entry that mean nothing here, such as other hosts' fields; sorted.
    pub unknown_keys: Vec<String>,
    /// What looks like a reference in the entry and stays as it is, each with its key.
    pub(crate) unread: Vec<(String, String)>,
    /// Whether an instance serves one caller at a time, so that every question of the server is that caller's.
    pub single_caller_questions: bool,
    /// Whether it can be used.
    pub availability: Availability,
    /// The entry as it was written, for [`Server::shown`].
    pub(crate) written: Written,
    /// What variables put into it, or what it takes of them, that is secret by its name.
    pub(crate) looked_up: Vec<Secret>,
    /// For an alias: the identity of the server behind it.
    pub(crate) alias_identity: Option<String>,
}

impl Server {
    /// Says whether it can be used.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self.availability, Availability::Ready)
    }

    /// Why it cannot be used.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        match &self.availability {
            Availability::Ready => None,
            Availability::Unavailable { reason } => Some(reason),
        }
    }
}

/// An entry as it is written. It may hold literal secrets, so that `Debug` shows nothing of it.
#[derive(Clone, PartialEq)]
pub(crate) struct Written(pub(crate) serde_json::Value);

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}
