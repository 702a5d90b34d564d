//! What there is: namespaces, tools, resources, prompts; and, in files of their own, signatures and how they changed.

mod changes;
mod published;
mod selection;

use std::sync::Arc;
use std::time::Duration;

use mcp_wire::{Object, Raw};
use mcpx_api::reply::{Found, Namespace};
use mcpx_api::{ApiError, Caller, Params};
use mcpx_catalog::search::Match;
use mcpx_config::Reason;
use mcpx_config::hint_apart;
use mcpx_config::settings::key;

pub(super) use self::changes::history;
pub(super) use self::published::{catalog, client, globals, known_paths, schema, types};
use self::selection::{admitted, select};

use super::Reply;
use super::refused::api_error;
use crate::hub::Hub;
use crate::registry::known::Known;
use crate::registry::upstream::Upstream;

/// How long a search without a hit waits for servers that nobody has read yet.
const FIRST: Duration = Duration::from_secs(5);

/// The state of a server in a word, why it is not ready, and what to do.
pub(super) fn state(upstream: &Upstream) -> (&'static str, Option<String>, Option<String>) {
    if let Some(reason) = upstream.server.reason() {
        let text = reason.to_string();
        let (why, hint) = hint_apart(&text);
        let word = match reason {
            Reason::Untrusted { .. } => "untrusted",
            _ => "unavailable",
        };
        return (word, Some(why.to_owned()), hint.map(str::to_owned));
    }
    let failure = upstream
        .backing
        .as_ref()
        .and_then(|backing| backing.failure());
    match (failure, upstream.known()) {
        (Some(why), _) => ("error", Some(why), None),
        (None, Some(_)) => ("ready", None, None),
        (None, None) => ("unread", None, None),
    }
}

/// The servers, from what is known; starts none.
pub(super) fn namespaces(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let rows: Vec<Namespace> = admitted(hub, params)?
        .iter()
        .map(|upstream| {
            let server = &upstream.server;
            let known = upstream.known();
            let (state, error, hint) = state(upstream);
            Namespace {
                namespace: server.namespace.clone(),
                server: server.name.clone(),
                tools: known
                    .as_ref()
                    .map(|known| known.visible(upstream.filter()).count()),
                resources: known
                    .as_ref()
                    .and_then(|known| known.resources.as_ref())
                    .map(Vec::len),
                description: server
                    .description
                    .clone()
                    .or_else(|| described(known.as_deref()?)),
                live: upstream
                    .backing
                    .as_ref()
                    .map_or(0, |backing| backing.pool.status().instances.len()),
                sharing: server.sharing.word().to_owned(),
                scope: server.scope.word().to_owned(),
                state: state.to_owned(),
                error,
                hint,
                cached: known.as_ref().is_some_and(|known| !known.confirmed),
                requires_secrets: server.requires_secrets.clone(),
            }
        })
        .collect();
    Ok(Reply::of(&rows))
}

/// What a server says of itself, in a line.
fn described(known: &Known) -> Option<String> {
    let info = known.server_info.as_ref()?;
    let text = info
        .string("description")
        .or_else(|| info.string("title"))?;
    Some(untrusted_text::terminal::one_line(&text, 200))
}

/// The tools as their servers describe them.
pub(super) async fn tools(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let mut rows = Vec::new();
    for one in select(hub, params).await? {
        let server = &one.upstream.server;
        for tool in one.tools() {
            let mut row = Object::new()
                .with("namespace", server.namespace.as_str())
                .with("server", server.name.as_str())
                .with(
                    "function",
                    function(&one.upstream, &one.known, &tool.name).as_str(),
                );
            row.append(tool.raw().clone());
            rows.push(Raw::from(row));
        }
    }
    Ok(Reply::of(&rows))
}

fn function(upstream: &Upstream, known: &Known, tool: &str) -> String {
    format!(
        "{}.{}",
        upstream.server.namespace,
        known.names().identifier(tool)
    )
}

