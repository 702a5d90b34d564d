//! The content of `catalog-history.json`.
//!
//! ```json
//! {"version": 1, "servers": {"demo": {"read": "2026-09-20T10:00:00Z", "tools": {"echo": {
//!   "reads": 11, "hints": {"readOnlyHint": false, …}, "description": "1f…",
//!   "input": {"fields": [{"path": "message", "types": "string", "required": true}]},
//!   "changes": [{"when": "…", "kind": "argument-required", "field": "message", "what": "`message` became required"}]}}}}}
//! ```
//!
//! Members that this version does not know are kept where they stand. A higher `version` is refused, not guessed at.

mod read;
mod write;

use serde_json::{Map, Value};

use super::History;
use read::Node;

/// The version that is written and read.
const VERSION: u64 = 1;

/// Largest file that is read, in bytes.
pub const MAX_BYTES: usize = 256 << 20;

/// A record that cannot be used. Whoever reads it goes on without a history, and says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// It is larger than a record of ours gets.
    #[error(
        "the tool history has {bytes} bytes, at most {MAX_BYTES} are read\nhint: move the file away to begin a new one"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is no JSON, or only a part of it.
    #[error("the tool history is not JSON: {reason}\nhint: move the file away to begin a new one")]
    NotJson {
        /// What the parser says, with line and column.
        reason: String,
    },
    /// It is JSON and no record.
    #[error(
        "the tool history has no {expected} at `{at}`\nhint: move the file away to begin a new one"
    )]
    Malformed {
        /// Where, as names joined by `/`.
        at: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// A newer program wrote it.
    #[error(
        "the tool history has version {version}, this program reads {VERSION}\nhint: use the newer program, or move the file away"
    )]
    Newer {
        /// Its version.
        version: u64,
    },
}

impl History {
    /// Reads a record.
    ///
    /// # Errors
    /// When it is not whole, not one of ours, or too new. Another try does not help.
    pub fn parse(bytes: &[u8]) -> Result<Self, HistoryError> {
        if bytes.len() > MAX_BYTES {
            return Err(HistoryError::TooLarge { bytes: bytes.len() });
        }
        let value: Value =
            serde_json::from_slice(bytes).map_err(|error| HistoryError::NotJson {
                reason: error.to_string(),
            })?;
        let mut top = Node {
            at: String::new(),
            members: read::object(value, "")?,
        };
        let version = top.take("version").and_then(|version| version.as_u64());
        match version {
            Some(VERSION) => {}
            Some(version) if version > VERSION => return Err(HistoryError::Newer { version }),
            _ => return Err(top.lacks("version", "version")),
        }
        let mut history = Self::default();
        for (name, node) in top.children("servers")? {
            history.servers.insert(name, read::server(node)?);
        }
        history.rest = top.members;
        Ok(history)
    }

    /// Writes the record: one line of JSON, the same for the same record.
    #[must_use]
    pub fn to_json(&self) -> String {
        let servers: Map<String, Value> = self
            .servers
            .iter()
            .map(|(name, server)| (name.clone(), write::server_json(server)))
            .collect();
        let mut top = Map::from_iter([
            ("version".to_owned(), VERSION.into()),
            ("servers".to_owned(), servers.into()),
        ]);
        write::add_rest(&mut top, &self.rest);
        Value::Object(top).to_string()
    }
}

#[cfg(test)]
mod tests;
