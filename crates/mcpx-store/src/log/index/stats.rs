//! What the log adds up to. Percentiles are exact: of the sorted durations, not of an estimate.

mod rows;

use rusqlite::Row;
use serde::Serialize;

pub use rows::{
    CallStats, ErrorStats, InstanceStats, ServerStats, SessionStats, Slow, VolumeStats,
};

use super::{Index, Query};
use crate::{
    StoreError,
    log::record::event::{CALL, SERVER_START, SERVER_STOP, SERVER_WARNING},
};

/// Rows of a list that nobody limited.
const DEFAULT_LIMIT: usize = 100;

/// By what to add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Calls by tool, those that took the most time together first.
    Calls,
    /// By server.
    Servers,
    /// By instance of a server, the newest first.
    Instances,
    /// What failed, by the message without what varies, the most frequent first.
    Errors,
    /// By session of a caller, the newest first.
    Sessions,
    /// Records by event, those that take the most bytes first.
    Volume,
    /// Single calls, the slowest first.
    Slowest,
}

impl Dimension {
    /// All, with their words.
    pub const ALL: [(&'static str, Self); 7] = [
        ("calls", Self::Calls),
        ("servers", Self::Servers),
        ("instances", Self::Instances),
        ("errors", Self::Errors),
        ("sessions", Self::Sessions),
        ("volume", Self::Volume),
        ("slowest", Self::Slowest),
    ];

    /// Reads a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == word);
        found.map(|(_, dimension)| *dimension)
    }
}

/// What was added up, by the dimension that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Stats {
    /// [`Dimension::Calls`]
    Calls(Vec<CallStats>),
    /// [`Dimension::Servers`]
    Servers(Vec<ServerStats>),
    /// [`Dimension::Instances`]
    Instances(Vec<InstanceStats>),
    /// [`Dimension::Errors`]
    Errors(Vec<ErrorStats>),
    /// [`Dimension::Sessions`]
    Sessions(Vec<SessionStats>),
    /// [`Dimension::Volume`]
    Volume(Vec<VolumeStats>),
    /// [`Dimension::Slowest`]
    Slowest(Vec<Slow>),
}

impl Index {
    /// Adds up the records that match a query, whose limit is the most rows that are returned (100 when it has none).
    ///
    /// # Errors
    ///
    /// [`StoreError::Index`] when SQLite fails.
    pub fn stats(&self, dimension: Dimension, query: &Query) -> Result<Stats, StoreError> {
        let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
        let done = match dimension {
            Dimension::Calls => self.calls(query, limit).map(Stats::Calls),
            Dimension::Servers => self.servers(query, limit).map(Stats::Servers),
            Dimension::Instances => self.instances(query, limit).map(Stats::Instances),
            Dimension::Errors => self.errors(query, limit).map(Stats::Errors),
            Dimension::Sessions => self.sessions(query, limit).map(Stats::Sessions),
            Dimension::Volume => self.volume(query, limit).map(Stats::Volume),
            Dimension::Slowest => self.slowest(query, limit).map(Stats::Slowest),
        };
        done.map_err(|error| self.failed(&error))
    }

    fn calls(&self, query: &Query, limit: usize) -> rusqlite::Result<Vec<CallStats>> {
        let select = format!(
            "SELECT COALESCE(server, ''), COALESCE(tool, ''), COALESCE(duration_ms, 0), ok IS 0, ts FROM records
             WHERE event = '{CALL}' AND {{}} ORDER BY 1, 2, 3"
        );
        let condition = query.condition();
        let sql = select.replacen("{}", &condition.sql, 1);
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query(condition.values().as_slice())?;
        let mut stats: Vec<CallStats> = Vec::new();
        // Of one tool at a time, the shortest first.
        let mut durations = Vec::new();
        while let Some(row) = rows.next()? {
            let (server, tool) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
            let is_same = stats
                .last()
                .is_some_and(|last| last.server == server && last.tool == tool);
            if !is_same {
                if let Some(last) = stats.last_mut() {
                    last.set_durations(&durations);
                }
                durations.clear();
                stats.push(CallStats {
                    server: server.to_owned(),
                    tool: tool.to_owned(),
                    ..CallStats::default()
                });
            }
            let Some(current) = stats.last_mut() else {
                continue;
            };
            durations.push(row.get(2)?);
            current.calls += 1;
            current.failed += u64::from(row.get::<_, bool>(3)?);
            let ts = row.get_ref(4)?.as_str()?;
            if ts > current.last.as_str() {
                ts.clone_into(&mut current.last);
            }
        }
        if let Some(last) = stats.last_mut() {
            last.set_durations(&durations);
        }
        stats.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
        stats.truncate(limit);
        Ok(stats)
    }

    fn servers(&self, query: &Query, limit: usize) -> rusqlite::Result<Vec<ServerStats>> {
        let select = format!(
            "SELECT server, SUM(event IS '{CALL}'), SUM(event IS '{CALL}' AND ok IS 0),
             COUNT(DISTINCT CASE WHEN event = '{CALL}' THEN tool END),
             TOTAL(CASE WHEN event = '{CALL}' THEN duration_ms END) AS total, SUM(event IS '{SERVER_START}'),
             SUM(event IS '{SERVER_STOP}'), SUM(event IS '{SERVER_WARNING}'), MAX(ts) FROM records
             WHERE server IS NOT NULL AND {{}} GROUP BY server ORDER BY total DESC, server LIMIT {limit}"
        );
        self.rows(&select, query, |row| {
            Ok(ServerStats {
                server: row.get(0)?,
                calls: count(row, 1)?,
                failed: count(row, 2)?,
                tools: count(row, 3)?,
                total_ms: row.get(4)?,
                starts: count(row, 5)?,
                stops: count(row, 6)?,
                warnings: count(row, 7)?,
                last: row.get(8)?,
            })
        })
    }

