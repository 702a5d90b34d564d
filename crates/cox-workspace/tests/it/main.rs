//! What the crate promises to others: the specifications in `spec/`.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make the files they look at, and a helper that fails must fail the test"
)]

mod spec;
