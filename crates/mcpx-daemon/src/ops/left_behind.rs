//! What calls leave behind: results that are read in pieces, and tasks.

use std::time::Duration;

use mcpx_api::{ApiError, Caller, Params};
use mcpx_config::settings::key;

use super::Reply;
use crate::hub::Hub;

/// Reads a piece of a result that was put aside.
pub(super) fn result_read(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    crate::results::read(hub, params)
}

/// The tasks.
pub(super) fn tasks_list(hub: &Hub) -> Reply {
    hub.tasks.list()
}

/// One task.
pub(super) fn task_get(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    hub.tasks.get(&params.required("id")?)
}

/// Waits for a task's result.
pub(super) async fn task_result(
    hub: &Hub,
    caller: &Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let wait = match params.count("waitMs")? {
        Some(ms) => Duration::from_millis(ms as u64),
        None => super::settings_of(hub, caller).duration(key::TASKS_RESULT_WAIT),
    };
    hub.tasks.result(&params.required("id")?, wait).await
}

/// Cancels a task.
pub(super) fn task_cancel(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    hub.tasks.cancel(&params.required("id")?)
}
