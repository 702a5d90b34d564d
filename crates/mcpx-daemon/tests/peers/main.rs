//! The daemon with programs that nobody of us wrote.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a helper that fails must fail the test")]
#![allow(
    clippy::disallowed_methods,
    reason = "the files and processes here are the tests' own"
)]

mod front;
mod processes;
mod tour;
