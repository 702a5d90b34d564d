//! Which servers there are, and the settings.

use std::sync::Arc;

use mcpx_api::{ApiError, Code, Params};

use super::Reply;
use crate::hub::Hub;

fn later() -> ApiError {
    ApiError::new(Code::Unavailable, "this cannot be done yet")
}

/// The configured servers.
pub(super) fn list(hub: &Hub) -> Reply {
    let _ = hub;
    Reply::ok()
}

/// Writes a server into a file.
pub(super) async fn add(hub: &Arc<Hub>, params: &Params) -> Result<Reply, ApiError> {
    let _ = (hub, params);
    Err(later())
}

/// Takes one out of a file.
pub(super) async fn remove(hub: &Arc<Hub>, params: &Params) -> Result<Reply, ApiError> {
    let _ = (hub, params);
    Err(later())
}

/// The settings.
pub(super) fn settings_list(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let _ = (hub, params);
    Err(later())
}

/// One setting.
pub(super) fn settings_get(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let _ = (hub, params);
    Err(later())
}

/// Sets one.
pub(super) async fn settings_set(hub: &Arc<Hub>, params: &Params) -> Result<Reply, ApiError> {
    let _ = (hub, params);
    Err(later())
}

/// Takes one back.
pub(super) async fn settings_unset(hub: &Arc<Hub>, params: &Params) -> Result<Reply, ApiError> {
    let _ = (hub, params);
    Err(later())
}
