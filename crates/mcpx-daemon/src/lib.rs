//! The hub's daemon: upstreams, instances, calls, routes, and the MCP server in front of them.
//!
//! - [`registry`]: the servers, their pools, what is known of their tools, and the one road that every call takes
//! - [`hub`]: everything that lives as long as the daemon
//! - [`ops`]: what each operation of the table does
//! - [`front`]: the MCP server
//! - [`routes`]: the operations over HTTP
//! - [`lifecycle`]: becoming the daemon, staying it, ending
//!
//! It never prints, reads no arguments and no environment: what it needs is given to it.

use std::sync::Arc;

use jiff::Timestamp;

pub mod events;
pub mod front;
pub mod hub;
pub mod lifecycle;
pub mod ops;
pub mod registry;
pub mod results;
pub mod routes;
pub mod running_tasks;
pub mod telling;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
