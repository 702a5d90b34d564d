//! Serves tools, resources and prompts to MCP clients, in whatever era they speak, over stdio and Streamable HTTP.
//!
//! What is served is a [`Service`]: it is handed one request at a time, in the newest shape, and answers in the newest
//! shape. This crate owns everything around it, which is what the revisions differ in: the handshake or the metadata of
//! each request, sessions, streams and their resumption, headers, questions to the client, tasks, subscriptions,
//! cancellation. A question is [`Reply::Ask`] in both eras: a modern client gets it as `input_required` with a sealed
//! state, a legacy one as a request on the stream of its own call; either way the service is called again with the
//! answers.
//!
//! What is not ours passes through as it was spelled: arguments, results, unknown members, `_meta` keys of others.
//!
//! It knows no upstream and no product: whom a call is forwarded to is the service's business.

mod ask;
mod call;
mod config;
mod connection;
mod context;
mod dispatch;
mod event_log;
mod listen;
mod notifier;
mod offer;
mod seal;
mod server;
mod service;
mod spell;
mod stream;
mod tasks;

pub mod http;
pub mod stdio;

pub use ask::NO_ANSWER_IN_TIME;
pub use config::{Clock, Config, Limits};
pub use context::{Context, Level};
pub use notifier::Notifier;
pub use offer::Offer;
pub use seal::{SealError, Sealer};
pub use server::Server;
pub use service::{Incoming, Reply, Service};
pub use tasks::{TaskContext, TaskWork};
