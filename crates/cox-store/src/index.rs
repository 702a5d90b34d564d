//! The index: SQLite with full-text search over the rollouts, rebuilt from them when missing or old.
//!
//! Holds nothing that is not in a rollout: deleting it loses nothing. [`Index::refresh`] reads only what the rollouts
//! gained since the last time. No running session writes here; `cox run` never opens it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::Duration,
};

use cox_protocol::SessionId;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, params};

use crate::{
    Home, StoreError,
    home::private_file,
    rollout::{Line, Stored, from_line, list_ids, may_follow},
};

mod absorb;
mod ledger;
mod search;

pub use ledger::{By, LedgerFilter, LedgerRow};
pub use search::Hit;

/// Version of the tables. An index of another version is made anew.
const SCHEMA_VERSION: i64 = 1;

/// How long to wait for another process that refreshes the same index.
const BUSY: Duration = Duration::from_secs(5);

/// How long to wait between two tries of what SQLite does not wait for itself.
const BUSY_STEP: Duration = Duration::from_millis(10);

/// Lines that are read before what they say is written down.
const LINES_AT_ONCE: usize = 5_000;

const SCHEMA: &str = "
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, created INTEGER NOT NULL, updated INTEGER NOT NULL, cwd TEXT NOT NULL, provider TEXT NOT NULL,
    model TEXT NOT NULL, title TEXT NOT NULL, turns INTEGER NOT NULL, cost INTEGER NOT NULL, state TEXT NOT NULL,
    read_to INTEGER NOT NULL, last_seq INTEGER NOT NULL
) STRICT;
CREATE TABLE usage (
    session TEXT NOT NULL, turn INTEGER NOT NULL, at INTEGER NOT NULL, day TEXT NOT NULL, provider TEXT NOT NULL,
    model TEXT NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL, cost INTEGER, latency_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX usage_by_session ON usage (session);
CREATE INDEX usage_by_time ON usage (at);
CREATE VIRTUAL TABLE text USING fts5 (body, session UNINDEXED, turn UNINDEXED, role UNINDEXED);
";

/// An open index.
#[derive(Debug)]
pub struct Index {
    home: Home,
    db: Connection,
    /// Where it lies; none for one in memory.
    path: Option<PathBuf>,
}

/// A session as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The session.
    pub id: SessionId,
    /// When it began.
    pub created: jiff::Timestamp,
    /// When its rollout last grew.
    pub updated: jiff::Timestamp,
    /// The working directory it began in.
    pub cwd: String,
    /// The provider it was last opened with.
    pub provider: String,
    /// The model it was last opened with.
    pub model: String,
    /// First line of the first prompt, at most 120 characters; empty before there is one. Text from outside.
    pub title: String,
    /// Turns begun.
    pub turns: u32,
    /// What it cost, as far as prices were known.
    pub cost: cox_protocol::Money,
    /// `new`, `running` (or killed in mid-turn), or the reason the last turn ended: `end_turn`, `max_turns`,
    /// `interrupted`, `budget`, `refusal`, `error`.
    pub state: String,
}

impl Index {
    /// Opens the index of a home, and makes it where there is none, one of another version or a broken one; a broken one
    /// is kept beside it as `index.db.broken`. Where a home has no sessions or cannot be written, the index is in memory.
    ///
    /// Holds what it held when it was last refreshed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Index`] when SQLite fails for another reason.
    pub fn open(home: &Home) -> Result<Self, StoreError> {
        let path = home.index_path();
        if !home.sessions_dir().exists() || !is_writable(&path) {
            let db = Connection::open_in_memory()
                .and_then(prepared)
                .map_err(|error| failed(&path, &error))?;
            return Ok(Self {
                home: home.clone(),
                db,
                path: None,
            });
        }
        let db = match Connection::open(&path).and_then(prepared) {
            Err(error) if is_broken(&error) => {
                set_aside(&path)?;
                Connection::open(&path).and_then(prepared)
            }
            other => other,
        }
        .map_err(|error| failed(&path, &error))?;
        Ok(Self {
            home: home.clone(),
            db,
            path: Some(path),
        })
    }

