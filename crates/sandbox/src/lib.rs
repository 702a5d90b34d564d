//! Turns a policy into a wrap around a command, per platform. Decides nothing.
#![allow(unsafe_code, reason = "this crate owns the operating system's confinement calls")]

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How much a command may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
