//! The agent: turns, context, dispatch, approvals.
//!
//! A surface opens a session with a [`SessionSpec`], sends [`cox_protocol::Command`]s and receives
//! [`cox_protocol::Event`]s. Everything the session depends on is in the spec: it reads no clock, no environment and no
//! configuration file by itself, and knows no terminal.
//!
//! Reading order: [`spec`] what comes in, `inbox` what wakes it, `turn` the life of a turn, `dispatch` the life of a call,
//! `state` what the events amount to, `context` what the model sees.

pub mod spec;

mod approvals;
mod context;
mod dispatch;
mod engine;
mod inbox;
mod journal;
mod resume;
mod single;
mod state;
mod turn;

pub use engine::open;
pub use single::{Single, run_one};
pub use spec::{Approver, Handle, Limits, OpenError, SessionSpec};
