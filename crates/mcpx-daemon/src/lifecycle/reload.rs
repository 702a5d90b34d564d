//! Taking up the configuration as the files are now, with what was changed while the daemon runs on top.

use std::sync::Arc;

use mcp_wire::{Object, Raw};
use mcpx_api::{ApiError, Code};
use mcpx_config::settings::Source;
use mcpx_config::{Choice, Config, ConfigError, Settings, Trust, load};
use mcpx_store::daemons::Daemons;
use mcpx_store::trust::TrustFile;

use crate::events::kind;
use crate::hub::Hub;
use crate::registry::Applied;
use crate::telling::daemon as told;

/// Reads the files and takes them up. A configuration that cannot be read leaves the old one in force.
///
/// # Errors
/// When the files cannot be read as a configuration: which file, which line, what was expected.
pub async fn reload(hub: &Arc<Hub>) -> Result<Applied, ApiError> {
    let _single = hub.reloading.lock().await;
    match read(hub, &hub.settings()) {
        Ok(config) => Ok(take(hub, Arc::new(config)).await),
        Err(error) => Err(broken(hub, &error)),
    }
}

/// Reads the files, as they are now, under the changes that `runtime` carries.
///
/// # Errors
/// When the files cannot be read as a configuration.
pub(crate) fn read(hub: &Hub, runtime: &Settings) -> Result<Config, ConfigError> {
    let trust = trust(hub);
    let mut config = load(&hub.surroundings, &hub.choice, &trust)?;
    let changed: Vec<(String, String)> = runtime
        .all()
        .filter(|(_, resolved)| resolved.source == Source::Runtime)
        .map(|(setting, resolved)| (setting.path.to_owned(), resolved.value.to_string()))
        .collect();
    if changed.is_empty() {
        return Ok(config);
    }
    config.settings.keep_runtime_of(runtime);
    // Servers take their sizes and deadlines from the settings where they say nothing themselves.
    let mut choice: Choice = hub.choice.clone();
    choice.flags.extend(changed);
    config.servers = load(&hub.surroundings, &choice, &trust)?.servers;
    Ok(config)
}

/// Says that the files cannot be taken up.
fn broken(hub: &Hub, error: &ConfigError) -> ApiError {
    let text = error.to_string();
    // Asked for again and again, it is told once.
    if hub.config_error().as_ref() != Some(&text) {
        told::config_broken(hub, &text);
        let data = Object::new().with("error", text.as_str());
        hub.events.publish(kind::CONFIG_BROKEN, None, None, data);
    }
    hub.set_config_error(Some(text.clone()));
    let mut refused = ApiError::new(Code::Unprocessable, text)
        .hint("the configuration from before stays in force");
    if let Some(file) = error.file() {
        refused = refused.with("file", file.to_string_lossy().as_ref());
    }
    if let Some(line) = error.line() {
        refused = refused.with("line", Raw::of(&line));
    }
    refused
}

/// Takes up a configuration.
pub(crate) async fn take(hub: &Arc<Hub>, config: Arc<Config>) -> Applied {
    let before = hub.config();
    hub.set_config(Arc::clone(&config));
    super::building::set_limits(hub);
    hub.fronts.take_up_settings(hub);
    hub.log.set_level(told::level(&config.settings));
    hub.log.set_redactor(told::redactor(&config, &token(hub)));
    told::config_warns(hub, Some(&before), &config);
    hub.registry.catalogue.belong_to(&config);
    let applied = hub.registry.apply(&config).await;
    let changed = !applied.added.is_empty()
        || !applied.removed.is_empty()
        || !applied.changed.is_empty()
        || before.settings != config.settings;
    if changed {
        told::config_taken(hub, &applied);
        hub.events.publish(
            kind::CONFIG_CHANGED,
            None,
            None,
            Object::new()
                .with("added", Raw::of(&applied.added))
                .with("removed", Raw::of(&applied.removed))
                .with("changed", Raw::of(&applied.changed)),
        );
    }
    applied
}

/// The daemon's token, from its record.
fn token(hub: &Hub) -> String {
    Daemons::new(&hub.state)
        .read(&hub.identity.key)
        .ok()
        .flatten()
        .and_then(|record| record.token)
        .unwrap_or_default()
}

/// What the person accepted of projects' files.
pub(crate) fn trust(hub: &Hub) -> Trust {
    let (accepted, _told_by_others) = TrustFile::new(&hub.state).load();
    accepted.into_keys().collect()
}
