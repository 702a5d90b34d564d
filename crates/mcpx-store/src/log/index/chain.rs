//! A trace with the ones that began it and the ones that it began.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rusqlite::OptionalExtension as _;
use serde::Serialize;

use super::{Index, query::COLUMNS};
use crate::{StoreError, log::Entry};

/// Most traces of a chain.
const MAX_TRACES: usize = 1_000;

/// One trace of a chain. The chain is a tree, written as a list: a link's children follow it, one level deeper.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// How deep it stands; 0 for the one that began everything.
    pub depth: usize,
    /// The trace.
    pub trace: String,
    /// The one that began it, whether or not it left records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its records, oldest first.
    pub records: Vec<Entry>,
}

impl Index {
    /// Walks from a trace to the one that began everything, and returns that with all that followed: each before those
    /// that it began, the oldest first. Empty for a trace that is not in the log; at most 1,000 traces.
    ///
    /// # Errors
    ///
    /// [`StoreError::Index`] when SQLite fails.
    pub fn chain(&self, trace: &str) -> Result<Vec<Link>, StoreError> {
        let root = self.root_of(trace)?;
        let tree = self.below(&root)?;
        let mut links = Vec::new();
        // A stack instead of a recursion: how deep it goes is up to who wrote the records.
        let mut waiting = vec![(0, None, root)];
        let mut seen = BTreeSet::new();
        while let Some((depth, parent, trace)) = waiting.pop() {
            if !seen.insert(trace.clone()) {
                continue;
            }
            let children = tree.get(&trace).into_iter().flatten().rev();
            waiting.extend(children.map(|child| (depth + 1, Some(trace.clone()), child.clone())));
            let sql = format!("SELECT {COLUMNS} FROM records WHERE trace = ?1 ORDER BY ts, id");
            let records = self.entries(&sql, &[&trace])?;
            let parent = parent.or_else(|| {
                records
                    .iter()
                    .find_map(|entry| entry.record.trace_parent.clone())
            });
            links.push(Link {
                depth,
                trace,
                parent,
                records,
            });
        }
        if links.iter().all(|link| link.records.is_empty()) {
            links.clear();
        }
        Ok(links)
    }

    fn root_of(&self, trace: &str) -> Result<String, StoreError> {
        let mut trace = trace.to_owned();
        let mut seen = BTreeSet::new();
        while seen.len() < MAX_TRACES && seen.insert(trace.clone()) {
            let parent: Option<String> = self
                .db
                .query_row(
                    "SELECT trace_parent FROM records WHERE trace = ?1 AND trace_parent IS NOT NULL ORDER BY ts, id LIMIT 1",
                    [&trace],
                    |row| row.get(0),
                )
                .optional()
                .map_err(|error| self.failed(&error))?;
            match parent {
                Some(parent) if !seen.contains(&parent) => trace = parent,
                _ => break,
            }
        }
        Ok(trace)
    }

    /// Returns the children of each trace below `root`, the oldest first.
    fn below(&self, root: &str) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
        let read = || {
            let mut statement = self.db.prepare_cached(
                "SELECT trace FROM records WHERE trace_parent = ?1 AND trace IS NOT NULL GROUP BY trace ORDER BY MIN(ts), MIN(id)",
            )?;
            let mut tree = BTreeMap::new();
            let mut seen = BTreeSet::from([root.to_owned()]);
            let mut waiting = VecDeque::from([root.to_owned()]);
            while let Some(parent) = waiting.pop_front() {
                let mut children = Vec::new();
                for child in statement.query_map([&parent], |row| row.get::<_, String>(0))? {
                    let child = child?;
                    if seen.len() < MAX_TRACES && seen.insert(child.clone()) {
                        waiting.push_back(child.clone());
                        children.push(child);
                    }
                }
                tree.insert(parent, children);
            }
            Ok(tree)
        };
        read().map_err(|error| self.failed(&error))
    }
}
