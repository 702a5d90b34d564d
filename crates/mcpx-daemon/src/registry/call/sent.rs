//! The request itself: how it is made, and on which connection.

use std::sync::Arc;

use mcp_client::{Ask, CallOptions, Connection, Failure};
use mcp_wire::tool::TaskSupport;
use mcp_wire::{Outcome, method};
use mcpx_config::Server;

use super::{Call, Resolved};
use crate::registry::trace::Trace;

/// How the request is made; whose its log lines are depends on the instance.
pub(super) fn options(resolved: &Resolved, call: &Call, trace: &Trace) -> CallOptions {
    let server: &Server = &resolved.upstream.server;
    let limit = call
        .timeout
        .or((!server.call_timeout.is_zero()).then_some(server.call_timeout));
    let nobody: Arc<dyn Ask> = Arc::new(crate::registry::asking::Nobody);
    CallOptions {
        // A call that reports progress lives as long as it may in all.
        idle: limit,
        max: limit,
        label: Some(trace.id.clone()),
        cancelled: call.cancelled.clone(),
        on_progress: call.on_progress.clone(),
        on_log: None,
        log_level: call.log_level.clone(),
        meta: call.meta.clone(),
        ask: Some(call.ask.clone().unwrap_or(nobody)),
        hand_back: call.hand_back,
        // What is handed back is the client's to answer, and a task's questions are asked in another way.
        without_tasks: call.hand_back && call.on_task.is_none(),
        repeatable: resolved
            .tool
            .as_ref()
            .map_or(resolved.method != method::TOOLS_CALL, |tool| {
                tool.hints().safe_to_repeat()
            }),
    }
}

pub(super) async fn request(
    connection: &Connection,
    resolved: &Resolved,
    call: &Call,
    options: &CallOptions,
) -> Result<Outcome, Failure> {
    let mut params = resolved.params.clone();
    let only_as_task = resolved
        .tool
        .as_ref()
        .is_some_and(|tool| tool.task_support() == TaskSupport::Required);
    let became_task = || {
        if let Some(on_task) = &call.on_task {
            on_task();
        }
    };
    if only_as_task && call.more.is_empty() {
        became_task();
        let arguments = params.object("arguments").unwrap_or_default();
        let called = connection.call_tool(&resolved.name, arguments, options);
        return called
            .await
            .map(|result| Outcome::Complete(result.into_raw()));
    }
    params.append(call.more.clone());
    match connection.request(resolved.method, params, options).await? {
        Outcome::Task(task) => {
            became_task();
            let seen = connection.see_task_through(task, options).await?;
            Ok(Outcome::Complete(seen.into_raw()))
        }
        other => Ok(other),
    }
}
