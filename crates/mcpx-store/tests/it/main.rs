//! What needs several processes: locks that end with their owner, files that two of them change.
#![allow(
    clippy::disallowed_methods,
    reason = "a test starts itself again, and tells the copy what to do"
)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod processes;
