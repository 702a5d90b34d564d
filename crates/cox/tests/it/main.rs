//! The real binary, each time with a home and a working folder of its own.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start the binary and write its fixtures, and a helper that fails must fail the test"
)]

mod cli;
mod commands;
mod configuration;
mod demo;
mod harness;
mod kill;
mod mcp;
mod no_process_left;
mod permissions;
mod providers;
mod run;
mod tool;
mod write_sets;
