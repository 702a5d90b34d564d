//! What each tool used to be: one change list for each tool, made by comparing each reading of a server with the one
//! before.
//!
//! The first reading of a server is an inventory, not a change. A tool that is gone is remembered for a while, so that
//! one that comes back is known. The record is bounded: the newest [`MAX_CHANGES`] of a tool, [`MAX_TOOLS`] of a server,
//! and [`History::prune`] drops what is old. [`History::parse`] and [`History::to_json`] are the content of
//! `catalog-history.json`; who reads a file that is broken has no history and says so, and blocks nothing.

mod change;
mod diff;
mod file;
mod rename;
mod snapshot;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use mcp_wire::Tool;
use serde_json::{Map, Value};

pub use change::{Change, Difference, Kind};
pub use diff::diff;
pub use file::{HistoryError, MAX_BYTES};
pub use snapshot::{Aspect, Snapshot};

/// Most changes that are kept of a tool, the newest.
pub const MAX_CHANGES: usize = 8;
/// Most tools that are recorded of one server, by name; others are neither compared nor reported.
pub const MAX_TOOLS: usize = 20_000;
/// Longest name of a tool that is recorded.
pub const MAX_NAME_BYTES: usize = 1_000;
/// How long a tool is remembered after it was gone.
pub const KEEP_GONE: SignedDuration = SignedDuration::from_hours(90 * 24);
/// How long a server is remembered after it was last read.
pub const KEEP_UNREAD: SignedDuration = SignedDuration::from_hours(365 * 24);

/// The record of all servers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    servers: BTreeMap<String, Server>,
    rest: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
struct Server {
    read: Timestamp,
    tools: BTreeMap<String, Record>,
    rest: Map<String, Value>,
}

/// What is kept of one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// As it was last seen.
    pub last: Snapshot,
    /// Since when it is gone.
    pub gone: Option<Timestamp>,
    /// Newest first, of one reading the gravest first; at most [`MAX_CHANGES`].
    pub changes: Vec<Change>,
    rest: Map<String, Value>,
}

/// A change with the tool that it is about, by the names that their owners chose.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// What changed, and when that was seen.
    pub change: Change,
}

impl History {
    /// Compares a whole reading of `server` with the one before and records it; what changed, by tool.
    ///
    /// `unreadable` names tools that are in the list and could not be read: they stay as they were. A reading that
    /// failed is not observed at all, or every tool would seem removed.
    pub fn observe(
        &mut self,
        server: &str,
        tools: &[Tool],
        unreadable: &[&str],
        when: Timestamp,
    ) -> Vec<Seen> {
        let is_first = !self.servers.contains_key(server);
        let entry = self
            .servers
            .entry(server.to_owned())
            .or_insert_with(|| Server {
                read: when,
                tools: BTreeMap::new(),
                rest: Map::new(),
            });
        entry.read = when;
        let mut seen = Vec::new();
        let mut add = |record: &mut Record, tool: &str, differences: Vec<Difference>| {
            let changes: Vec<_> = differences
                .into_iter()
                .map(|difference| Change {
                    when,
                    difference,
                    rest: Map::new(),
                })
                .collect();
            seen.extend(changes.iter().map(|change| Seen {
                server: server.to_owned(),
                tool: tool.to_owned(),
                change: change.clone(),
            }));
            record.changes.splice(0..0, changes);
            record.changes.truncate(MAX_CHANGES);
        };
        let listed: BTreeMap<&str, &Tool> = tools
            .iter()
            .map(|tool| (tool.name.as_str(), tool))
            .collect();
        let mut room = MAX_TOOLS.saturating_sub(entry.tools.len());
        for (name, tool) in &listed {
            let now = Snapshot::of(tool);
            if let Some(record) = entry.tools.get_mut(*name) {
                let differences = record.update(now);
                add(record, name, differences);
            } else if room > 0 && name.len() <= MAX_NAME_BYTES {
                room -= 1;
                let record = entry.tools.entry((*name).to_owned()).or_insert(Record {
                    last: now,
                    gone: None,
                    changes: Vec::new(),
                    rest: Map::new(),
                });
                if !is_first {
                    add(
                        record,
                        name,
                        vec![whole(Kind::ToolAdded, "the tool was added")],
                    );
                }
            }
        }
        let unreadable: BTreeSet<&str> = unreadable.iter().copied().collect();
        for (name, record) in &mut entry.tools {
            let is_there = listed.contains_key(name.as_str()) || unreadable.contains(name.as_str());
            if !is_there && record.gone.is_none() {
                record.gone = Some(when);
                add(
                    record,
                    name,
                    vec![whole(Kind::ToolRemoved, "the tool was removed")],
                );
            }
        }
        seen.sort_by(|a, b| a.tool.cmp(&b.tool));
        seen
    }

