//! The daemon as others see it.

#![allow(clippy::unwrap_used, reason = "a helper that fails must fail the test")]

mod failures_calls;
mod failures_lists;
mod failures_pool;
mod failures_sessions;
mod failures_setup;
mod front_attribution;
mod front_own;
mod front_passed;
mod front_questions;
mod front_setup;
mod front_stdio;
mod ops_answers;
mod ops_config;
mod ops_ending;
mod ops_life;
mod ops_pool;
mod ops_refused;
mod ops_secrets;
mod ops_settings;
mod ops_setup;
mod routes_events;
mod routes_pages;
mod routes_requests;
mod routes_setup;
