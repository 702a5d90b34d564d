//! Resources, prompts and completions of the servers, asked for by commands and over HTTP.

use std::sync::Arc;

use mcp_wire::{Object, method};
use mcpx_api::{ApiError, Caller, Params};

use super::Reply;
use super::caller::caller_of;
use super::calls::{answered, cap_of, made};
use crate::hub::Hub;
use crate::registry::call::Call;

/// Reads a resource.
pub(super) async fn resource_read(
    hub: &Arc<Hub>,
    caller: Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let uri = params.required("uri")?;
    let request = Object::new().with("uri", uri.as_str());
    forward(hub, caller, params, method::RESOURCES_READ, request).await
}

/// Renders a prompt.
pub(super) async fn prompt_get(
    hub: &Arc<Hub>,
    caller: Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let name = params.required("name")?;
    let request = Object::new()
        .with("name", name.as_str())
        .with_some("arguments", params.members("arguments"));
    forward(hub, caller, params, method::PROMPTS_GET, request).await
}

/// Completes an argument.
pub(super) async fn complete(
    hub: &Arc<Hub>,
    caller: Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let context = params
        .members("arguments")
        .map(|arguments| Object::new().with("arguments", arguments));
    let request = Object::new()
        .with_some("ref", params.members("ref"))
        .with_some("argument", params.members("argument"))
        .with_some("context", context);
    forward(hub, caller, params, method::COMPLETE, request).await
}

async fn forward(
    hub: &Arc<Hub>,
    caller: Caller,
    params: &Params,
    method: &'static str,
    request: Object,
) -> Result<Reply, ApiError> {
    let mut call = Call::request(params.required("server")?, method, request);
    call.caller = caller_of(caller, params)?;
    let cap = cap_of(hub, &call.caller);
    let done = made(hub, call).await?;
    Ok(Reply::json(answered(hub, &done, Some(cap))))
}
