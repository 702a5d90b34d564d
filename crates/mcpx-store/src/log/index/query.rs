//! Which records somebody wants to see.

use jiff::Timestamp;
use rusqlite::{Row, ToSql};

use super::Index;
use crate::{
    StoreError,
    log::{Entry, Level, Record, line::time},
};

/// The columns of a record, in the order that [`entry`] reads.
pub(super) const COLUMNS: &str = "ts, level, event, server, tool, session, trace, trace_parent, instance, duration_ms, ok, msg, \
     template, attributes";

/// Which records: those that match every field that is set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
    /// Of this level or a graver one.
    pub level: Option<Level>,
    /// Whose event matches: `*` is any text, `?` any character, `[a-c]` a range; `server.*`.
    pub event: Option<String>,
    /// Of this server.
    pub server: Option<String>,
    /// Of this tool.
    pub tool: Option<String>,
    /// Of this session.
    pub session: Option<String>,
    /// Of this trace, without the traces that it began.
    pub trace: Option<String>,
    /// That succeeded, or failed.
    pub ok: Option<bool>,
    /// That have this text in the message, a name or an attribute. Case does not matter in ASCII.
    pub grep: Option<String>,
    /// At most so many: the newest.
    pub limit: Option<usize>,
    /// Newest first, instead of oldest first.
    pub reverse: bool,
}

/// A condition and what stands for its question marks.
pub(super) struct Condition {
    pub(super) sql: String,
    pub(super) values: Vec<Box<dyn ToSql>>,
}

impl Condition {
    pub(super) fn values(&self) -> Vec<&dyn ToSql> {
        self.values.iter().map(AsRef::as_ref).collect()
    }
}

impl Query {
    /// Returns what stands behind `WHERE`. Limit and order are not in it.
    pub(super) fn condition(&self) -> Condition {
        let mut sql = "1".to_owned();
        let mut values: Vec<Box<dyn ToSql>> = Vec::new();
        let mut add = |text: &str, value: Option<Box<dyn ToSql>>| {
            if let Some(value) = value {
                sql.push_str(" AND ");
                sql.push_str(text);
                values.push(value);
            }
        };
        let text =
            |text: &Option<String>| text.clone().map(|text| Box::new(text) as Box<dyn ToSql>);
        let moment = |ts: Option<Timestamp>| ts.map(|ts| Box::new(time(ts)) as Box<dyn ToSql>);
        add("ts >= ?", moment(self.since));
        add("ts < ?", moment(self.until));
        add("event GLOB ?", text(&self.event));
        add("server = ?", text(&self.server));
        add("tool = ?", text(&self.tool));
        add("session = ?", text(&self.session));
        add("trace = ?", text(&self.trace));
        add("ok = ?", self.ok.map(|ok| Box::new(ok) as Box<dyn ToSql>));
        let pattern = self.grep.as_deref().map(|needle| {
            let needle = needle
                .replace('\\', "\\\\")
                .replace('%', "\\%")
                .replace('_', "\\_");
            Box::new(format!("%{needle}%")) as Box<dyn ToSql>
        });
        add(
            "(msg || char(10) || COALESCE(event, '') || char(10) || COALESCE(server, '') || char(10) || COALESCE(tool, '')
             || char(10) || COALESCE(attributes, '')) LIKE ? ESCAPE '\\'",
            pattern,
        );
        if let Some(least) = self.level {
            let words: Vec<String> = Level::ALL
                .into_iter()
                .filter(|level| *level >= least)
                .map(|level| format!("'{}'", level.word()))
                .collect();
            sql.push_str(&format!(" AND level IN ({})", words.join(", ")));
        }
        Condition { sql, values }
    }
}

impl Index {
    /// Returns the records that match: of those the newest `limit`, oldest first unless reversed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Index`] when SQLite fails.
    pub fn query(&self, query: &Query) -> Result<Vec<Entry>, StoreError> {
        let condition = query.condition();
        let limit = query
            .limit
            .map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let sql = format!(
            "SELECT {COLUMNS} FROM records WHERE {} ORDER BY ts DESC, id DESC LIMIT {limit}",
            condition.sql
        );
        let mut entries = self.entries(&sql, &condition.values())?;
        if !query.reverse {
            entries.reverse();
        }
        Ok(entries)
    }

    /// Runs a query for [`COLUMNS`].
    pub(super) fn entries(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
    ) -> Result<Vec<Entry>, StoreError> {
        let read = || {
            self.db
                .prepare_cached(sql)?
                .query_map(values, entry)?
                .filter_map(Result::transpose)
                .collect::<rusqlite::Result<Vec<Entry>>>()
        };
        read().map_err(|error| self.failed(&error))
    }
}

/// Reads a row; nothing for one that holds no time or level.
fn entry(row: &Row<'_>) -> rusqlite::Result<Option<Entry>> {
    let (Ok(ts), Some(level)) = (
        row.get_ref(0)?.as_str().unwrap_or_default().parse(),
        Level::parse(row.get_ref(1)?.as_str().unwrap_or_default()),
    ) else {
        return Ok(None);
    };
    let text = |column| {
        Ok::<String, rusqlite::Error>(row.get::<_, Option<String>>(column)?.unwrap_or_default())
    };
    Ok(Some(Entry {
        ts,
        record: Record {
            level,
            event: text(2)?.into(),
            server: row.get(3)?,
            tool: row.get(4)?,
            session: row.get(5)?,
            trace: row.get(6)?,
            trace_parent: row.get(7)?,
            instance: row.get(8)?,
            duration_ms: row.get(9)?,
            ok: row.get(10)?,
            msg: row.get(11)?,
            template: text(12)?.into(),
            attributes: serde_json::from_str(&text(13)?).unwrap_or_default(),
        },
    }))
}
