//! The daemon itself: its health, reload, restart, end, and what belongs to its callers.

use std::sync::Arc;

use mcp_wire::{Object, Raw, Revision};
use mcpx_api::reply::Health;
use mcpx_api::{ApiError, Caller, Params};
use mcpx_config::Scope;
use mcpx_config::settings::key;

use super::Reply;
use super::refused::api_error;
use crate::hub::Hub;
use crate::lifecycle::ending;
use crate::registry::scope::{Key, key_of};
use crate::registry::upstream::Upstream;

/// Whether the daemon answers.
pub(super) fn health(hub: &Hub) -> Reply {
    let status = if hub.is_ending() { "stopping" } else { "ok" };
    Reply::of(&Health {
        status: status.to_owned(),
        version: hub.identity.version.clone(),
        pid: std::process::id(),
        uptime_sec: hub.identity.started.elapsed().as_secs(),
        endpoint: hub.identity.endpoint.clone(),
    })
}

/// Reads the configuration and the servers' tools again.
pub(super) async fn refresh(hub: &Arc<Hub>, params: &Params) -> Result<Reply, ApiError> {
    let applied = crate::lifecycle::reload::reload(hub).await?;
    let views = hub.registry.views();
    let wanted: Vec<Arc<Upstream>> = match params.text("server") {
        Some(name) => vec![views.find(&name).map_err(|error| api_error(&error))?],
        None => views.by_name.values().cloned().collect(),
    };
    let limit = hub.settings().duration(key::DAEMON_REFRESH_TIMEOUT);
    let reading = wanted.iter().map(|upstream| read(hub, upstream));
    let read = tokio::time::timeout(limit, futures::future::join_all(reading)).await;
    let read = read.map_err(|_| {
        ApiError::new(
            mcpx_api::Code::Timeout,
            format!(
                "not every server was read within {:.0} s",
                limit.as_secs_f64()
            ),
        )
        .hint("`mcpx status` shows which; the others are read")
    })?;
    let errors: Vec<Raw> = read
        .into_iter()
        .filter_map(|(name, result)| {
            let error = result.err()?;
            Some(Raw::from(
                Object::new()
                    .with("server", name.as_str())
                    .with("error", error.as_str()),
            ))
        })
        .collect();
    Ok(Reply::json(
        Object::new()
            .with("namespaces", Raw::of(&views.namespaces()))
            .with("added", Raw::of(&applied.added))
            .with("removed", Raw::of(&applied.removed))
            .with("changed", Raw::of(&applied.changed))
            .with("errors", Raw::of(&errors)),
    ))
}

async fn read(hub: &Hub, upstream: &Arc<Upstream>) -> (String, Result<(), String>) {
    let name = upstream.server.name.clone();
    let Some(backing) = &upstream.backing else {
        return (name, Ok(()));
    };
    let read = hub.registry.read(upstream, backing, true).await;
    (name, read.map(drop).map_err(|error| error.to_string()))
}

/// Reads the configuration again.
pub(super) async fn reload(hub: &Arc<Hub>) -> Result<Reply, ApiError> {
    let applied = crate::lifecycle::reload::reload(hub).await?;
    Ok(Reply::json(
        Object::new()
            .with("status", "ok")
            .with("added", Raw::of(&applied.added))
            .with("removed", Raw::of(&applied.removed))
            .with("changed", Raw::of(&applied.changed))
            .with("kept", Raw::of(&applied.kept))
            .with("namespaces", Raw::of(&hub.registry.views().namespaces())),
    ))
}

/// Ends instances and starts them again.
pub(super) async fn restart(hub: &Arc<Hub>, params: &Params) -> Result<Reply, ApiError> {
    let views = hub.registry.views();
    let lazy = params.switch("lazy");
    let wanted: Vec<Arc<Upstream>> = match params.text("server") {
        Some(name) => vec![views.find(&name).map_err(|error| api_error(&error))?],
        None => views.by_name.values().cloned().collect(),
    };
    let mut rows = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for upstream in wanted {
        let Some(backing) = &upstream.backing else {
            continue;
        };
        if seen.contains(&backing.name) {
            continue;
        }
        seen.push(backing.name.clone());
        let restarted = backing.pool.restart(lazy).await;
        let mut row = Object::new().with("server", backing.name.as_str());
        row.append(restarted_row(&restarted));
        rows.push(Raw::from(row));
    }
    Ok(Reply::json(
        Object::new()
            .with("lazy", lazy)
            .with("servers", Raw::of(&rows)),
    ))
}

