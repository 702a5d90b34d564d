//! `cox stats`: tokens and money, by session, day, month or model; of one session by model.

use cox_protocol::{Money, SessionId, TokenUsage};
use cox_store::{By, Home, LedgerFilter, LedgerRow};
use serde_json::{Value, json};

use crate::{
    args::Stats,
    commands::{ids, sessions::index},
    exit::{Exit, Failure},
    printer::Printer,
};

/// Prints one row for each session, day, month or model, and the sum of all.
///
/// # Errors
///
/// A usage failure for a bad id, an error when the sessions cannot be read.
pub(crate) fn stats(stats: &Stats, home: &Home, printer: Printer) -> Result<Exit, Failure> {
    let session: Option<SessionId> = match &stats.session {
        Some(id) => Some(ids::session(id, home)?),
        None => None,
    };
    let index = index(home)?;
    if let Some(id) = session
        && index.session(id)?.is_none()
    {
        return Err(Failure::error(format!(
            "there is no session {id}\nhint: `cox sessions` lists them"
        )));
    }
    let by = match session {
        Some(_) => By::Model,
        None if stats.by_model => By::Model,
        None if stats.day || stats.month => By::Day,
        None => By::Session,
    };
    let mut rows = index.ledger(LedgerFilter {
        by,
        session,
        since: None,
    })?;
    if stats.month {
        rows = by_month(rows);
    }
    let total = sum("total", &rows);
    let told = if printer.json {
        let rows: Vec<Value> = rows.iter().map(to_json).collect();
        printer.document(&json!({ "rows": rows, "total": to_json(&total) }))
    } else {
        printer.result(&table(&rows, &total))
    };
    Ok(crate::printed(told))
}

/// Adds up days, newest first, to months.
fn by_month(days: Vec<LedgerRow>) -> Vec<LedgerRow> {
    let mut months: Vec<LedgerRow> = Vec::new();
    for day in days {
        let month: String = day.key.chars().take("2026-11".len()).collect();
        match months.last_mut() {
            Some(last) if last.key == month => *last = sum(&month, &[last.clone(), day]),
            _ => months.push(LedgerRow { key: month, ..day }),
        }
    }
    months
}

fn sum(key: &str, rows: &[LedgerRow]) -> LedgerRow {
    let add = |part: fn(&LedgerRow) -> u64| rows.iter().map(part).fold(0, u64::saturating_add);
    let tokens = TokenUsage {
        input: add(|row| row.tokens.input),
        output: add(|row| row.tokens.output),
        cache_read: add(|row| row.tokens.cache_read),
        cache_write: add(|row| row.tokens.cache_write),
    };
    let input = tokens
        .input
        .saturating_add(tokens.cache_read)
        .saturating_add(tokens.cache_write);
    LedgerRow {
        key: key.to_owned(),
        requests: add(|row| row.requests),
        tokens,
        cost: Money(add(|row| row.cost.0)),
        unpriced: add(|row| row.unpriced),
        cache_read_ratio: if input == 0 {
            0.0
        } else {
            tokens.cache_read as f64 / input as f64
        },
        latency_ms: add(|row| row.latency_ms),
    }
}

fn to_json(row: &LedgerRow) -> Value {
    json!({
        "key": row.key,
        "requests": row.requests,
        "usage": {
            "input": row.tokens.input,
            "output": row.tokens.output,
            "cache_read": row.tokens.cache_read,
            "cache_write": row.tokens.cache_write,
        },
        "cost_usd": row.cost.usd(),
        "unpriced": row.unpriced,
        "cache_read_ratio": row.cache_read_ratio,
        "latency_ms": row.latency_ms,
    })
}

fn table(rows: &[LedgerRow], total: &LedgerRow) -> String {
    let width = rows
        .iter()
        .map(|row| row.key.chars().count())
        .max()
        .unwrap_or(0)
        .max(10);
    let mut lines = vec![format!(
        "{:<width$} {:>8} {:>12} {:>12} {:>12} {:>10} {:>10}",
        "", "requests", "input", "from cache", "to cache", "output", "cost"
    )];
    for row in rows.iter().chain([total]) {
        let unpriced = match row.unpriced {
            requests if requests == 0 || requests == row.requests => String::new(),
            requests => format!("  and {requests} without a price"),
        };
        lines.push(format!(
            "{:<width$} {:>8} {:>12} {:>12} {:>12} {:>10} {:>10}{unpriced}",
            row.key,
            row.requests,
            row.tokens.input,
            row.tokens.cache_read,
            row.tokens.cache_write,
            row.tokens.output,
            cost(row),
        ));
    }
    lines.join("\n")
}

/// Returns what is known of the cost: nothing when no request has a price.
pub(crate) fn cost(row: &LedgerRow) -> String {
    if row.requests > 0 && row.unpriced == row.requests {
        "unknown".to_owned()
    } else {
        format!("${:.4}", row.cost.usd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_months() {
        let row = |key: &str, requests, input| LedgerRow {
            key: key.to_owned(),
            requests,
            tokens: TokenUsage {
                input,
                ..TokenUsage::default()
            },
            cost: Money(requests),
            unpriced: 0,
            cache_read_ratio: 0.0,
            latency_ms: 1,
        };
        let months = by_month(vec![
            row("2026-11-30", 1, 10),
            row("2026-11-02", 2, 5),
            row("2026-10-31", 4, 1),
        ]);
        let shown: Vec<_> = months
            .iter()
            .map(|row| (row.key.as_str(), row.requests, row.tokens.input))
            .collect();
        assert_eq!(shown, [("2026-11", 3, 15), ("2026-10", 4, 1)]);
    }
}
