//! What happened: records, and calls counted. Reading the log is work for the disk, so it is done beside the runtime.

mod following;
pub(super) mod moment;

use std::sync::Arc;

use mcp_wire::{Object, Raw};
use mcpx_api::{ApiError, Caller, Code, Params};
use mcpx_config::settings::key;
use mcpx_store::StoreError;
use mcpx_store::log::index::{Dimension, Index, Query};
use mcpx_store::log::{Cursor, Entry, Level, Record};

use self::moment::moment;
use super::Reply;
use crate::hub::Hub;

/// Most records of one answer.
const MOST: usize = 10_000;

/// Records of the log.
pub(super) async fn query(
    hub: &Arc<Hub>,
    caller: &Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    if let Some(trace) = params.text("chain") {
        let other = params.object().iter().find(|(name, _)| *name != "chain");
        if let Some((name, _)) = other {
            return Err(ApiError::bad(format!(
                "`chain` takes no other filter, and `{name}` was given too"
            )));
        }
        return chain(hub, trace).await;
    }
    let mut query = read(hub, params)?;
    query.level = match params.text("level") {
        None => None,
        Some(word) => Some(level(&word)?),
    };
    query.event = params.text("event").filter(|event| !event.is_empty());
    query.trace = params.text("trace").filter(|trace| !trace.is_empty());
    query.grep = params.text("grep").filter(|text| !text.is_empty());
    query.reverse = params.switch("reverse");
    let limit = match params.count("limit")? {
        Some(limit) => limit,
        None => super::settings_of(hub, caller).int(key::LOGSTORE_QUERY_LIMIT),
    };
    query.limit = Some(limit.min(MOST));
    match params.text("after") {
        None => first(hub, query).await,
        Some(after) => following(hub, query, &after).await,
    }
}

/// The filters that records and statistics have in common.
fn read(hub: &Hub, params: &Params) -> Result<Query, ApiError> {
    let now = hub.now();
    let time = |name: &str| match params.text(name) {
        None => Ok(None),
        Some(text) => moment(&text, now)
            .map(Some)
            .map_err(|why| ApiError::bad(format!("`{name}` {why}"))),
    };
    let text = |name: &str| params.text(name).filter(|text| !text.is_empty());
    Ok(Query {
        since: time("since")?,
        until: time("until")?,
        server: text("server").map(|name| server_name(hub, name)),
        tool: text("tool"),
        session: text("session"),
        ..Query::default()
    })
}

/// The name under which a server is logged: its configured one, also when its namespace was given.
fn server_name(hub: &Hub, spelled: String) -> String {
    match hub.registry.views().find(&spelled) {
        Ok(upstream) => upstream.server.name.clone(),
        // One that is gone is still in the log.
        Err(_) => spelled,
    }
}

/// The records that match, and the place in the log from which they go on.
async fn first(hub: &Arc<Hub>, query: Query) -> Result<Reply, ApiError> {
    let state = hub.state.clone();
    let page = on_disk(hub, move |index| {
        // What comes between this and the reading of the index is in both, and is taken out again.
        let mut cursor = Cursor::at_end(&state);
        index.refresh()?;
        let mut entries = index.query(&query)?;
        let begun = cursor.clone();
        let twice = cursor.read(&state).entries;
        if !twice.is_empty() {
            entries.retain(|entry| !twice.contains(entry));
        }
        Ok((entries, begun))
    })
    .await?;
    Ok(answer(&page.0, &page.1, false))
}

/// What came after a place in the log.
async fn following(hub: &Arc<Hub>, query: Query, after: &str) -> Result<Reply, ApiError> {
    let mut cursor = following::read(after)?;
    let state = hub.state.clone();
    let log = hub.log.clone();
    let (entries, cursor, is_more) = tokio::task::spawn_blocking(move || {
        let _late_ones_come_next_time = log.flush(std::time::Duration::from_millis(200));
        let news = cursor.read(&state);
        let mut entries = news.entries;
        entries.retain(|entry| following::matches(&query, entry));
        if query.reverse {
            entries.reverse();
        }
        (entries, cursor, news.is_more)
    })
    .await
    .map_err(|_| ApiError::new(Code::Unavailable, "the daemon is ending"))?;
    Ok(answer(&entries, &cursor, is_more))
}

