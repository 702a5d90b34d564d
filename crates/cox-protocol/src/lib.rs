//! The words between a session and a surface: commands in, events out.
//!
//! Everything here is plain data that can be written as JSON. Text that came from outside is
//! [`untrusted_text::Untrusted`]. No behaviour: the session decides, a surface shows.

pub mod command;
pub mod event;
pub mod ids;
pub mod item;

pub use command::{Command, Decision, ImageAttachment};
pub use event::{DecidedBy, Event, Level, Money, StopReason, TokenUsage, ToolDone};
pub use ids::{ArchiveId, CallId, SessionId};
pub use item::{AssistantBlock, ImageData, Item, ToolResult};