fn restarted_row(restarted: &crate::registry::pool::Restarted) -> Object {
    let pairs = |pairs: &[(String, String)], name: &str| {
        let rows: Vec<Raw> = pairs
            .iter()
            .map(|(key, why)| {
                Raw::from(
                    Object::new()
                        .with("key", key.as_str())
                        .with(name, why.as_str()),
                )
            })
            .collect();
        Raw::of(&rows)
    };
    Object::new()
        .with("stopped", Raw::of(&restarted.stopped))
        .with("started", Raw::of(&restarted.started))
        .with("failed", pairs(&restarted.failed, "error"))
        .with("skipped", pairs(&restarted.skipped, "why"))
        .with_some("note", restarted.note.as_deref())
}

/// Ends the daemon.
pub(super) fn shutdown(hub: &Arc<Hub>) -> Reply {
    ending::begin(hub, false);
    Reply::ok()
}

/// Begins anew.
pub(super) fn daemon_restart(hub: &Arc<Hub>) -> Reply {
    ending::begin(hub, true);
    Reply::ok()
}

/// Which revisions are spoken, and by whom.
pub(super) fn protocol(hub: &Hub) -> Reply {
    let views = hub.registry.views();
    let servers: Vec<Raw> = views
        .by_name
        .values()
        .map(|upstream| {
            let known = upstream.known();
            let revision = known.as_ref().and_then(|known| known.revision.clone());
            Raw::from(
                Object::new()
                    .with("server", upstream.server.name.as_str())
                    .with("first", upstream.server.protocol.word())
                    .with_some("revision", revision.as_deref())
                    .with("confirmed", known.is_some_and(|known| known.confirmed)),
            )
        })
        .collect();
    let revisions: Vec<Raw> = Revision::ALL
        .into_iter()
        .map(|revision| {
            Raw::from(Object::new().with("revision", revision.as_str()).with(
                "era",
                match revision.era() {
                    mcp_wire::Era::Modern => "modern",
                    mcp_wire::Era::Legacy => "legacy",
                },
            ))
        })
        .collect();
    Reply::json(
        Object::new()
            .with("spoken", Raw::of(&revisions))
            .with("servers", Raw::of(&servers)),
    )
}

/// What a caller in a folder gets.
pub(super) fn resolve(hub: &Hub, caller: &Caller, params: &Params) -> Result<Reply, ApiError> {
    let caller = Caller {
        cwd: params
            .text("dir")
            .map(Into::into)
            .or_else(|| caller.cwd.clone()),
        ..caller.clone()
    };
    let views = hub.registry.views();
    let servers: Vec<Raw> = views
        .by_name
        .values()
        .map(|upstream| {
            let scoped = key_of(upstream.server.scope, &caller);
            Raw::from(
                Object::new()
                    .with("server", upstream.server.name.as_str())
                    .with("scope", upstream.server.scope.word())
                    .with("key", scoped.key.to_string().as_str())
                    .with_some(
                        "fix",
                        scoped
                            .degraded
                            .as_ref()
                            .map(|degraded| degraded.fix.as_str()),
                    ),
            )
        })
        .collect();
    Ok(Reply::json(
        Object::new()
            .with("daemon", hub.identity.key.as_str())
            .with("socket", hub.identity.socket.display().to_string().as_str())
            .with("servers", Raw::of(&servers)),
    ))
}

/// Ends what was started for a caller alone: its session's, and its process's when it names that. What others may share,
/// such as what belongs to a repository or to the session that started its own, stays.
pub(super) async fn session_release(
    hub: &Hub,
    caller: &Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let pid = match params.count("pid")? {
        None => caller.pid,
        Some(pid) => Some(
            i32::try_from(pid)
                .ok()
                .filter(|pid| *pid > 0)
                .ok_or_else(|| {
                    ApiError::bad(format!("`pid` was {pid}, expected the number of a process"))
                })?,
        ),
    };
    let caller = Caller {
        session: Some(params.required("session")?),
        pid,
        ..Caller::default()
    };
    let scopes = [Some(Scope::Session), pid.map(|_| Scope::Pid)];
    let keys: Vec<Key> = scopes
        .into_iter()
        .flatten()
        .map(|scope| key_of(scope, &caller))
        // A process that is gone has no key; what belonged to it ends at the next sweep.
        .filter(|scoped| scoped.degraded.is_none())
        .map(|scoped| scoped.key)
        .collect();
    let mut released = 0;
    for backing in hub.registry.backings() {
        released += backing.pool.release(&keys).await;
    }
    Ok(Reply::json(
        Object::new().with("released", Raw::of(&released)),
    ))
}

/// This interface as a document, with a path for each tool that is known. Starts no server.
pub(super) fn openapi(hub: &Hub) -> Reply {
    let (paths, schemas) = super::catalogue::known_paths(hub);
    Reply::of(&mcpx_api::openapi::document(mcpx_api::openapi::About {
        version: hub.identity.version.clone(),
        socket: Some(hub.identity.socket.display().to_string()),
        endpoint: hub.identity.endpoint.clone(),
        tool_paths: paths,
        tool_schemas: schemas,
    }))
}
