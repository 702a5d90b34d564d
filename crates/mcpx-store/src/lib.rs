//! What the hub keeps on disk, one module for each kind of thing.
//!
//! JSON and JSON Lines are the truth; the SQLite index of the log is made from it and can be deleted. Folders are their
//! owner's alone (0700), files too (0600), and a file is replaced whole or not at all. A file that is broken is told
//! about and costs what was in it, never a panic and never the work of its reader. Several daemons may share one
//! directory: what they all write is changed under a lock, everything else has one writer.
//!
//! Everything here blocks, for as long as a disk takes, but [`log::Log::write`]. No network, no MCP session.
#![allow(
    clippy::disallowed_methods,
    reason = "this is the door to the hub's own state"
)]

pub mod children;
pub mod daemons;
pub mod eras;
pub mod history;
pub mod log;
pub mod process;
pub mod results;
pub mod schemas;
pub mod state_dir;
pub mod state_key;
pub mod tasks;
pub mod trust;

#[cfg(test)]
mod hostile_files;
mod list_file;
mod lock;
mod random;
mod time;

pub use state_dir::{Clock, Problem, StateDir, StoreError};
