//! What was spent: the requests to models, added up.

use cox_protocol::{Money, SessionId, TokenUsage};
use rusqlite::params;

use crate::{Index, StoreError};

/// What requests are added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// One row a session; the key is its id.
    Session,
    /// One row a day of UTC; the key is `YYYY-MM-DD`.
    Day,
    /// One row a model; the key is `provider/model`.
    Model,
    /// One row in all; the key is `total`.
    Total,
}

/// Which requests are added up, and how.
#[derive(Clone, Copy, Debug)]
pub struct LedgerFilter {
    /// What they are added up by.
    pub by: By,
    /// Those of one session alone.
    pub session: Option<SessionId>,
    /// Those from this time on.
    pub since: Option<jiff::Timestamp>,
}

/// Requests added up.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerRow {
    /// What they have in common.
    pub key: String,
    /// How many there were.
    pub requests: u64,
    /// Their tokens.
    pub tokens: TokenUsage,
    /// What those with a known price cost.
    pub cost: Money,
    /// How many had no known price.
    pub unpriced: u64,
    /// Part of the input that was read from the cache, from 0 to 1; 0 without input.
    pub cache_read_ratio: f64,
    /// Time spent waiting for answers, in milliseconds.
    pub latency_ms: u64,
}

impl Index {
    /// Adds up requests; sessions and days newest first, models by cost.
    ///
    /// # Errors
    ///
    /// [`StoreError::Index`] when SQLite fails.
    pub fn ledger(&self, filter: LedgerFilter) -> Result<Vec<LedgerRow>, StoreError> {
        let (key, order) = match filter.by {
            By::Session => ("session", "1 DESC"),
            By::Day => ("day", "1 DESC"),
            By::Model => ("provider || '/' || model", "7 DESC, 1"),
            By::Total => ("'total'", "1"),
        };
        // Sums of floats cannot overflow as sums of whole numbers can.
        let sql = format!(
            "SELECT {key}, count(*), total(input), total(output), total(cache_read), total(cache_write), total(cost),
                    count(*) - count(cost), total(latency_ms)
             FROM usage WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR at >= ?2)
             GROUP BY 1 ORDER BY {order}"
        );
        let session = filter.session.map(|id| id.to_string());
        let since = filter.since.map(|since| since.as_millisecond());
        let read = || -> rusqlite::Result<Vec<LedgerRow>> {
            let mut statement = self.db.prepare(&sql)?;
            let rows = statement.query_map(params![session, since], |row| {
                let sum = |column| row.get::<_, f64>(column).map(|sum| sum as u64);
                let tokens = TokenUsage {
                    input: sum(2)?,
                    output: sum(3)?,
                    cache_read: sum(4)?,
                    cache_write: sum(5)?,
                };
                Ok(LedgerRow {
                    key: row.get(0)?,
                    requests: row.get::<_, i64>(1)?.unsigned_abs(),
                    tokens,
                    cost: Money(sum(6)?),
                    unpriced: row.get::<_, i64>(7)?.unsigned_abs(),
                    cache_read_ratio: cache_read_ratio(tokens),
                    latency_ms: sum(8)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|error| self.failed(&error))
    }
}

fn cache_read_ratio(tokens: TokenUsage) -> f64 {
    let all = tokens.input as f64 + tokens.cache_read as f64 + tokens.cache_write as f64;
    if all > 0.0 {
        tokens.cache_read as f64 / all
    } else {
        0.0
    }
}
