//! The three wires against a fake server: answers, failures, retries, timeouts, cancelling.
#![allow(clippy::unwrap_used, reason = "a helper that fails must fail the test")]

mod answers;
mod broken;
mod failures;
mod run;
