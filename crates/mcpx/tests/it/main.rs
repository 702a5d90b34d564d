//! Tests of the binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod demo_server;
