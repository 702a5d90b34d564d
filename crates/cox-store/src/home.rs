//! Where things lie in cox's home directory, and what can go wrong there.
//!
//! Directories are made for their owner only (0700), files too (0600), and none before it is needed.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cox_protocol::{ArchiveId, SessionId};

/// Tells the time; passed in so that tests can choose it.
pub type Clock = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// The layout of cox's home directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The directory, `~/.cox` by default.
    pub root: PathBuf,
}

impl Home {
    /// Names a home directory; touches nothing on disk.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the folder of the rollouts.
    pub fn sessions_dir(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Returns the file of a session's rollout.
    pub fn rollout_path(&self, session: SessionId) -> PathBuf {
        self.sessions_dir().join(format!("{session}.jsonl"))
    }

    /// Returns the folder of the archive.
    pub fn archive_dir(&self) -> PathBuf {
        self.root.join("archive")
    }

    /// Returns the file of an archived output.
    pub fn archive_path(&self, id: ArchiveId) -> PathBuf {
        self.archive_dir().join(id.to_string())
    }

    /// Returns the folder of the records of unfinished changes.
    pub fn write_sets_dir(&self) -> PathBuf {
        self.root.join("write-sets")
    }

    /// Returns the file of the session index.
    pub fn index_path(&self) -> PathBuf {
        self.root.join("index.db")
    }
}

/// The store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system failed.
    #[error("{what}: {source}{}", hint(source))]
    Io {
        /// What was being done, with its path.
        what: String,
        /// The failure.
        source: io::Error,
    },
    /// Another process writes this session.
    #[error(
        "session {session} is open in another process\nhint: end that one first, or start a new session"
    )]
    Locked {
        /// The session.
        session: SessionId,
    },
    /// There is no such session or archived output.
    #[error("{0}")]
    NotFound(String),
    /// The index failed.
    #[error(
        "the session index {path}: {message}\nhint: it can be deleted, it is rebuilt from the sessions"
    )]
    Index {
        /// Its file.
        path: PathBuf,
        /// What SQLite said.
        message: String,
    },
}

impl StoreError {
    /// Wraps a failure of the system with what was being done.
    pub(crate) fn io(verb: &str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            what: format!("cannot {verb} {}", path.display()),
            source,
        }
    }
}

/// Says what to do about a disk that takes nothing.
fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "\nhint: free some space, or choose another home with `COX_HOME`"
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "\nhint: cox keeps its sessions there: make it writable, or choose another home with `COX_HOME`"
        }
        _ => "",
    }
}

/// Makes a directory, with its parents, for its owner only. One that exists is left as it is.
pub(crate) fn private_dir(path: &Path) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(path)
        .map_err(|error| StoreError::io("create", path, error))
}

/// Creates a new file for its owner only; one that exists is an error.
pub(crate) fn private_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.create_new(true).open(path)
}
