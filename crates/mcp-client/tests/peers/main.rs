//! The client with servers that nobody of us wrote, the official Rust SDK with our server, and many calls at once.
#![allow(clippy::unwrap_used, reason = "a helper that fails must fail the test")]

mod conformance;
mod everything;
mod http;
mod load;
mod rmcp;
mod setup;
mod stdio;