/// Finds tools by words.
pub(super) async fn search(hub: &Hub, caller: &Caller, params: &Params) -> Result<Reply, ApiError> {
    let query = params.required("q")?;
    let limit = match params.count("limit")? {
        Some(limit) => limit,
        None => super::settings_of(hub, caller).int(key::SEARCH_LIMIT),
    }
    .min(1_000);
    let admitted: Vec<Arc<Upstream>> = admitted(hub, params)?;
    // Those of servers that the profiles do not admit are taken out after the search.
    let wanted = if admitted.len() == hub.registry.views().by_name.len() {
        limit
    } else {
        2_000
    };
    let mut rows = found(hub, &admitted, &query, wanted, limit);
    if rows.is_empty() && read_first(hub, &admitted).await {
        rows = found(hub, &admitted, &query, wanted, limit);
    }
    Ok(Reply::of(&rows))
}

fn found(
    hub: &Hub,
    admitted: &[Arc<Upstream>],
    query: &str,
    wanted: usize,
    limit: usize,
) -> Vec<Found> {
    hub.registry
        .catalogue
        .find(query, wanted)
        .into_iter()
        .filter_map(|hit| {
            let upstream = admitted
                .iter()
                .find(|upstream| upstream.server.name == hit.server)?;
            let known = upstream.known()?;
            let tool = known.tool(&hit.tool)?;
            Some(Found {
                function: function(upstream, &known, &hit.tool),
                namespace: upstream.server.namespace.clone(),
                server: hit.server.clone(),
                tool: hit.tool.clone(),
                description: tool.description().and_then(|text| first_line(&text)),
                matched: match hit.matched {
                    Match::Name => "exact",
                    Match::NamePrefix => "prefix",
                    Match::Words => "words",
                }
                .to_owned(),
                score: f64::from(hit.score),
            })
        })
        .take(limit)
        .collect()
}

/// Reads the servers that nobody has tried to read yet, for as long as one who searches may wait. Says whether there were
/// any.
async fn read_first(hub: &Hub, admitted: &[Arc<Upstream>]) -> bool {
    let unread: Vec<_> = admitted
        .iter()
        .filter(|upstream| upstream.known().is_none() && upstream.server.is_ready())
        .filter_map(|upstream| Some((upstream, upstream.backing.as_ref()?)))
        .filter(|(_, backing)| backing.failure().is_none())
        .collect();
    let reading = unread
        .iter()
        .map(|(upstream, backing)| hub.registry.read(upstream, backing, false));
    // What takes longer is found later; why one failed is in the status.
    let _read = tokio::time::timeout(FIRST, futures::future::join_all(reading)).await;
    !unread.is_empty()
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(untrusted_text::terminal::one_line(line, 200))
}

/// The resources.
pub(super) async fn resources(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    list(hub, params, |known| {
        let all = known.resources.as_ref()?;
        Some(all.iter().map(|one| one.raw().clone()).collect())
    })
    .await
}

/// The resource templates.
pub(super) async fn resource_templates(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    list(hub, params, |known| {
        let all = known.templates.as_ref()?;
        Some(all.iter().map(|one| one.raw().clone()).collect())
    })
    .await
}

/// The prompts.
pub(super) async fn prompts(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    list(hub, params, |known| {
        let all = known.prompts.as_ref()?;
        Some(all.iter().map(|one| one.raw().clone()).collect())
    })
    .await
}

async fn list(
    hub: &Hub,
    params: &Params,
    of: impl Fn(&Known) -> Option<Vec<Object>>,
) -> Result<Reply, ApiError> {
    let mut rows = Vec::new();
    for one in select(hub, params).await? {
        for element in of(&one.known).unwrap_or_default() {
            let mut row = Object::new()
                .with("namespace", one.upstream.server.namespace.as_str())
                .with("server", one.upstream.server.name.as_str());
            row.append(element);
            rows.push(Raw::from(row));
        }
    }
    Ok(Reply::of(&rows))
}
