//! What a command may touch.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How much a command may change. Ordered: a later mode may more.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Nothing but its private temporary folder.
    ReadOnly,
    /// The writable roots.
    #[default]
    WorkspaceWrite,
    /// Everything: no sandbox.
    DangerFullAccess,
}

impl Mode {
    /// Returns the mode as it is written in settings and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }
}

/// What a command may touch. All paths absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// How much it may change.
    pub mode: Mode,
    /// Folders that may be written in `workspace-write`.
    pub writable: Vec<PathBuf>,
    /// Folders and files inside the writable ones that stay read-only, such as `.git`.
    pub read_only_within: Vec<PathBuf>,
    /// Folders and files that may not even be read.
    pub hidden: Vec<PathBuf>,
    /// Whether the network is reachable.
    pub network: bool,
}
