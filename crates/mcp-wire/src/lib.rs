//! MCP messages of both eras as plain types, with the raw JSON kept whole.
//!
//! Everything that came over the wire stays as the text it was: [`json::Raw`] is one JSON value as it was spelled, and
//! [`json::Object`] a JSON object whose members keep their order and spelling. The types on top of them are views:
//! they read what MCP defines and leave the rest alone, so that unknown fields, `_meta`, unknown content types and the
//! spelling of numbers survive a round trip. No I/O and no async here; the two sides of a connection are `mcp-client`
//! and `mcp-server`.
//!
//! *Legacy* is every revision that needs `initialize` (up to 2025-11-25); *modern* is 2026-07-28, where each request
//! carries its own metadata. See [`era`].

pub mod capability;
pub mod content;
pub mod era;
pub mod error;
pub mod header;
pub mod hints;
pub mod input;
pub mod json;
pub mod lines;
pub mod message;
pub mod meta;
pub mod method;
pub mod page;
pub mod prompt;
pub mod resource;
pub mod result;
pub mod sse;
pub mod task;
pub mod tool;

pub use capability::{ClientCapabilities, Implementation, ServerCapabilities};
pub use era::{Era, Revision};
pub use error::RpcError;
pub use hints::Hints;
pub use input::{Answer, InputRequired, Question};
pub use json::{JsonError, Object, Raw};
pub use message::{Frame, FrameError, Id, Notification, Request, Response};
pub use result::{CallResult, Outcome};
pub use tool::Tool;
