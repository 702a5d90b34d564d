//! Starts, feeds, watches and ends child processes.
//!
//! A child gets an allowlisted environment and a process group of its own, and is ended as a tree.
#![allow(clippy::disallowed_methods, reason = "this is the door to processes")]
