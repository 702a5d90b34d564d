//! The daemon itself: its health, its servers and their instances, reload, restart, end.

use std::sync::Arc;

use mcp_wire::{Object, Raw, Revision};
use mcpx_api::reply::{Health, LogStatus, ServerStatus, Status, TimeoutsMs};
use mcpx_api::{ApiError, Caller, Params};
use mcpx_config::settings::key;
use mcpx_config::{Scope, Server};

use super::Reply;
use super::refused::api_error;
use crate::events::kind;
use crate::hub::Hub;
use crate::lifecycle::ending;
use crate::registry::scope::{Key, key_of};
use crate::registry::upstream::Upstream;

/// Which events a listener wants.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Only these kinds; empty: all. `server.*` takes all that begin so.
    pub kinds: Vec<String>,
    /// Only this server.
    pub server: Option<String>,
    /// Only this session.
    pub session: Option<String>,
    /// Only changes of this resource, of those that are told: the instance that is asked, and the resource's URI.
    pub resource: Option<(String, String)>,
}

impl EventFilter {
    /// Whether it wants this event.
    #[must_use]
    pub fn wants(&self, event: &crate::events::Event) -> bool {
        let kind = self.kinds.is_empty()
            || self.kinds.iter().any(|kind| match kind.strip_suffix('*') {
                Some(prefix) => event.kind.starts_with(prefix),
                None => event.kind == *kind,
            });
        let is = |wanted: &Option<String>, has: &Option<String>| wanted.is_none() || wanted == has;
        let resource = match &self.resource {
            Some((instance, uri)) if event.kind == kind::RESOURCE_UPDATED => {
                event.data.string("instance").as_ref() == Some(instance)
                    && event.data.string("uri").as_ref() == Some(uri)
            }
            _ => true,
        };
        kind && resource && is(&self.server, &event.server) && is(&self.session, &event.session)
    }
}

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

/// The daemon, its servers, their instances.
pub(super) fn status(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let config = hub.config();
    let views = hub.registry.views();
    let only = params.text("server").map(|name| views.find(&name));
    let only = match only {
        Some(Ok(upstream)) => Some(upstream.server.name.clone()),
        Some(Err(error)) => return Err(api_error(&error)),
        None => None,
    };
    let servers = views
        .by_name
        .values()
        .filter(|upstream| {
            only.as_ref()
                .is_none_or(|only| *only == upstream.server.name)
        })
        .map(|upstream| server_status(hub, upstream))
        .collect();
    Ok(Reply::of(&Status {
        version: hub.identity.version.clone(),
        pid: std::process::id(),
        uptime_sec: hub.identity.started.elapsed().as_secs(),
        endpoint: hub.identity.endpoint.clone(),
        socket: Some(hub.identity.socket.display().to_string()),
        config: config
            .files
            .iter()
            .map(|file| file.display().to_string())
            .collect(),
        config_error: hub.config_error(),
        config_note: other_files(hub),
        log: Some(log_status(hub)),
        clients: hub.activity.open(),
        servers,
    }))
}

fn log_status(hub: &Hub) -> LogStatus {
    let health = hub.log.health();
    LogStatus {
        written: health.written,
        lost: health.lost_queue + health.lost_disk,
        failing: health.failing,
    }
}

fn server_status(hub: &Hub, upstream: &Upstream) -> ServerStatus {
    let server: &Server = &upstream.server;
    let pool = upstream
        .backing
        .as_ref()
        .map(|backing| backing.pool.status());
    let known = upstream.known();
    let failure = upstream
        .backing
        .as_ref()
        .and_then(|backing| backing.failure());
    let age = known.as_ref().map(|known| {
        let seconds = hub.now().duration_since(known.read_at).as_secs();
        u64::try_from(seconds).unwrap_or(0)
    });
    let healthy = match (&failure, &known) {
        (Some(_), _) => Some(false),
        (None, Some(known)) if known.confirmed => Some(true),
        _ => None,
    };
    let ms =
        |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let (state, error, _) = super::catalogue::state(upstream);
    let (waiting, last_error, instances) = match pool {
        Some(pool) => (pool.waiting, pool.last_error, pool.instances),
        None => (0, None, Vec::new()),
    };
    ServerStatus {
        name: server.name.clone(),
        namespace: server.namespace.clone(),
        pool: server.identity(),
        sharing: server.sharing.word().to_owned(),
        scope: server.scope.word().to_owned(),
        max: server.max,
        min: server.min,
        waiting,
        tools: known
            .as_ref()
            .map(|known| known.visible(upstream.filter()).count()),
        schema_age_sec: age,
        state: state.to_owned(),
        healthy,
        last_error: error.or(last_error),
        left_out: known
            .as_ref()
            .map(|known| known.left_out())
            .unwrap_or_default(),
        reached: reached(server),
        timeouts_ms: TimeoutsMs {
            start: ms(server.start_timeout),
            call: ms(server.call_timeout),
            idle: ms(server.idle_timeout),
            queue: ms(hub.registry.limits().queue),
        },
        instances,
    }
}

/// What to know when the files are others than those that this daemon was started for.
pub(super) fn other_files(hub: &Hub) -> Option<String> {
    let config = hub.config();
    (config.key != hub.identity.key).then(|| {
        format!(
            "the configuration files are others than those that this daemon was started for: commands use the daemon `{}` from now on",
            config.key
        )
    })
}

/// The command line or the URL, as it is written in the file: variables are not expanded, literal secrets not shown.
fn reached(server: &Server) -> String {
    let shown = server.shown();
    let text = |name: &str| shown.get(name).and_then(|value| value.as_str());
    if let Some(url) = text("url") {
        return url.to_owned();
    }
    let args = shown.get("args").and_then(|args| args.as_array());
    let words = args.into_iter().flatten().filter_map(|arg| arg.as_str());
    text("command")
        .or_else(|| text("aliasOf"))
        .into_iter()
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// What happens, as it happens. With a `uri` the server is asked to tell of that resource, as long as somebody listens.
pub(super) async fn events(hub: &Hub, caller: &Caller, params: &Params) -> Result<Reply, ApiError> {
    let since = params.count("since")?.map(|since| since as u64);
    // Before the server is asked: what it tells at once is not missed.
    let subscription = hub.events.subscribe(since);
    let watching = match params.text("uri") {
        None => None,
        Some(text) => {
            let (server, uri) = text
                .split_once('/')
                .filter(|(server, uri)| !server.is_empty() && !uri.is_empty())
                .ok_or_else(|| {
                    ApiError::bad(format!(
                        "`uri` was `{}`, expected `namespace/uri`",
                        untrusted_text::terminal::one_line(&text, 80)
                    ))
                })?;
            let watching = hub.registry.watch(server, uri, caller).await;
            Some(watching.map_err(|error| api_error(&error))?)
        }
    };
    Ok(Reply::Events {
        subscription,
        filter: EventFilter {
            kinds: params.list("kinds"),
            server: params
                .text("server")
                .map(|name| match hub.registry.views().find(&name) {
                    Ok(upstream) => upstream.server.name.clone(),
                    Err(_) => name,
                }),
            session: params.text("session"),
            resource: watching
                .as_ref()
                .map(|one| (one.instance().to_owned(), one.uri.clone())),
        },
        watching,
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
