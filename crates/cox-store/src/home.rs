//! Where things lie in cox's home directory, and what can go wrong there.

use std::{path::PathBuf, sync::Arc};

/// Tells the time; passed in so that tests can choose it.
pub type Clock = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// The layout of cox's home directory.
#[derive(Clone, Debug)]
pub struct Home {
    /// The directory, `~/.cox` by default.
    pub root: PathBuf,
}

/// The store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, with its path.
        what: String,
        /// The failure.
        source: std::io::Error,
    },
    /// Another process writes this session.
    #[error("session {session} is open in another process\nhint: end that one first, or start a new session")]
    Locked {
        /// The session.
        session: cox_protocol::SessionId,
    },
    /// There is no such session or archived output.
    #[error("{0}")]
    NotFound(String),
    /// The index failed.
    #[error("the session index {path}: {message}")]
    Index {
        /// Its file.
        path: PathBuf,
        /// What SQLite said.
        message: String,
    },
}
