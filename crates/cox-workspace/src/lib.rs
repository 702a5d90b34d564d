//! The files cox may touch, and every way it changes them.
//!
//! A path is judged by [`mod@confine`]; what is read comes through [`mod@file`] and [`search`]; what is changed is computed as bytes
//! ([`edit`], [`patch`]) and written as one [`write_set`]. Nothing here knows tools, rules or a network.
#![allow(
    clippy::disallowed_methods,
    reason = "this is the door to the workspace's files"
)]

pub mod confine;
pub(crate) mod failpoint;
pub mod file;
pub(crate) mod folder;

pub mod edit;
pub mod in_words;
pub(crate) mod locate;
pub mod new_file;
pub mod patch;
pub(crate) mod recode;
pub(crate) mod splice;

pub mod write_set;

pub mod diff;
pub mod search;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use confine::{Access, ConfineError, Confined, Roots, confine};
pub use file::{Digest, ReadError};
pub use recode::Unwritable;
pub use write_set::{Begun, Journal, PreImages, Receipt, Unfinished, WriteError, WriteSet};

/// The files of a session.
#[derive(Debug)]
pub struct Workspace {
    roots: Arc<Roots>,
    /// What a model last saw of each file, by real path. Grows by 100 bytes for every file that is read.
    seen: Mutex<HashMap<PathBuf, Digest>>,
    /// How often a call with these arguments failed since the last change that was made.
    failed: Mutex<HashMap<Digest, usize>>,
}

/// Calls that are remembered as failed at most.
const MAX_FAILED: usize = 1000;

impl Workspace {
    /// Makes a workspace over these roots.
    pub fn new(roots: Arc<Roots>) -> Self {
        Self {
            roots,
            seen: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    /// Returns the roots.
    pub fn roots(&self) -> &Arc<Roots> {
        &self.roots
    }

    /// Judges a path; see [`confine()`].
    ///
    /// # Errors
    ///
    /// [`ConfineError`] for a path outside the roots.
    pub fn confine(&self, written: &str, access: Access) -> Result<Confined, ConfineError> {
        confine(&self.roots, written, access)
    }

    /// Returns a path as people write it: relative to the working directory when it lies in it.
    pub fn shown(&self, real: &Path) -> String {
        match real.strip_prefix(&self.roots.cwd) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => real.display().to_string(),
        }
    }

    /// Remembers what a model saw of a file, or left in it.
    pub fn remember_seen(&self, real: &Path, digest: Digest) {
        self.lock_seen().insert(real.to_owned(), digest);
    }

    /// Forgets a file that is gone.
    pub fn forget_seen(&self, real: &Path) {
        self.lock_seen().remove(real);
    }

    /// Returns what a model last saw of a file, if it read it.
    pub fn seen(&self, real: &Path) -> Option<Digest> {
        self.lock_seen().get(real).copied()
    }

    /// Notes that a change failed, by the digest of what was asked for, and returns how often it did since the last
    /// change that was made.
    pub fn note_failed(&self, asked: Digest) -> usize {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.len() >= MAX_FAILED {
            failed.clear();
        }
        let times = failed.entry(asked).or_default();
        *times += 1;
        *times
    }

    /// Notes that a change was made: what failed before may work now.
    pub fn note_changed(&self) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.clear();
    }

    fn lock_seen(&self) -> MutexGuard<'_, HashMap<PathBuf, Digest>> {
        // A map of digests is whole after any panic.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
