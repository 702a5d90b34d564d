//! Fakes and helpers for tests: a model server, an MCP server that misbehaves, independent peers, a home of one's own,
//! waiting on conditions.
//!
//! Depends on nothing of ours: a fake that shared our codec would share its mistakes. Panics are how a helper fails a
//! test, and say what was expected.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start peers, read where those are and write fixtures outside of any workspace"
)]
#![allow(clippy::unwrap_used, reason = "a helper that fails must fail the test")]

pub mod fake_model;
pub mod mcp;
pub mod oauth;
pub mod peers;

mod temp_home;
mod wait;

pub use fake_model::{Answer, FakeModel, Recorded};
pub use temp_home::TempHome;
pub use wait::wait_until;
