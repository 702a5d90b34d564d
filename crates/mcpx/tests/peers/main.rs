//! The hub as a program: real clients and real servers on both sides, and the processes that it leaves.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a helper that fails must fail the test")]
#![allow(
    clippy::disallowed_methods,
    reason = "the files and processes here are the tests' own"
)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "a literal reads better without a borrow"
)]

mod agents;
mod delivery;
mod hub;
mod lifetimes;
mod newcomer;
mod processes;
mod secrets;
mod serve_goes_on;
mod serving;
mod sharing;
mod soak;
