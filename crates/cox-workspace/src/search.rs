//! Searches a folder: the lines that match a pattern, and the files whose names do.
//!
//! `.gitignore` and `.ignore` are honoured with or without a repository, hidden files are searched, `.git` is not, binary
//! files are skipped, links are not followed. Work is spread over the processors; results come sorted, whatever the order
//! they were found in. What a caller may not read is not opened.

pub(crate) mod file_type;
pub mod files;
pub mod lines;
#[cfg(test)]
mod tests;
mod walk;
mod watched;

use std::time::Instant;

pub use files::{FileHit, FileHits, FileQuery};
pub use lines::{LineHits, LineQuery, Show};

/// What a search asks its caller.
pub struct Bounds<'a> {
    /// Whether a file may be read, by its real path. Asked before the file is opened.
    pub may_read: &'a (dyn Fn(&std::path::Path) -> bool + Sync),
    /// Whether to stop and return nothing.
    pub cancelled: &'a (dyn Fn() -> bool + Sync),
    /// When to stop and return what was found.
    pub deadline: Instant,
}

impl Bounds<'_> {
    fn says_stop(&self) -> bool {
        (self.cancelled)() || Instant::now() >= self.deadline
    }
}

/// A search that cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The pattern is not a regular expression.
    #[error(
        "bad pattern `{pattern}`: {problem}\nhint: this is Rust regex syntax, without look-around and back-references; write `\\(`, `\\{{`, `\\[` for the plain characters"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it, and where.
        problem: String,
    },
    /// The pattern takes too much memory.
    #[error(
        "the pattern `{pattern}` is too large\nhint: make its repetitions smaller, or write `(?-u:\\w)` for letters of ASCII alone"
    )]
    LargePattern {
        /// The pattern.
        pattern: String,
    },
    /// A glob cannot be read.
    #[error("bad glob `{glob}`: {problem}\nhint: such as `*.rs`, `src/**/*.{{ts,tsx}}`")]
    Glob {
        /// The glob.
        glob: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no such type of files.
    #[error("there is no file type `{name}`\nhint: {near}")]
    Type {
        /// The type.
        name: String,
        /// Types that there are.
        near: String,
    },
    /// The caller said stop.
    #[error("cancelled")]
    Cancelled,
}