    /// Reads what the rollouts gained since the last time, and forgets sessions whose rollouts are gone.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the folder of the sessions cannot be read, [`StoreError::Index`] when SQLite fails. A
    /// rollout that cannot be read is passed over.
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        match self.try_refresh() {
            Err(Refused::Sqlite(error)) if is_broken(&error) && self.path.is_some() => {
                // The damage shows only on the pages that are touched: begin anew once.
                let path = self.home.index_path();
                self.db = Connection::open_in_memory().map_err(|error| failed(&path, &error))?;
                set_aside(&path)?;
                self.db = Connection::open(&path)
                    .and_then(prepared)
                    .map_err(|error| failed(&path, &error))?;
                self.try_refresh()
            }
            other => other,
        }
        .map_err(|refused| match refused {
            Refused::Sqlite(error) => self.failed(&error),
            Refused::Store(error) => error,
        })
    }

    /// Returns the sessions, the one last written to first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Index`] when SQLite fails.
    pub fn list(&self, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = format!(
            "SELECT {SESSION_COLUMNS} FROM sessions ORDER BY updated DESC, id DESC LIMIT ?1"
        );
        let mut statement = self.db.prepare(&sql).map_err(|error| self.failed(&error))?;
        let rows = statement
            .query_map([limit], session_row)
            .map_err(|error| self.failed(&error))?;
        rows.filter_map(Result::transpose)
            .collect::<Result<_, _>>()
            .map_err(|error| self.failed(&error))
    }

    /// Returns one session.
    ///
    /// # Errors
    ///
    /// [`StoreError::Index`] when SQLite fails.
    pub fn session(&self, id: SessionId) -> Result<Option<SessionRow>, StoreError> {
        let sql = format!("SELECT {SESSION_COLUMNS} FROM sessions WHERE id = ?1");
        let row = self
            .db
            .query_row(&sql, [id.to_string()], session_row)
            .optional();
        row.map(Option::flatten)
            .map_err(|error| self.failed(&error))
    }

    fn try_refresh(&mut self) -> Result<(), Refused> {
        let ids = list_ids(&self.home).map_err(Refused::Store)?;
        forget_others(&mut self.db, &ids)?;
        for id in ids {
            let path = self.home.rollout_path(id);
            while read_on(&mut self.db, id, &path)? {}
        }
        Ok(())
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        failed(&self.home.index_path(), error)
    }
}

/// What stopped a refresh.
enum Refused {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

const SESSION_COLUMNS: &str =
    "id, created, updated, cwd, provider, model, title, turns, cost, state";

/// Reads a row; nothing for one whose id or time is none.
fn session_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<SessionRow>> {
    let Ok(id) = row.get::<_, String>(0)?.parse() else {
        return Ok(None);
    };
    let time = |millis: i64| jiff::Timestamp::from_millisecond(millis);
    let (Ok(created), Ok(updated)) = (time(row.get(1)?), time(row.get(2)?)) else {
        return Ok(None);
    };
    Ok(Some(SessionRow {
        id,
        created,
        updated,
        cwd: row.get(3)?,
        provider: row.get(4)?,
        model: row.get(5)?,
        title: row.get(6)?,
        turns: row.get(7)?,
        cost: cox_protocol::Money(row.get::<_, i64>(8)?.unsigned_abs()),
        state: row.get(9)?,
    }))
}

/// Makes the tables, anew when they are of another version.
fn prepared(mut db: Connection) -> rusqlite::Result<Connection> {
    db.busy_timeout(BUSY)?;
    use_wal(&db)?;
    // What a power cut takes away is read again from the rollouts.
    db.pragma_update(None, "synchronous", "NORMAL")?;
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
    let tries = BUSY.as_millis() / BUSY_STEP.as_millis();
    for _ in 0..tries {
        match db.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                std::thread::sleep(BUSY_STEP);
            }
            other => return other,
        }
    }
    db.pragma_update(None, "journal_mode", "WAL")
}

fn drop_tables(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    // A virtual table takes its own tables with it, so the names are asked for again each time.
    loop {
        let name: Option<String> = transaction
            .query_row(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'
                 ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC LIMIT 1",
                [],
                |row| row.get(0),
            )
            .optional()?;
        let Some(name) = name else { return Ok(()) };
        transaction.execute_batch(&format!("DROP TABLE \"{}\"", name.replace('"', "\"\"")))?;
    }
}

