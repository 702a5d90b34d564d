//! Talks to model providers: streams one answer of a model over one of three wires.
//!
//! A [`Provider`] takes a [`Request`] and returns a [`Reply`], telling an [`Observer`] what arrives meanwhile. It retries
//! by itself what may be tried again, honours the server's `retry-after`, keeps a partial answer, and returns blocks that
//! only their maker understands unchanged. It knows nothing of tools or sessions.

pub mod message;
pub mod provider;

pub use message::{
    Block, Effort, Image, Message, OpaqueBlock, Request, Role, SystemPart, ToolDef, Wire,
};
pub use provider::{Error, ErrorKind, Observer, Provider, Reply, Stop, Usage};

pub mod catalog;
