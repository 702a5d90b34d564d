//! Connects to an MCP server in whatever era it speaks, and calls it.
//!
//! [`connect`](connect::connect) finds out the era and gives a [`Connection`]; a call on it ends in exactly one of an
//! answer or a [`Failure`], which says whether the server answered, whether the call may have run, or who refused it.
//! A server reaches a person only through [`Ask`]; without one nothing is declared and no question is answered.
//!
//! This crate knows no product: no configuration, no permission, no place to keep things. It starts processes through
//! `child-process` and speaks HTTP; what it learned and is worth keeping (the era, a session's tools) it hands out.

pub mod ask;
pub mod auth;
pub mod call;
pub mod clock;
pub mod connect;
pub mod connection;
pub mod events;
pub mod failure;
pub mod listen;
pub mod lists;
pub mod more;
pub mod server;
pub mod transport;

mod handshake;
mod questions;
mod tasks;

pub use ask::{Abilities, Ask, Asked};
pub use call::CallOptions;
pub use connect::{Verdict, connect};
pub use connection::Connection;
pub use events::Event;
pub use failure::{Cause, Delivery, Failure, FailureKind, Refuser};
pub use server::{Label, Limits, Reach, ServerSpec, Timeouts};
