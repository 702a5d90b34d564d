//! Files whose names fit a glob.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use super::{
    Bounds, SearchError,
    walk::{Narrow, PathGlob, walk},
};

/// What to look for.
#[derive(Clone, Debug)]
pub struct FileQuery {
    /// The folder to look in, by its real path.
    pub under: PathBuf,
    /// `*.rs` fits names at any depth, a glob with a `/` fits paths below `under`.
    pub glob: String,
}

/// A file that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHit {
    /// Its real path.
    pub path: PathBuf,
    /// When it was last changed, where that can be told.
    pub modified: Option<SystemTime>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileHits {
    /// Newest first, ties by path.
    pub files: Vec<FileHit>,
    /// Whether there are files below that may not be read, whatever their names.
    pub has_denied: bool,
    /// Whether time ran out before every folder was looked at.
    pub timed_out: bool,
    /// Folders that could not be read.
    pub failed: usize,
}

/// Finds files by name.
///
/// # Errors
///
/// [`SearchError`] for a glob that cannot be read, or a search that was stopped.
pub fn find_files(query: &FileQuery, bounds: &Bounds<'_>) -> Result<FileHits, SearchError> {
    let narrow = Narrow {
        glob: Some(PathGlob::new(&query.glob)?),
        file_type: None,
    };
    let found: Mutex<Vec<FileHit>> = Mutex::default();
    let walked = walk(&query.under, &narrow, bounds, || {
        let found = &found;
        |entry: &ignore::DirEntry| {
            let modified = entry.metadata().ok().and_then(|meta| meta.modified().ok());
            let hit = FileHit {
                path: entry.path().to_owned(),
                modified,
            };
            found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(hit);
        }
    })?;
    let mut files = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    files.sort_by(|a, b| {
        b.modified
            .cmp(&a.modified)
            .then_with(|| a.path.cmp(&b.path))
    });
    Ok(FileHits {
        files,
        has_denied: walked.has_denied,
        timed_out: walked.timed_out,
        failed: walked.failed,
    })
}
