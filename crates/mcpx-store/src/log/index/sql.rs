//! SQL of the person, read-only: one query, some rows, a little time.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rusqlite::{
    Connection, ErrorCode, OpenFlags,
    hooks::{AuthAction, AuthContext, Authorization},
    limits::Limit,
    types::ValueRef,
};
use serde::Serialize;
use serde_json::Value;

use super::Index;

/// Instructions of SQLite's machine between two looks at the clock.
const STEPS: i32 = 1_000;

/// Largest single value, in bytes.
const MAX_VALUE_BYTES: i32 = 4 << 20;

/// Largest result, in bytes of its values.
const MAX_RESULT_BYTES: usize = 16 << 20;

/// How much a query may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlLimits {
    /// Most rows.
    pub rows: usize,
    /// Longest time.
    pub time: Duration,
}

impl Default for SqlLimits {
    /// 1,000 rows and 10 s.
    fn default() -> Self {
        Self {
            rows: 1_000,
            time: Duration::from_secs(10),
        }
    }
}

/// What a query returned.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows; bytes that are no text are said to be so. Text from outside.
    pub rows: Vec<Vec<Value>>,
    /// Whether there were more rows than the limits allow.
    pub cut: bool,
}

/// A query was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// It is not one query, or would do something else than read.
    #[error(
        "refused: {0}\nhint: one SELECT, WITH or EXPLAIN over the table `records`; `mcpx log sql --schema` shows it"
    )]
    Refused(String),
    /// It is wrong, or SQLite failed.
    #[error("SQL: {0}\nhint: `mcpx log sql --schema` shows the tables")]
    Failed(String),
    /// It took too long.
    #[error("the query took longer than {} s\nhint: narrow it by `ts` or `event`, which have an index", .0.as_secs_f64())]
    TooLong(Duration),
}

impl Index {
    /// Runs one query that only reads.
    ///
    /// # Errors
    ///
    /// [`SqlError`]. Nothing was changed in any case.
    pub fn sql(&mut self, text: &str, limits: SqlLimits) -> Result<Table, SqlError> {
        is_query(text)?;
        if self.is_in_memory {
            let done = run(&mut self.db, text, limits);
            // The connection is used for other things too.
            for ended in [
                self.db
                    .authorizer(None::<fn(AuthContext<'_>) -> Authorization>),
                self.db.progress_handler(0, None::<fn() -> bool>),
            ] {
                ended.map_err(|error| SqlError::Failed(error.to_string()))?;
            }
            return done;
        }
        let mut db = read_only(&self.path).map_err(|error| SqlError::Failed(error.to_string()))?;
        run(&mut db, text, limits)
    }
}

/// Refuses what does not begin as a query, so that it is told why rather than by SQLite's words.
fn is_query(text: &str) -> Result<(), SqlError> {
    let word: String = without_comments(text)
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    match word.to_ascii_uppercase().as_str() {
        "SELECT" | "WITH" | "EXPLAIN" | "VALUES" => Ok(()),
        "" => Err(SqlError::Refused("there is no query".to_owned())),
        other => Err(SqlError::Refused(format!(
            "{} is not a query",
            other.chars().take(20).collect::<String>()
        ))),
    }
}

fn without_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let rest = if let Some(rest) = text.strip_prefix("--") {
            rest.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(rest) = text.strip_prefix("/*") {
            rest.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            return text;
        };
        text = rest;
    }
}

fn read_only(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    db.busy_timeout(super::BUSY)?;
    db.pragma_update(None, "query_only", "ON")?;
    Ok(db)
}

fn run(db: &mut Connection, text: &str, limits: SqlLimits) -> Result<Table, SqlError> {
    let deadline = Instant::now() + limits.time;
    let was_denied = Arc::new(AtomicBool::new(false));
    fetter(db, deadline, Arc::clone(&was_denied))
        .map_err(|error| SqlError::Failed(error.to_string()))?;
    rows(db, text, limits.rows).map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => SqlError::TooLong(limits.time),
        // SQLite has several codes for this.
        _ if was_denied.load(Ordering::Relaxed) => {
            SqlError::Refused("it would do something else than read".to_owned())
        }
        _ if matches!(error, rusqlite::Error::MultipleStatement) => {
            SqlError::Refused("there is more than one statement".to_owned())
        }
        _ => SqlError::Failed(error.to_string()),
    })
}

/// Lets a connection only read, until a time.
fn fetter(
    db: &mut Connection,
    deadline: Instant,
    was_denied: Arc<AtomicBool>,
) -> rusqlite::Result<()> {
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
    db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    db.progress_handler(STEPS, Some(move || Instant::now() >= deadline))?;
    db.authorizer(Some(move |context: AuthContext<'_>| {
        let is_reading = only_reads(&context.action);
        was_denied.fetch_or(!is_reading, Ordering::Relaxed);
        if is_reading {
            Authorization::Allow
        } else {
            Authorization::Deny
        }
    }))
}

fn only_reads(action: &AuthAction<'_>) -> bool {
    match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !is_forbidden(function_name),
        _ => false,
    }
}

/// Names functions that load code or reach the file system, where SQLite was built with them.
fn is_forbidden(function: &str) -> bool {
    [
        "load_extension",
        "readfile",
        "writefile",
        "edit",
        "fts3_tokenizer",
    ]
    .iter()
    .any(|name| function.eq_ignore_ascii_case(name))
}

fn rows(db: &Connection, text: &str, max: usize) -> rusqlite::Result<Table> {
    let mut statement = db.prepare(text)?;
    let mut table = Table {
        columns: statement.column_names().map(str::to_owned).collect(),
        ..Table::default()
    };
    let columns = table.columns.len();
    let mut bytes = 0;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if table.rows.len() >= max || bytes >= MAX_RESULT_BYTES {
            table.cut = true;
            break;
        }
        let values: Vec<Value> = (0..columns)
            .map(|column| Ok(value_of(row.get_ref(column)?, &mut bytes)))
            .collect::<rusqlite::Result<_>>()?;
        table.rows.push(values);
    }
    Ok(table)
}

fn value_of(value: ValueRef<'_>, bytes: &mut usize) -> Value {
    *bytes += 8;
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => {
            *bytes += text.len();
            String::from_utf8_lossy(text).into_owned().into()
        }
        ValueRef::Blob(blob) => format!("({} bytes)", blob.len()).into(),
    }
}
