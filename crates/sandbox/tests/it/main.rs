//! Escape checks against every backend this machine has, as the current user and, when that is root, as an ordinary one.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stderr, reason = "a backend that is not tested is said")]
#![allow(
    clippy::disallowed_methods,
    reason = "the files here are the tests' own"
)]

mod denials;
mod ends;
mod escape;
mod lab;
mod links;
mod ordinary;
mod refusal;
mod syscalls;
