//! The operations of the hub: one table, their requests and replies, and the client that sends them.
//!
//! What the hub can do is a row of [`OPERATIONS`]. From the row follow its route, its command, its MCP tool and its place
//! in the OpenAPI document; nothing can be had on one of them that is not in the table. Shapes of requests and replies
//! are here too, one file a family. This crate knows nothing of how the daemon does it.

pub mod caller;
pub mod client;
pub mod error;
pub mod openapi;
pub mod operation;
pub mod operations;
pub mod params;
pub mod pipe;
pub mod reference;
pub mod reply;

pub use caller::Caller;
pub use client::{Client, ClientError};
pub use error::{ApiError, Code};
pub use operation::{Effect, Kind, Method, Operation, Output, Param, Place};
pub use operations::{OPERATIONS, Op, operation};
pub use params::Params;