    /// What was recorded as `from` goes on as `to`, when nothing is recorded as that.
    pub fn adopt(&mut self, from: &str, to: &str) {
        if !self.servers.contains_key(to)
            && let Some(server) = self.servers.remove(from)
        {
            self.servers.insert(to.to_owned(), server);
        }
    }

    /// A part of the record, by the names that `name` gives; the first one that gives a name has it.
    #[must_use]
    pub fn part(&self, name: impl Fn(&str) -> Option<String>) -> Self {
        let mut servers = BTreeMap::new();
        for (key, server) in &self.servers {
            if let Some(name) = name(key) {
                servers.entry(name).or_insert_with(|| server.clone());
            }
        }
        Self {
            servers,
            rest: Map::new(),
        }
    }

    /// Whether a reading of `server` was ever recorded.
    #[must_use]
    pub fn has_read(&self, server: &str) -> bool {
        self.servers.contains_key(server)
    }

    /// What is kept of a tool.
    #[must_use]
    pub fn record(&self, server: &str, tool: &str) -> Option<&Record> {
        self.servers.get(server)?.tools.get(tool)
    }

    /// Every tool with its record, by server and name: also those that are gone, and those that never changed.
    pub fn records(&self) -> impl Iterator<Item = (&str, &str, &Record)> {
        self.servers.iter().flat_map(|(server, entry)| {
            let tools = entry.tools.iter();
            tools.map(move |(tool, record)| (server.as_str(), tool.as_str(), record))
        })
    }

    /// The change that may explain why a call was wrong: with a `field`, the newest that names it; without, the newest.
    #[must_use]
    pub fn explaining(&self, server: &str, tool: &str, field: Option<&str>) -> Option<&Change> {
        let changes = &self.record(server, tool)?.changes;
        match field {
            Some(field) => changes.iter().find(|change| change.names(field)),
            None => changes.first(),
        }
    }

    /// Drops tools that are gone for longer than [`KEEP_GONE`] and servers that were not read for [`KEEP_UNREAD`].
    pub fn prune(&mut self, now: Timestamp) {
        self.servers
            .retain(|_, server| now.duration_since(server.read) <= KEEP_UNREAD);
        for server in self.servers.values_mut() {
            server.tools.retain(|_, record| {
                record
                    .gone
                    .is_none_or(|gone| now.duration_since(gone) <= KEEP_GONE)
            });
        }
    }
}

impl Record {
    /// Takes the snapshot of now; what differs from the one before.
    fn update(&mut self, mut now: Snapshot) -> Vec<Difference> {
        let mut differences = diff(&self.last, &now);
        if self.gone.take().is_some() {
            differences.insert(
                0,
                whole(
                    Kind::ToolReappeared,
                    "the tool is back after it was removed",
                ),
            );
        }
        // A schema that cannot be read hides nothing: the one before stays to be compared with.
        keep_readable(&self.last.input, &mut now.input);
        if let (Some(last), Some(output)) = (&self.last.output, &mut now.output) {
            keep_readable(last, output);
        }
        self.last = now;
        differences
    }
}

fn keep_readable(last: &crate::shape::Shape, now: &mut crate::shape::Shape) {
    if now.unread.is_some() {
        now.fields.clone_from(&last.fields);
        now.cut = last.cut;
    }
}

fn whole(kind: Kind, what: &str) -> Difference {
    Difference {
        kind,
        field: None,
        from: None,
        what: what.to_owned(),
    }
}

#[cfg(test)]
mod tests;
