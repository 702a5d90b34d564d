//! Keeps every path that a model names inside the roots.

use std::path::PathBuf;

/// The folders that may be read and written. All absolute and real (no links).
#[derive(Clone, Debug)]
pub struct Roots {
    /// Relative paths start here. Lies in the first readable root.
    pub cwd: PathBuf,
    /// The person's home, for `~/`.
    pub home: PathBuf,
    /// Folders that may be read.
    pub readable: Vec<PathBuf>,
    /// Folders that may be written.
    pub writable: Vec<PathBuf>,
}

/// What a path is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To be read.
    Read,
    /// To be created, changed or deleted.
    Write,
}

/// A path that lies inside a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// As the model wrote it.
    pub written: String,
    /// Absolute and lexically normal; links not followed.
    pub lexical: PathBuf,
    /// Absolute, with the links of its deepest existing ancestor resolved; work on this one.
    pub real: PathBuf,
    /// The root it lies in.
    pub root: PathBuf,
}

/// A path that may not be touched.
#[derive(Debug, thiserror::Error)]
#[error("outside the roots")]
pub struct ConfineError;

/// Returns where `written` leads, if that is inside the roots for `access`.
///
/// # Errors
///
/// [`ConfineError`] names the path as written and as resolved, and the roots.
pub fn confine(roots: &Roots, written: &str, access: Access) -> Result<Confined, ConfineError> {
    let _ = (roots, written, access);
    Err(ConfineError)
}
