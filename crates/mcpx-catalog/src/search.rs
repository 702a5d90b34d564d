//! From words to tools: names first, then what is written about them.
//!
//! A query that spells a tool's name finds it before anything else, in whatever spelling ([`names`](crate::names),
//! `camelCase`, with or without the server); then tools whose names begin that way. Several names in one query each get
//! a hit before any gets a second. The rest is ranked by BM25 over the words of the name, the server, the parameters and
//! the description, which count in that order. A word also finds others of its family (`creation` and `create`) and a few
//! that mean the same; one that no tool has finds what it begins, what it puts together, or what it is a slip of, and two
//! words find the one that they make. All of these count for less than the word itself. Equal scores are ordered by server and name, so that the same index and
//! query always give the same answer.
//!
//! The text of a tool is bounded before it is read ([`MAX_TEXT_CHARS`], [`MAX_WORDS`]), and a word that is repeated
//! counts for less each time: a description cannot shout its way up.

mod index;
mod lookup;
mod near;
pub(crate) mod stem;

use std::collections::BTreeMap;

use mcp_wire::Tool;

use crate::shape::Shape;
use index::Index;
use lookup::Lookup;

/// Characters of a title or description that are read.
pub const MAX_TEXT_CHARS: usize = 4_000;
/// Most different words of one tool.
pub const MAX_WORDS: usize = 400;
/// Most parameters of one tool.
pub const MAX_PARAMETERS: usize = 100;
/// Characters of a query that are read.
pub const MAX_QUERY_CHARS: usize = 1_000;
/// Words of a query that are read.
pub const MAX_QUERY_WORDS: usize = 32;

/// What is searched of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its name, as its server spells it.
    pub name: String,
    /// Title and description.
    pub text: String,
    /// The names of its arguments, nested ones too.
    pub parameters: Vec<String>,
}

impl Entry {
    /// Takes what is searched from a tool and the shape of its arguments.
    #[must_use]
    pub fn of(tool: &Tool, input: &Shape) -> Self {
        let mut text = tool.title().unwrap_or_default();
        if let Some(description) = tool.description() {
            text.push('\n');
            text.push_str(&description);
        }
        Self {
            name: tool.name.clone(),
            text,
            parameters: input
                .fields
                .iter()
                .map(|field| field.path.clone())
                .collect(),
        }
    }
}

/// Why a tool was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// The query spells its name.
    Name,
    /// Its name begins as the query spells.
    NamePrefix,
    /// By what is written about it.
    Words,
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The server, by its own name.
    pub server: String,
    /// The tool, by its server's name for it.
    pub tool: String,
    /// Why.
    pub matched: Match,
    /// How well the words fit: comparable within one answer, never below 0.
    pub score: f32,
}

/// The tools of all servers, ready to be searched.
#[derive(Debug, Clone, Default)]
pub struct Search {
    index: Index,
    servers: BTreeMap<String, Vec<u32>>,
}

impl Search {
    /// Puts the tools of `server` in the place of those it had.
    pub fn replace(&mut self, server: &str, entries: &[Entry]) {
        self.remove(server);
        let ids = entries
            .iter()
            .map(|entry| self.index.add(server, entry))
            .collect();
        self.servers.insert(server.to_owned(), ids);
    }

    /// Takes the tools of `server` out.
    pub fn remove(&mut self, server: &str) {
        for id in self.servers.remove(server).unwrap_or_default() {
            self.index.remove(id);
        }
    }

    /// How many tools can be found.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The best `limit` tools for `query`, best first. A query without words finds nothing.
    #[must_use]
    pub fn find(&self, query: &str, limit: usize) -> Vec<Hit> {
        let end = query
            .char_indices()
            .nth(MAX_QUERY_CHARS)
            .map_or(query.len(), |(at, _)| at);
        let lookup = Lookup::new(&self.index, &query[..end]);
        lookup.best(limit)
    }
}

#[cfg(test)]
mod tests;