    fn instances(&self, query: &Query, limit: usize) -> rusqlite::Result<Vec<InstanceStats>> {
        let select = format!(
            "SELECT instance, MAX(server), MIN(CASE WHEN event = '{SERVER_START}' THEN ts END),
             MAX(CASE WHEN event = '{SERVER_STOP}' THEN ts END),
             MAX(CASE WHEN event = '{SERVER_STOP}' AND json_valid(attributes) THEN json_extract(attributes, '$.reason') END),
             SUM(event IS '{CALL}'), SUM(event IS '{CALL}' AND ok IS 0),
             TOTAL(CASE WHEN event = '{CALL}' THEN duration_ms END) FROM records
             WHERE instance IS NOT NULL AND {{}} GROUP BY instance ORDER BY MAX(ts) DESC LIMIT {limit}"
        );
        self.rows(&select, query, |row| {
            Ok(InstanceStats {
                instance: row.get(0)?,
                server: row.get(1)?,
                started: row.get(2)?,
                stopped: row.get(3)?,
                // Whatever the attribute was.
                reason: row.get_ref(4)?.as_str().ok().map(str::to_owned),
                calls: count(row, 5)?,
                failed: count(row, 6)?,
                total_ms: row.get(7)?,
            })
        })
    }

    fn errors(&self, query: &Query, limit: usize) -> rusqlite::Result<Vec<ErrorStats>> {
        // The last message is the example; a time is as long as any other.
        let select = format!(
            "SELECT COALESCE(template, msg) AS kind, event, server, tool, COUNT(*) AS count, MIN(ts), MAX(ts),
             SUBSTR(MAX(ts || msg), LENGTH(MAX(ts)) + 1) FROM records WHERE (level = 'error' OR ok = 0) AND {{}} GROUP BY kind, event, server, tool
             ORDER BY count DESC, kind LIMIT {limit}"
        );
        self.rows(&select, query, |row| {
            Ok(ErrorStats {
                template: row.get(0)?,
                event: row.get(1)?,
                server: row.get(2)?,
                tool: row.get(3)?,
                count: count(row, 4)?,
                first: row.get(5)?,
                last: row.get(6)?,
                example: row.get(7)?,
            })
        })
    }

    fn sessions(&self, query: &Query, limit: usize) -> rusqlite::Result<Vec<SessionStats>> {
        let select = format!(
            "SELECT session, SUM(event IS '{CALL}'), SUM(event IS '{CALL}' AND ok IS 0),
             COUNT(DISTINCT CASE WHEN event = '{CALL}' THEN server END),
             TOTAL(CASE WHEN event = '{CALL}' THEN duration_ms END), MIN(ts), MAX(ts) FROM records
             WHERE session IS NOT NULL AND {{}} GROUP BY session ORDER BY MAX(ts) DESC LIMIT {limit}"
        );
        self.rows(&select, query, |row| {
            Ok(SessionStats {
                session: row.get(0)?,
                calls: count(row, 1)?,
                failed: count(row, 2)?,
                servers: count(row, 3)?,
                total_ms: row.get(4)?,
                first: row.get(5)?,
                last: row.get(6)?,
            })
        })
    }

    fn volume(&self, query: &Query, limit: usize) -> rusqlite::Result<Vec<VolumeStats>> {
        let select =
            "SELECT COALESCE(event, '') AS kind, COUNT(*), SUM(bytes) AS size FROM records WHERE {}
             GROUP BY kind ORDER BY size DESC, kind";
        let mut volume = self.rows(select, query, |row| {
            Ok(VolumeStats {
                event: row.get(0)?,
                records: count(row, 1)?,
                bytes: count(row, 2)?,
                share: 0.0,
            })
        })?;
        let all: u64 = volume.iter().map(|one| one.bytes).sum();
        for one in &mut volume {
            #[expect(clippy::cast_precision_loss, reason = "a share")]
            let share = one.bytes as f64 / all.max(1) as f64;
            one.share = share;
        }
        volume.truncate(limit);
        Ok(volume)
    }

    fn slowest(&self, query: &Query, limit: usize) -> rusqlite::Result<Vec<Slow>> {
        let select = format!(
            "SELECT ts, COALESCE(server, ''), COALESCE(tool, ''), duration_ms, ok, session, trace FROM records
             WHERE event = '{CALL}' AND duration_ms IS NOT NULL AND {{}} ORDER BY duration_ms DESC, ts LIMIT {limit}"
        );
        self.rows(&select, query, |row| {
            Ok(Slow {
                ts: row.get(0)?,
                server: row.get(1)?,
                tool: row.get(2)?,
                duration_ms: row.get(3)?,
                ok: row.get(4)?,
                session: row.get(5)?,
                trace: row.get(6)?,
            })
        })
    }

    /// Runs a query in which `{}` stands for the condition.
    fn rows<T>(
        &self,
        select: &str,
        query: &Query,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let condition = query.condition();
        let sql = select.replacen("{}", &condition.sql, 1);
        self.db
            .prepare_cached(&sql)?
            .query_map(condition.values().as_slice(), read)?
            .collect()
    }
}

/// Reads a number that is not negative.
fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.unsigned_abs())
}

impl CallStats {
    /// Takes all durations, the shortest first.
    fn set_durations(&mut self, sorted: &[f64]) {
        self.total_ms = sorted.iter().sum();
        self.p50_ms = percentile(sorted, 50);
        self.p95_ms = percentile(sorted, 95);
        self.p99_ms = percentile(sorted, 99);
        self.max_ms = sorted.last().copied().unwrap_or_default();
    }
}

/// Returns the smallest of the sorted values that `percent` of them do not exceed.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}
