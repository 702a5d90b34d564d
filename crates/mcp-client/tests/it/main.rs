//! The client against servers that misbehave as a test says.
#![allow(clippy::unwrap_used, reason = "a helper that fails must fail the test")]

mod auth_discovery;
mod auth_identity;
mod auth_scopes;
mod auth_secrets;
mod auth_setup;
mod auth_tokens;
mod calls;
mod delivery;
mod era;
mod http_credentials;
mod http_era;
mod http_old_sse;
mod http_requests;
mod http_sessions;
mod http_setup;
mod http_streams;
mod lists;
mod matrix;
mod processes;
mod questions;
mod setup;
mod task_questions;
