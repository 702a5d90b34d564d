//! The session engine, driven through its front door with a model that answers as told.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    reason = "the files here are the tests' own"
)]

mod approvals;
mod budget;
mod calls;
mod context;
mod harness;
mod interrupt;
mod prefix;
mod resume;
mod secrets;