fn forget_others(db: &mut Connection, ids: &[SessionId]) -> rusqlite::Result<()> {
    let known: Vec<String> = db
        .prepare("SELECT id FROM sessions")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let gone: Vec<String> = known
        .into_iter()
        .filter(|id| {
            id.parse().map_or(true, |id: SessionId| {
                ids.binary_search_by(|other| id.cmp(other)).is_err()
            })
        })
        .collect();
    if gone.is_empty() {
        return Ok(());
    }
    let transaction = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for id in gone {
        forget(&transaction, &id)?;
    }
    transaction.commit()
}

fn forget(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM sessions WHERE id = ?1", [id])?;
    transaction.execute("DELETE FROM usage WHERE session = ?1", [id])?;
    transaction.execute("DELETE FROM text WHERE session = ?1", [id])?;
    Ok(())
}

/// Reads some of what a rollout gained. Returns whether there may be more.
fn read_on(db: &mut Connection, id: SessionId, path: &Path) -> rusqlite::Result<bool> {
    let Ok(len) = fs::metadata(path).map(|metadata| metadata.len()) else {
        return Ok(false);
    };
    let read_to: Option<i64> = db
        .query_row(
            "SELECT read_to FROM sessions WHERE id = ?1",
            [id.to_string()],
            |row| row.get(0),
        )
        .optional()?;
    if read_to == i64::try_from(len).ok() {
        return Ok(false);
    }
    let transaction = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have read on since.
    let mut session = absorb::Session::load(&transaction, id)?;
    if session.read_to > len {
        forget(&transaction, &id.to_string())?;
        session = absorb::Session::new(id);
    }
    let Ok(lines) = lines_from(path, session.read_to) else {
        return Ok(false);
    };
    let may_be_more = lines.len() == LINES_AT_ONCE;
    if lines.is_empty() {
        return Ok(false);
    }
    for line in &lines {
        session.read_to += line.len() as u64;
        match from_line(line) {
            Line::Event(Stored { seq, .. }) | Line::Foreign { seq, .. }
                if !may_follow(session.last_seq, seq) => {}
            Line::Event(stored) if stored.seq > session.last_seq => {
                session.absorb(&transaction, stored)?;
            }
            Line::Foreign { seq, .. } => session.last_seq = session.last_seq.max(seq),
            Line::Event(_) | Line::Unreadable { .. } => {}
        }
    }
    session.save(&transaction)?;
    transaction.commit()?;
    Ok(may_be_more)
}

/// Returns whole lines from a place on. A last line without its line break is still being written, or torn.
fn lines_from(path: &Path, offset: u64) -> io::Result<Vec<Vec<u8>>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut reader = BufReader::new(file);
    let mut lines = Vec::new();
    while lines.len() < LINES_AT_ONCE {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        lines.push(line);
    }
    Ok(lines)
}

fn is_writable(path: &Path) -> bool {
    // SQLite makes its other files with the permissions of this one.
    match private_file(path, OpenOptions::new().write(true)) {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            OpenOptions::new().write(true).open(path).is_ok()
        }
        Err(_) => false,
    }
}

fn is_broken(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Moves a broken index out of the way, over an earlier one.
fn set_aside(path: &Path) -> Result<(), StoreError> {
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    fs::rename(path, beside(".broken"))
        .map_err(|error| StoreError::io("set aside", path, error))?;
    for ending in ["-wal", "-shm"] {
        // Mostly they are not there.
        drop(fs::remove_file(beside(ending)));
    }
    private_file(path, OpenOptions::new().write(true))
        .map(drop)
        .map_err(|error| StoreError::io("create", path, error))
}

fn failed(path: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::Index {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

/// Writes one text down for search.
fn put_text(
    transaction: &Transaction<'_>,
    session: &str,
    turn: u32,
    role: &str,
    text: &str,
) -> rusqlite::Result<()> {
    if text.trim().is_empty() {
        return Ok(());
    }
    let mut insert = transaction
        .prepare_cached("INSERT INTO text (body, session, turn, role) VALUES (?1, ?2, ?3, ?4)")?;
    insert.execute(params![text, session, turn, role])?;
    Ok(())
}

#[cfg(test)]
mod tests;
