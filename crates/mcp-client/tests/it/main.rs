//! The client against servers that misbehave as a test says.

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
mod lists;
mod matrix;
mod processes;
mod questions;
mod setup;
