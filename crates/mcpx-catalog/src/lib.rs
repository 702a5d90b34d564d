//! Which tools exist behind the hub, what they used to be, how they are found, and the TypeScript made from them.
//!
//! Everything here is a function of what it is given: a tool list as a server sent it, the time, and records of earlier
//! lists. No I/O, no async, no clock; a `$ref` that leads out of its document is never followed.
//!
//! - [`shape`]: a schema as rows that can be compared, explained and searched
//! - [`history`]: what changed between two readings of a server's tools, and the record of it
//! - [`explain`]: why a call was wrong
//! - [`search`]: from words to tools
//! - [`names`]: from names to identifiers and back
//! - [`listing`]: the catalog within a budget of tokens
//! - [`published`]: schemas for other programs
//! - [`typescript`]: signatures for a model, and the client that scripts import
//!
//! Names, descriptions and schemas are text from outside. What is generated from them is safe to parse and to print;
//! names and the record hold them as they came.

#[cfg(test)]
mod any_schema;
mod canonical;
mod conformity;
pub mod explain;
pub mod history;
pub mod listing;
pub mod names;
pub mod published;
mod reference;
pub mod search;
pub mod shape;
pub mod typescript;
mod words;
