//! Taking up the configuration as the files are now.

use std::sync::Arc;

use mcp_wire::{Object, Raw};
use mcpx_api::{ApiError, Code};
use mcpx_config::{Trust, load};
use mcpx_store::trust::TrustFile;

use crate::hub::Hub;
use crate::registry::Applied;

/// Reads the files and takes them up. A configuration that cannot be read leaves the old one in force.
///
/// # Errors
/// When the files cannot be read as a configuration: which file, which line, what was expected.
pub async fn reload(hub: &Arc<Hub>) -> Result<Applied, ApiError> {
    let _single = hub.reloading.lock().await;
    let config = match load(&hub.surroundings, &hub.choice, &trust(hub)) {
        Ok(config) => Arc::new(config),
        Err(error) => {
            hub.set_config_error(Some(error.to_string()));
            hub.events.publish(
                "config.broken",
                None,
                None,
                Object::new().with("error", error.to_string().as_str()),
            );
            return Err(ApiError::new(Code::Unprocessable, error.to_string())
                .hint("the configuration from before stays in force"));
        }
    };
    Ok(take(hub, config).await)
}

/// Takes up a configuration.
pub(crate) async fn take(hub: &Arc<Hub>, config: Arc<mcpx_config::Config>) -> Applied {
    hub.set_config(Arc::clone(&config));
    hub.registry.catalogue.belong_to(&config.hash);
    super::start::set_limits(hub);
    let applied = hub.registry.apply(&config).await;
    let changed = !applied.added.is_empty()
        || !applied.removed.is_empty()
        || !applied.changed.is_empty();
    if changed {
        hub.events.publish(
            "config.changed",
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

/// What the person accepted of projects' files.
pub(crate) fn trust(hub: &Hub) -> Trust {
    let (accepted, _told_by_others) = TrustFile::new(&hub.state).load();
    accepted.into_keys().collect()
}
