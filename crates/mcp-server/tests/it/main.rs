//! A server over its transports, driven by bytes that no client of ours wrote.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "tests read the memory of their own process, fail by panicking, and write values where they are used"
)]

mod envelope;
mod hostile;
mod legacy;
mod legacy_tasks;
mod names;
mod pass_through;
mod pipe;
mod rounds;
mod served;
mod sessions;
mod small;
mod stdio;
mod streams;
mod subscriptions;
mod tasks;
mod wire;

#[path = "../../examples/everything/fixture.rs"]
mod fixture;
