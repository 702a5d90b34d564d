//! What runs, and by which sizes and times: the daemon, its servers, their instances.

mod sources;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use mcpx_api::reply::{LogStatus, Saving, ServerStatus, Status, TimeoutsMs};
use mcpx_api::{ApiError, Params};
use mcpx_config::{Server, Shared, shared};

use self::sources::Sources;
use super::Reply;
use super::refused::api_error;
use crate::hub::Hub;
use crate::registry::upstream::Upstream;

/// The daemon, its servers, their instances.
pub(super) fn status(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let config = hub.config();
    let views = hub.registry.views();
    let pools = shared(&config.servers);
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
        .map(|upstream| server_status(hub, upstream, &pools))
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
        clients: hub.fronts.clients(),
        saving: saving(hub, &pools),
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

fn server_status(hub: &Hub, upstream: &Upstream, pools: &BTreeMap<String, Shared>) -> ServerStatus {
    let server: &Server = &upstream.server;
    let shared = pools.get(&server.identity());
    let sizes = shared.map_or(server, |shared| &shared.server);
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
        max: sizes.max,
        min: sizes.min,
        shares_with: shared
            .map(|shared| shared.names.iter().filter(|name| **name != server.name))
            .into_iter()
            .flatten()
            .cloned()
            .collect(),
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
            idle: ms(sizes.idle_timeout),
            queue: ms(hub.registry.limits().queue),
        },
        sizes_from: Sources { hub, shared }.of(server),
        instances,
    }
}

/// What to know when the files are others than those that this daemon was started for.
pub(in crate::ops) fn other_files(hub: &Hub) -> Option<String> {
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

/// What it spares that clients share what runs: each that is connected would run every server by itself.
fn saving(hub: &Hub, pools: &BTreeMap<String, Shared>) -> Saving {
    let mut saving = Saving {
        clients: hub.fronts.clients(),
        servers: pools.len(),
        ..Saving::default()
    };
    let mut seen = HashSet::new();
    for backing in hub.registry.backings() {
        if seen.insert(Arc::as_ptr(&backing.pool)) {
            let instances = backing.pool.status().instances;
            saving.instances += instances.len();
            saving.calls += instances.iter().map(|one| one.calls).sum::<u64>();
        }
    }
    saving.apart = saving.clients * saving.servers;
    saving
}
