//! Starts, feeds, watches and ends child processes.
//!
//! A child gets an allowlisted environment ([`Env`]), a session of its own and no terminal, and is ended as a tree:
//! what it started and left behind ends with it, and what could not be ended is named by its process id. What this
//! crate does not do: choose a shell, read the environment of its own process, or decide what a child may touch
//! (it takes a [`Wrap`] for that).
#![allow(clippy::disallowed_methods, reason = "this is the door to processes")]

pub mod env;
pub mod find;
pub mod program;
pub mod wrap;

pub mod briefly;
pub mod run;
pub mod start;

mod spawner;
mod tree;

pub use briefly::{Brief, run_briefly};
pub use env::Env;
pub use find::find_program;
pub use program::{Output, Program, Stdin};
pub use run::{Ended, Exit, Limits, Pipe};
pub use start::{Running, StartError};
pub use tree::adopt_orphans;
pub use wrap::Wrap;
