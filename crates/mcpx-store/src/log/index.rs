//! The index of the log: SQLite, made from the files when somebody asks, and disposable.
//!
//! [`Index::refresh`] reads only files whose size or time changed, and of those only what they gained. A torn line is
//! skipped and counted. Records of files that are gone are forgotten with them.

mod chain;
mod query;
mod refresh;
mod sql;
mod stats;

use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, Transaction};

pub use chain::Link;
pub use query::Query;
pub use refresh::Refreshed;
pub use sql::{SqlError, SqlLimits, Table};
pub use stats::{
    CallStats, Dimension, ErrorStats, InstanceStats, ServerStats, SessionStats, Slow, Stats,
    VolumeStats,
};

use crate::{
    StateDir, StoreError,
    state_dir::{private_file_or_open, remove},
};

/// Version of the tables. An index of another version is made anew.
const SCHEMA_VERSION: i64 = 1;

/// How long to wait for another process that refreshes the same index.
const BUSY: Duration = Duration::from_secs(10);

/// How long to wait between two tries of what SQLite does not wait for itself.
const BUSY_STEP: Duration = Duration::from_millis(10);

const SCHEMA: &str = "\
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,   -- nanoseconds since 1970
    read_to INTEGER NOT NULL,    -- bytes
    skipped INTEGER NOT NULL     -- lines that are no records
) STRICT;
CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL,       -- files.id
    ts TEXT NOT NULL,            -- 2026-09-21T14:13:20.000000Z, sorts as text
    level TEXT NOT NULL,         -- debug, info, warn, error
    event TEXT,                  -- such as mcp.call
    server TEXT,
    tool TEXT,
    session TEXT,
    trace TEXT,
    trace_parent TEXT,
    instance TEXT,               -- NAME#SEQ
    duration_ms REAL,
    ok INTEGER,                  -- 1 or 0, where something may fail
    msg TEXT NOT NULL,
    template TEXT,               -- the message without what varies
    attributes TEXT,             -- a JSON object
    bytes INTEGER NOT NULL       -- length of the line
) STRICT;
CREATE INDEX records_by_time ON records (ts);
CREATE INDEX records_by_file ON records (file);
CREATE INDEX records_by_event ON records (event, server, tool);
CREATE INDEX records_by_trace ON records (trace);
CREATE INDEX records_by_parent ON records (trace_parent);
";

/// An open index.
#[derive(Debug)]
pub struct Index {
    state: StateDir,
    db: Connection,
    path: PathBuf,
    /// Whether nothing may be written where it should lie.
    is_in_memory: bool,
}

impl Index {
    /// Opens the index of a state directory, and makes it where there is none, one of another version or a broken one.
    /// Where there is no log, or nothing can be written, it is in memory. Holds what it held when it was last refreshed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Index`] when SQLite fails for another reason.
    pub fn open(state: &StateDir) -> Result<Self, StoreError> {
        let path = state.logs_dir().join("index.db");
        let is_in_memory = !state.logs_dir().exists() || !is_writable(&path);
        let opened = if is_in_memory {
            Connection::open_in_memory().and_then(prepared)
        } else {
            match Connection::open(&path).and_then(prepared) {
                Err(error) if is_broken(&error) => {
                    remove_all(&path)?;
                    Connection::open(&path).and_then(prepared)
                }
                other => other,
            }
        };
        Ok(Self {
            state: state.clone(),
            db: opened.map_err(|error| failed(&path, &error))?,
            path,
            is_in_memory,
        })
    }

    /// Returns where it lies, whether or not it could be written there.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the tables as SQL, with a remark on each column that needs one.
    #[must_use]
    pub fn schema() -> &'static str {
        SCHEMA
    }

    /// Reads what the log gained since the last time.
    ///
    /// # Errors
    ///
    /// [`StoreError::Index`] when SQLite fails. A file that cannot be read is counted and passed over.
    pub fn refresh(&mut self) -> Result<Refreshed, StoreError> {
        match refresh::all(&mut self.db, &self.state) {
            Err(error) if is_broken(&error) && !self.is_in_memory => {
                // The damage shows only on the pages that are touched: begin anew once.
                self.db = Connection::open_in_memory().map_err(|error| self.failed(&error))?;
                remove_all(&self.path)?;
                self.db = open_file(&self.path)?;
                refresh::all(&mut self.db, &self.state)
            }
            other => other,
        }
        .map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        failed(&self.path, error)
    }
}

fn open_file(path: &Path) -> Result<Connection, StoreError> {
    if !is_writable(path) {
        return Connection::open_in_memory()
            .and_then(prepared)
            .map_err(|error| failed(path, &error));
    }
    Connection::open(path)
        .and_then(prepared)
        .map_err(|error| failed(path, &error))
}

/// Makes the tables, anew when they are of another version.
fn prepared(mut db: Connection) -> rusqlite::Result<Connection> {
    db.busy_timeout(BUSY)?;
    use_wal(&db)?;
    // What a power cut takes away is read again from the files.
    db.pragma_update(None, "synchronous", "OFF")?;
    let transaction = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != SCHEMA_VERSION {
        drop_tables(&transaction)?;
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    }
    transaction.commit()?;
    Ok(db)
}

/// Switches to the journal that readers need not wait for. SQLite does not wait for others that switch at the same time, as
/// it waits otherwise, so this does.
fn use_wal(db: &Connection) -> rusqlite::Result<()> {
    for _ in 0..BUSY.as_millis() / BUSY_STEP.as_millis() {
        match db.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                thread::sleep(BUSY_STEP);
            }
            other => return other,
        }
    }
    db.pragma_update(None, "journal_mode", "WAL")
}

fn drop_tables(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let names: Vec<String> = transaction
        .prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    names.iter().try_for_each(|name| {
        let name = name.replace('"', "\"\"");
        transaction.execute_batch(&format!("DROP TABLE \"{name}\""))
    })
}

/// Makes the file where there is none: SQLite makes its other files with the permissions of this one.
fn is_writable(path: &Path) -> bool {
    private_file_or_open(path, OpenOptions::new().write(true)).is_ok()
}

fn is_broken(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Removes a broken index; there is nothing in it that is not in the log.
fn remove_all(path: &Path) -> Result<(), StoreError> {
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        remove(Path::new(&name))?;
    }
    private_file_or_open(path, OpenOptions::new().write(true))
        .map(drop)
        .map_err(|error| StoreError::io("create", path, error))
}

fn failed(path: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::Index {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

/// Returns the size of a file and when it was last written, in nanoseconds since 1970.
fn stamp(path: &Path) -> io::Result<(i64, i64)> {
    let metadata = fs::metadata(path)?;
    let since = metadata
        .modified()?
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let signed = |number: u128| i64::try_from(number).unwrap_or(i64::MAX);
    Ok((signed(metadata.len().into()), signed(since.as_nanos())))
}

#[cfg(test)]
mod tests;
