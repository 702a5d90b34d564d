//! Talks to model providers: streams one answer of a model over one of three wires.
//!
//! A [`Provider`] takes a [`Request`] and returns a [`Reply`], telling an [`Observer`] what arrives meanwhile. It retries
//! by itself what may be tried again, honours the server's `retry-after`, keeps a partial answer, and returns blocks that
//! only their maker understands unchanged. It knows nothing of tools or sessions.
//!
//! [`connect`] makes a provider that speaks HTTP; [`scripted::Scripted`] is one that answers from a script. Each wire is a
//! folder: `wire` writes a request, `stream` reads an answer; both are pure. `client` moves the bytes.

pub mod message;
pub mod provider;

mod client;

mod anthropic;
mod openai_chat;
mod openai_responses;

mod answer;
mod failure;
mod http;
mod json_text;
mod names;
mod retry;
mod sse;
mod surrogates;

pub mod catalog;
pub mod scripted;

pub use client::{ProviderConfig, connect, request_json};
pub use http::is_on_this_machine;
pub use message::{
    Block, Effort, Image, Message, OpaqueBlock, Request, Role, SystemPart, ToolDef, Wire,
};
pub use provider::{Error, ErrorKind, Observer, Provider, Reply, Stop, Usage};
