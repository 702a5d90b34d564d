//! Tests of the binary.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start the binary and write its fixtures, and a helper that fails must fail the test"
)]

mod bad_input;
mod calling;
mod daemon;
mod demo_server;
mod failures_calls;
mod failures_streams;
mod guide;
mod harness;
mod listing;
mod logs;
mod serve;
mod sharing;
mod shell;
mod writing;
