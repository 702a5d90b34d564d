//! The agent: turns, context, dispatch, approvals.
//!
//! A surface opens a session with a [`SessionSpec`], sends [`cox_protocol::Command`]s and receives
//! [`cox_protocol::Event`]s. Everything the session depends on is in the spec: it reads no clock, no environment and no
//! configuration file by itself, and knows no terminal.

pub mod spec;

pub use spec::{Approver, Handle, Limits, OpenError, SessionSpec, open};
