//! The tool contract and the built-in tools, one file each.
//!
//! A tool says what it is ([`tool::ToolSpec`]), what a call is about ([`tool::Tool::subject`]) and does it
//! ([`tool::Tool::call`]). It returns everything it produced; nothing here caps output, judges a call or asks a person.

pub mod tool;

pub mod relay;

pub mod commands;
pub mod tasks;

pub mod ask_user;
pub mod bash;
pub mod builtin;
pub mod expand;
pub mod fs;
pub mod image;
pub mod task;
pub mod todo;
pub mod tool_search;
pub mod web_fetch;

pub use relay::{Answer, Keeper, Relay};
pub use tool::{
    Concurrency, OutputSink, SubjectCx, Tool, ToolCx, ToolError, ToolImage, ToolOutput, ToolSpec,
    parse_input,
};