fn answer(entries: &[Entry], cursor: &Cursor, is_more: bool) -> Reply {
    Reply::json(
        Object::new()
            .with("records", Raw::of(entries))
            .with("cursor", following::written(cursor).as_str())
            .with("more", is_more),
    )
}

async fn chain(hub: &Arc<Hub>, trace: String) -> Result<Reply, ApiError> {
    let asked = trace.clone();
    let links = on_disk(hub, move |index| {
        index.refresh()?;
        index.chain(&trace)
    })
    .await?;
    if links.is_empty() {
        return Err(ApiError::not_found(format!(
            "no span `{}` is in the log",
            untrusted_text::terminal::one_line(&asked, 80)
        ))
        .hint("a call's span is its `traceId`; `mcpx log` shows those that are kept"));
    }
    Ok(Reply::json(
        Object::new()
            .with("trace", asked.as_str())
            .with("chain", Raw::of(&links)),
    ))
}

/// Works with the index, beside the runtime. What was logged before is in the files by then.
async fn on_disk<T: Send + 'static>(
    hub: &Arc<Hub>,
    work: impl FnOnce(&mut Index) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, ApiError> {
    let (state, log) = (hub.state.clone(), hub.log.clone());
    let done = tokio::task::spawn_blocking(move || {
        let _late_ones_are_missing = log.flush(std::time::Duration::from_secs(1));
        work(&mut Index::open(&state)?)
    })
    .await;
    match done {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(ApiError::new(Code::Unavailable, error.to_string())
            .hint("the index is made anew when `logs/index.db` in the state folder is removed")),
        Err(_) => Err(ApiError::new(
            Code::Unavailable,
            "the log could not be read",
        )),
    }
}

/// Writes a record.
pub(super) fn record(hub: &Hub, caller: &Caller, params: &Params) -> Result<Reply, ApiError> {
    let attributes = match params.get("attributes") {
        None => serde_json::Map::new(),
        Some(raw) => raw
            .read()
            .map_err(|error| ApiError::bad(format!("`attributes` cannot be read: {error}")))?,
    };
    let written = Record {
        server: params.text("server"),
        tool: params.text("tool"),
        session: caller.session.clone(),
        trace: caller.trace_parent.clone(),
        #[allow(
            clippy::cast_precision_loss,
            reason = "milliseconds of a human life are exact"
        )]
        duration_ms: params.count("durationMs")?.map(|ms| ms as f64),
        attributes,
        ..Record::new(
            match params.text("level") {
                None => Level::Info,
                Some(word) => level(&word)?,
            },
            params.text("event").unwrap_or_default(),
            params.required("msg")?,
        )
    };
    hub.log.write(written);
    Ok(Reply::ok())
}

fn level(word: &str) -> Result<Level, ApiError> {
    Level::parse(word).ok_or_else(|| {
        ApiError::bad(format!(
            "`level` was `{}`, expected `debug`, `info`, `warn` or `error`",
            untrusted_text::terminal::one_line(word, 40)
        ))
    })
}

/// Calls counted.
pub(super) async fn stats(
    hub: &Arc<Hub>,
    caller: &Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let word = params.text("by").unwrap_or_else(|| "calls".to_owned());
    let dimension = Dimension::parse(&word).ok_or_else(|| {
        let known: Vec<String> = Dimension::ALL
            .iter()
            .map(|(word, _)| format!("`{word}`"))
            .collect();
        ApiError::bad(format!(
            "`by` was `{}`, expected one of {}",
            untrusted_text::terminal::one_line(&word, 40),
            known.join(", ")
        ))
    })?;
    let mut query = read(hub, params)?;
    let top = match params.count("top")? {
        Some(top) => top,
        None => super::settings_of(hub, caller).int(key::STATS_TOP),
    };
    query.limit = Some(top.min(MOST));
    let rows = on_disk(hub, move |index| {
        index.refresh()?;
        index.stats(dimension, &query)
    })
    .await?;
    Ok(Reply::json(
        Object::new()
            .with("by", word.as_str())
            .with("rows", Raw::of(&rows)),
    ))
}
