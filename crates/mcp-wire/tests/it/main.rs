//! What holds for any message.
#![allow(clippy::unwrap_used, reason = "a helper that fails must fail the test")]

mod any_json;
mod pass_through;
