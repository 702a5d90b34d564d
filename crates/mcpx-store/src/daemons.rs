//! Records of running daemons, `daemon-KEY.json`: how a command finds the daemon of its configuration.
//!
//! The key names a set of configuration files, so each daemon has a file of its own. A record is written only over one
//! whose process is gone, and removed only by the process that wrote it.

use std::{fmt, path::PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Problem, StateDir, StoreError, lock, process, random,
    state_dir::{checked_name, entries, read, remove, replace},
};

/// Largest record that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A running daemon. `Debug` does not show the token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonRecord {
    /// Names the set of configuration files; part of the file's name.
    pub key: String,
    /// Its process.
    pub pid: u32,
    /// When that process started, as [`process::started`] says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_started: Option<u64>,
    /// Its Unix socket.
    pub socket: PathBuf,
    /// Its HTTP address on loopback, `http://127.0.0.1:PORT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The bearer token for `endpoint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The configuration files.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// Hash of the server definitions.
    #[serde(default)]
    pub config_hash: String,
    /// The program's version.
    #[serde(default)]
    pub version: String,
    /// When the daemon began to serve.
    #[serde(with = "crate::time")]
    pub started_at: Timestamp,
    /// Tells this run of a daemon from every other; see [`nonce`].
    pub nonce: String,
}

impl fmt::Debug for DaemonRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DaemonRecord")
            .field("key", &self.key)
            .field("pid", &self.pid)
            .field("process_started", &self.process_started)
            .field("socket", &self.socket)
            .field("endpoint", &self.endpoint)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("files", &self.files)
            .field("config_hash", &self.config_hash)
            .field("version", &self.version)
            .field("started_at", &self.started_at)
            .field("nonce", &self.nonce)
            .finish()
    }
}

/// The records of a state directory.
#[derive(Clone, Debug)]
pub struct Daemons {
    state: StateDir,
}

/// The records that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Those that can be read, by key. Their processes may be gone: see [`DaemonRecord::is_alive`].
    pub records: Vec<DaemonRecord>,
    /// Files that are none.
    pub broken: Vec<Problem>,
}

/// Returns a new nonce: 32 hex digits that nobody can guess.
///
/// # Errors
///
/// [`StoreError::NoRandomness`].
pub fn nonce() -> Result<String, StoreError> {
    random::hex()
}

impl DaemonRecord {
    /// Says whether its process still runs; nothing when that cannot be told.
    #[must_use]
    pub fn is_alive(&self) -> Option<bool> {
        process::is_alive(self.pid, self.process_started)
    }

    /// Says whether a process of this number and nonce wrote it.
    #[must_use]
    pub fn is_of(&self, pid: u32, nonce: &str) -> bool {
        self.pid == pid && self.nonce == nonce
    }
}

impl Daemons {
    /// Names the records of a state directory; touches nothing on disk.
    #[must_use]
    pub fn new(state: &StateDir) -> Self {
        Self {
            state: state.clone(),
        }
    }

    /// Writes a daemon's record, over its own earlier one, a broken one or one whose process is gone.
    ///
    /// # Errors
    ///
    /// [`StoreError::Occupied`] when another process that runs has this key; [`StoreError::Io`] and
    /// [`StoreError::BadName`].
    pub fn write(&self, record: &DaemonRecord) -> Result<(), StoreError> {
        self.put(record, None)
    }

    /// Writes the record of a daemon that takes over from the one with `nonce`, although that one still runs.
    ///
    /// # Errors
    ///
    /// As [`Daemons::write`], for a record of any other.
    pub fn take_over(&self, record: &DaemonRecord, nonce: &str) -> Result<(), StoreError> {
        self.put(record, Some(nonce))
    }

    fn put(&self, record: &DaemonRecord, predecessor: Option<&str>) -> Result<(), StoreError> {
        let path = self.path(&record.key)?;
        lock::with(&path, || {
            if let Ok(Some(there)) = self.read(&record.key)
                && !there.is_of(record.pid, &record.nonce)
                && predecessor != Some(&there.nonce)
                && there.is_alive() == Some(true)
            {
                return Err(StoreError::Occupied {
                    path: path.clone(),
                    pid: there.pid,
                });
            }
            let text = serde_json::to_vec_pretty(record)
                .map_err(|error| StoreError::io("write", &path, error.into()))?;
            replace(&path, &[&text, b"\n"])
        })
    }

    /// Reads the record of a key; nothing when there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] also when the file is no record.
    pub fn read(&self, key: &str) -> Result<Option<DaemonRecord>, StoreError> {
        let path = self.path(key)?;
        let Some(bytes) = read(&path, MAX_BYTES)? else {
            return Ok(None);
        };
        let record: DaemonRecord = serde_json::from_slice(&bytes).map_err(|error| {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
            StoreError::io("understand the daemon record", &path, source)
        })?;
        Ok(Some(record))
    }

    /// Lists the records. Never fails: what is broken is in the listing.
    #[must_use]
    pub fn list(&self) -> Listing {
        let mut listing = Listing::default();
        for path in entries(self.state.root()) {
            let key = path
                .file_name()
                .and_then(|name| name.to_str())
                .and_then(|name| name.strip_prefix("daemon-")?.strip_suffix(".json"));
            let Some(key) = key else { continue };
            let reason = match self.read(key) {
                Ok(Some(record)) if record.key == key => {
                    listing.records.push(record);
                    continue;
                }
                Ok(Some(record)) => format!("it is the record of another key, `{}`", record.key),
                // Removed since.
                Ok(None) => continue,
                Err(error) => error.to_string(),
            };
            listing.broken.push(Problem { path, reason });
        }
        listing
    }

    /// Removes the record of a key, when the process with this number and nonce wrote it. Returns whether it did.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] and [`StoreError::BadName`].
    pub fn remove_if(&self, key: &str, pid: u32, nonce: &str) -> Result<bool, StoreError> {
        let path = self.path(key)?;
        lock::with(&path, || match self.read(key) {
            Ok(Some(record)) if record.is_of(pid, nonce) => remove(&path),
            _ => Ok(false),
        })
    }

    fn path(&self, key: &str) -> Result<PathBuf, StoreError> {
        let key = checked_name("daemon key", key)?;
        Ok(self.state.path(&format!("daemon-{key}.json")))
    }
}

#[cfg(test)]
mod tests;
