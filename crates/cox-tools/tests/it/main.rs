//! The tools against a real machine: processes, sandboxes and files of their own.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    reason = "the files here are the tests' own"
)]

mod bash;
mod bypass;
mod helper;
