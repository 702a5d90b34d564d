//! Real processes: what they find, what they print, and that none is left.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    reason = "the files here are the tests' own"
)]

mod bomb;
mod ending;
mod guard;
mod marked;
mod orphans;
mod output;
mod start;
mod terminal;
mod world;
