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
pub(crate) mod locate;
pub mod patch;
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
pub use write_set::{Begun, Journal, PreImages, Receipt, Unfinished, WriteError, WriteSet};

/// The files of a session.
#[derive(Debug)]
pub struct Workspace {
    roots: Arc<Roots>,
    /// What a model last saw of each file, by real path. Grows by 100 bytes for every file that is read.
    seen: Mutex<HashMap<PathBuf, Digest>>,
}

impl Workspace {
    /// Makes a workspace over these roots.
    pub fn new(roots: Arc<Roots>) -> Self {
        Self {
            roots,
            seen: Mutex::default(),
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

    fn lock_seen(&self) -> MutexGuard<'_, HashMap<PathBuf, Digest>> {
        // A map of digests is whole after any panic.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
