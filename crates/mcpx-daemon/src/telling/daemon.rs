//! What the log is opened with, and its records of the daemon's own life.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use mcpx_config::settings::key;
use mcpx_config::{Asked, Config, Settings};
use mcpx_store::log::{Level, LogOptions, Record};
use serde_json::{Map, Value, json};
use untrusted_text::redact::Redactor;

use crate::hub::Hub;
use crate::registry::Applied;

/// What the log is opened with.
#[must_use]
pub fn log_options(config: &Config, token: &str) -> LogOptions {
    let settings = &config.settings;
    LogOptions {
        max_bytes: settings.bytes(key::LOGGING_MAX_BYTES).max(1),
        max_age: SignedDuration::try_from(settings.duration(key::LOGGING_MAX_AGE))
            .unwrap_or(SignedDuration::MAX),
        max_lines: match settings.int(key::LOGGING_MAX_LINES) {
            0 => u64::MAX,
            lines => lines as u64,
        },
        keep: settings.int(key::LOGGING_KEEP).max(1),
        level: level(settings),
        redactor: redactor(config, token),
        ..LogOptions::default()
    }
}

/// From which level on records are kept.
#[must_use]
pub fn level(settings: &Settings) -> Level {
    Level::parse(settings.text(key::LOGGING_LEVEL)).unwrap_or_default()
}

/// Knows the secrets of all servers, and the daemon's own.
#[must_use]
pub fn redactor(config: &Config, token: &str) -> Redactor {
    let mut secrets: Vec<String> = config
        .servers
        .values()
        .flat_map(mcpx_config::Server::secrets)
        .collect();
    if !token.is_empty() {
        secrets.push(token.to_owned());
    }
    Redactor::with_values(secrets)
}

/// The daemon begins.
pub(crate) fn started(hub: &Hub) {
    let identity = &hub.identity;
    let config = hub.config();
    let files: Vec<String> = config
        .files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let record = life(
        hub,
        Level::Info,
        "daemon.start",
        format!("the daemon for {} servers begins", config.servers.len()),
    )
    .with("key", identity.key.as_str())
    .with("socket", identity.socket.display().to_string())
    .with("files", files);
    hub.log.write(record);
    config_warns(hub, None, &config);
}

/// What a configuration warns of, and what waits in it for the person's word, as far as the one before did not.
pub(crate) fn config_warns(hub: &Hub, before: Option<&Config>, config: &Config) {
    let is_old = |warning| before.is_some_and(|before| before.warnings.contains(warning));
    for warning in config.warnings.iter().filter(|warning| !is_old(warning)) {
        warned(hub, "config.warning", warning.to_string());
    }
    let is_old = |one| before.is_some_and(|before| before.untrusted.contains(one));
    for one in config.untrusted.iter().filter(|one| !is_old(one)) {
        let what = match &one.asked {
            Asked::Server { name, .. } => format!("the server `{name}`"),
            Asked::Setting { path, .. } => format!("the setting `{path}`"),
        };
        let text = format!(
            "{}:{}: {what} waits for your word and is not used until then\nhint: `mcpx servers trust` shows and accepts it",
            one.file.display(),
            one.line
        );
        warned(hub, "config.untrusted", text);
    }
}

/// The daemon ends.
pub(crate) fn stopped(hub: &Hub, restarting: bool) {
    let uptime = hub.identity.started.elapsed().as_secs();
    let record = life(
        hub,
        Level::Info,
        "daemon.stop",
        if restarting {
            "the daemon ends and begins anew"
        } else {
            "the daemon ends"
        },
    )
    .with("uptimeSec", uptime)
    .with("restart", restarting);
    hub.log.write(record);
}

/// A configuration was taken up.
pub(crate) fn config_taken(hub: &Hub, applied: &Applied) {
    let record = plain(
        hub,
        Level::Info,
        "config.changed",
        format!(
            "the configuration was taken up: {} added, {} removed, {} changed, {} run on",
            applied.added.len(),
            applied.removed.len(),
            applied.changed.len(),
            applied.kept.len()
        ),
    )
    .with("added", applied.added.clone())
    .with("removed", applied.removed.clone())
    .with("changed", applied.changed.clone());
    hub.log.write(record);
}

/// A configuration could not be taken up.
pub(crate) fn config_broken(hub: &Hub, error: &str) {
    hub.log.write(Record {
        ok: Some(false),
        template: "the configuration cannot be read".into(),
        ..plain(hub, Level::Error, "config.broken", error)
    });
}

/// Something that is no failure of a server and should be looked at.
pub(crate) fn warned(hub: &Hub, event: &'static str, text: String) {
    hub.log.write(plain(hub, Level::Warn, event, text));
}

fn plain(hub: &Hub, level: Level, event: &'static str, text: impl Into<String>) -> Record {
    Record {
        trace: Some(hub.identity.span()),
        ..Record::new(level, event, text)
    }
}

/// A record with the context that `logging.include` asks for.
fn life(hub: &Hub, level: Level, event: &'static str, text: impl Into<String>) -> Record {
    let settings = hub.settings();
    let mut record = plain(hub, level, event, text);
    let blocks = context(&hub.surroundings.env, &hub.identity.version);
    for (name, block) in blocks {
        let is_wanted = settings.list(key::LOGGING_INCLUDE).contains(&name);
        if is_wanted {
            record = record.with(&name, block);
        }
    }
    record
}

/// The blocks that can be asked for, by name.
fn context(env: &BTreeMap<String, String>, version: &str) -> Map<String, Value> {
    let variable = |names: [&str; 2]| names.iter().find_map(|name| env.get(*name)).cloned();
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .ok()
        .or_else(|| variable(["HOSTNAME", "COMPUTERNAME"]));
    let host = json!({"name": name, "os": std::env::consts::OS, "arch": std::env::consts::ARCH});
    let mut user = json!({"name": variable(["USER", "LOGNAME"])});
    #[cfg(unix)]
    {
        user["id"] = rustix::process::getuid().as_raw().into();
    }
    let mut blocks = Map::new();
    blocks.insert("host".to_owned(), host);
    blocks.insert("user".to_owned(), user);
    blocks.insert(
        "process".to_owned(),
        json!({"pid": std::process::id(), "threads": std::thread::available_parallelism().map_or(1, usize::from)}),
    );
    blocks.insert("version".to_owned(), json!(version));
    blocks
}
