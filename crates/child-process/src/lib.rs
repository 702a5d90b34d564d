//! Starts, feeds, watches and ends child processes.
//!
//! A child gets an allowlisted environment ([`Env`]) and a session of its own, with no terminal or one made for it. It
//! is held to a number of processes, and ended as a tree: what it started and left behind ends with it, and what could
//! not be ended is named by its process id. An owner that may be killed [marks](mark) what it starts and leaves a
//! [guardian](guard) behind. What this crate does not do: choose a shell, read the environment of its
//! own process, or decide what a child may touch (it takes a [`Wrap`] for that).
#![allow(clippy::disallowed_methods, reason = "this is the door to processes")]

pub mod detached;
pub mod env;
pub mod find;
pub mod left_behind;
pub mod program;
pub mod wrap;

pub mod briefly;
pub mod run;
pub mod start;

pub mod guard;
pub mod identity;
pub mod mark;

mod cap;
#[cfg(target_os = "linux")]
mod control_group;
mod spawner;
#[cfg(unix)]
mod terminal;
mod tree;

pub use briefly::{Brief, run_briefly};
pub use detached::Detached;
pub use env::Env;
pub use find::find_program;
pub use guard::{GuardCommand, GuardError, GuardLimits, Guardian};
pub use identity::Identity;
pub use left_behind::LeftBehind;
pub use mark::{CannotTell, Found, Mark, UnfitMark};
pub use program::{MAX_PROCESSES, Output, Program, Stdin};
pub use run::{Ended, Exit, Limits, Pipe};
pub use start::{Running, StartError};
pub use tree::adopt_orphans;
pub use wrap::Wrap;
