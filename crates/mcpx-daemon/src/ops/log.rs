//! What happened: records, and calls counted.

use std::sync::Arc;

use mcpx_api::{ApiError, Caller, Code, Params};

use super::Reply;
use crate::hub::Hub;

fn later() -> ApiError {
    ApiError::new(Code::Unavailable, "the log cannot be read yet")
}

/// Records of the log.
pub(super) async fn query(hub: &Arc<Hub>, params: &Params) -> Result<Reply, ApiError> {
    let _ = (hub, params);
    Err(later())
}

/// Writes a record.
pub(super) fn record(hub: &Hub, caller: &Caller, params: &Params) -> Result<Reply, ApiError> {
    let _ = (hub, caller, params);
    Err(later())
}

/// Calls counted.
pub(super) async fn stats(hub: &Arc<Hub>, params: &Params) -> Result<Reply, ApiError> {
    let _ = (hub, params);
    Err(later())
}
