//! `catalog-history.json`: what each tool used to be, as `mcpx_catalog::history` records it, shared by all daemons.
//!
//! Each change is read, made and written under a lock, so that no daemon undoes what another saw. A broken file means
//! "no history", and is told; it blocks nothing.

use std::path::PathBuf;

use jiff::Timestamp;
use mcpx_catalog::history::{History, HistoryError, MAX_BYTES};

use crate::{
    Problem, StateDir, StoreError, lock,
    state_dir::{read, replace, set_aside},
};

/// The history of a state directory.
#[derive(Clone, Debug)]
pub struct HistoryFile {
    path: PathBuf,
}

/// Why there is no history although there is a file.
enum Unusable {
    Broken(String),
    /// A newer program wrote it, or it may not be read: it is left as it is.
    NotOurs(String),
}

impl HistoryFile {
    /// Names the file; touches nothing on disk.
    #[must_use]
    pub fn new(state: &StateDir) -> Self {
        Self {
            path: state.path("catalog-history.json"),
        }
    }

    /// Reads the history. One that cannot be used is empty, and told.
    #[must_use]
    pub fn load(&self) -> (History, Option<Problem>) {
        match self.parse() {
            Ok(history) => (history, None),
            Err(Unusable::Broken(reason) | Unusable::NotOurs(reason)) => {
                (History::default(), Some(self.problem(reason)))
            }
        }
    }

    /// Changes the history under its lock, prunes it, and writes it when it differs. `change` may observe several
    /// servers; what it returns comes back with the history as it is now.
    ///
    /// A broken file is moved to `catalog-history.json.broken-DATE`, told and begun anew. One of a newer program, or one
    /// that may not be read, is told and not written over: then the history begins empty each time.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when it cannot be locked or written.
    pub fn update<T>(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut History) -> T,
    ) -> Result<Updated<T>, StoreError> {
        lock::with(&self.path, || {
            let (mut history, problem, is_kept) = match self.parse() {
                Ok(history) => (history, None, true),
                Err(Unusable::Broken(reason)) => {
                    let aside = set_aside(&self.path, now)?;
                    let reason = format!("{reason}\nit was moved to {}", aside.display());
                    (History::default(), Some(self.problem(reason)), true)
                }
                Err(Unusable::NotOurs(reason)) => {
                    (History::default(), Some(self.problem(reason)), false)
                }
            };
            let before = history.clone();
            let value = change(&mut history);
            history.prune(now);
            if is_kept && history != before {
                replace(&self.path, &[history.to_json().as_bytes(), b"\n"])?;
            }
            Ok(Updated {
                value,
                history,
                problem,
            })
        })
    }

    fn parse(&self) -> Result<History, Unusable> {
        let bytes = match read(&self.path, MAX_BYTES as u64) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(History::default()),
            Err(error @ StoreError::TooLarge { .. }) => {
                return Err(Unusable::Broken(error.to_string()));
            }
            Err(error) => return Err(Unusable::NotOurs(error.to_string())),
        };
        History::parse(&bytes).map_err(|error| match error {
            HistoryError::Newer { .. } => Unusable::NotOurs(error.to_string()),
            _ => Unusable::Broken(error.to_string()),
        })
    }

    fn problem(&self, reason: String) -> Problem {
        Problem {
            path: self.path.clone(),
            reason,
        }
    }
}

/// A history that was changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Updated<T> {
    /// What the change returned.
    pub value: T,
    /// The history as it is now.
    pub history: History,
    /// Why it did not go on from what was there.
    pub problem: Option<Problem>,
}

#[cfg(test)]
mod tests;
