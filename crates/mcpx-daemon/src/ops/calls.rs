//! Calls of single tools, and what is answered for one.

use std::sync::Arc;
use std::time::Duration;

use mcp_wire::{Object, Outcome, Raw};
use mcpx_api::{ApiError, Caller, Params};
use mcpx_config::settings::key;

use super::Reply;
use super::caller::caller_of;
use super::refused::api_error;
use crate::hub::Hub;
use crate::registry::call::{Call, Done};
use crate::registry::explain::as_data;

/// Calls one tool.
pub(super) async fn call(
    hub: &Arc<Hub>,
    caller: Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let caller = caller_of(caller, params)?;
    let mut call = Call::tool(
        params.text("server").filter(|name| !name.is_empty()),
        params.required("tool")?,
        params.members("args").unwrap_or_default(),
    );
    let cap = if params.switch("raw") {
        None
    } else {
        Some(cap_of(hub, &caller))
    };
    call.caller = caller;
    call.timeout = params
        .count("timeoutMs")?
        .map(|ms| Duration::from_millis(ms as u64));
    if let Some(task) = params.members("task") {
        let ttl = task.get("ttlMs").and_then(Raw::integer);
        return hub.tasks.begin(hub, call, ttl);
    }
    let done = made(hub, call).await?;
    Ok(Reply::json(answered(hub, &done, cap)))
}

/// Calls the tool that the path names.
pub(super) async fn call_path(
    hub: &Arc<Hub>,
    caller: Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let mut call = Call::tool(
        Some(params.required("server")?),
        params.required("tool")?,
        params.members("args").unwrap_or_default(),
    );
    let cap = cap_of(hub, &caller);
    call.caller = Caller {
        session: params.text("session").or(caller.session.clone()),
        ..caller
    };
    let done = made(hub, call).await?;
    Ok(Reply::json(answered(hub, &done, Some(cap))))
}

/// How many bytes of a result this caller takes at once.
pub(super) fn cap_of(hub: &Hub, caller: &Caller) -> u64 {
    super::settings_of(hub, caller).bytes(key::RESULTS_INLINE_MAX_BYTES)
}

/// Makes a call; one that fails says under which span it is in the log.
pub(super) async fn made(hub: &Hub, call: Call) -> Result<Done, ApiError> {
    let trace = call.trace.clone();
    let made = hub.registry.call(call).await;
    made.map_err(|error| api_error(&error).with("traceId", trace.as_str()))
}

/// The answer of a call: `{result, server, tool, durationMs, traceId, …}`. A result over the cap, in bytes, is put aside
/// and its place taken by what it is and how to read it.
pub(crate) fn answered(hub: &Hub, done: &Done, cap: Option<u64>) -> Object {
    let mut document = Object::new();
    match &done.outcome {
        Outcome::Complete(result) => {
            let result = result.clone();
            document.set(
                "result",
                match cap {
                    None => result,
                    Some(cap) => crate::results::within(hub, cap, done, result),
                },
            );
        }
        Outcome::InputRequired(asked) => {
            document.set("inputRequired", asked.raw().clone());
        }
        Outcome::Task(task) => document.set("task", task.raw().clone()),
    }
    document.set("server", done.server.as_str());
    document.set("tool", done.tool.as_str());
    document.set("durationMs", Raw::of(&done.took.as_millis()));
    document.set("traceId", done.trace.as_str());
    document.set("instance", done.instance.as_str());
    if !done.findings.is_empty() {
        document.set("diagnostics", as_data(&done.findings));
    }
    document
}

/// Calls one of the hub's own MCP tools.
pub(super) async fn tool_invoke(
    hub: &Arc<Hub>,
    caller: Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let tool = params.required("tool")?;
    let operation = mcpx_api::operations::all()
        .find(|operation| operation.tool == Some(tool.as_str()))
        .ok_or_else(|| ApiError::not_found(format!("the hub has no tool `{tool}`")))?;
    let given = params.members("arguments").unwrap_or_default();
    let params = Params::check(operation, given)?;
    Box::pin(super::perform(hub, operation, caller, params)).await
}
