//! Calls of tools, prompts, resources and completions, and what they leave behind.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use mcp_wire::{Object, Outcome, Raw, method};
use mcpx_api::{ApiError, Caller, Code, Params};
use mcpx_config::settings::key;

use super::Reply;
use super::refused::api_error;
use crate::hub::Hub;
use crate::registry::call::{Call, Done};
use crate::registry::explain::as_data;

/// How many calls of a parallel batch run at the same time.
const PARALLEL: usize = 16;
/// Most calls of one batch.
const BATCH: usize = 1_000;

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
fn cap_of(hub: &Hub, caller: &Caller) -> u64 {
    super::settings_of(hub, caller).bytes(key::RESULTS_INLINE_MAX_BYTES)
}

/// Makes a call; one that fails says under which span it is in the log.
async fn made(hub: &Hub, call: Call) -> Result<Done, ApiError> {
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

/// Calls several tools.
pub(super) async fn batch(
    hub: &Arc<Hub>,
    caller: Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let caller = caller_of(caller, params)?;
    let wanted = params.objects("calls");
    if wanted.len() > BATCH {
        return Err(ApiError::new(
            Code::TooLarge,
            format!(
                "{} calls in one batch, at most {BATCH} are taken",
                wanted.len()
            ),
        ));
    }
    let stop = params
        .get("stopOnError")
        .and_then(Raw::boolean)
        .unwrap_or(true);
    // All are read before the first is made.
    let calls: Vec<Call> = wanted
        .iter()
        .enumerate()
        .map(|(index, one)| batched(index, one, &caller))
        .collect::<Result<_, _>>()?;
    let mut results = Vec::with_capacity(calls.len());
    if params.switch("parallel") {
        let each = calls
            .into_iter()
            .enumerate()
            .map(|(index, call)| one_of_batch(hub, index, call));
        results = futures::stream::iter(each)
            .buffered(PARALLEL)
            .map(|(_, result)| result)
            .collect()
            .await;
    } else {
        let mut failed = false;
        for (index, call) in calls.into_iter().enumerate() {
            if failed && stop {
                results.push(skipped(index, &wanted[index]));
                continue;
            }
            let (is_good, result) = one_of_batch(hub, index, call).await;
            failed |= !is_good;
            results.push(result);
        }
    }
    let failed = results
        .iter()
        .filter(|result| result.string("status").as_deref() == Some("failed"))
        .count();
    Ok(Reply::json(
        Object::new()
            .with(
                "results",
                Raw::of(&results.into_iter().map(Raw::from).collect::<Vec<_>>()),
            )
            .with("failed", Raw::of(&failed)),
    ))
}

fn batched(index: usize, one: &Object, caller: &Caller) -> Result<Call, ApiError> {
    let text = |names: [&str; 2]| names.into_iter().find_map(|name| one.string(name));
    let known = ["server", "namespace", "tool", "name", "args", "arguments"];
    if let Some((name, _)) = one.iter().find(|(name, _)| !known.contains(name)) {
        return Err(ApiError::bad(format!(
            "call {index} has a member `{}`; a call takes `server`, `tool` and `args`",
            untrusted_text::terminal::one_line(name, 60)
        )));
    }
    let tool = text(["tool", "name"])
        .filter(|tool| !tool.is_empty())
        .ok_or_else(|| ApiError::bad(format!("call {index} names no `tool`")))?;
    let given = one.get("args").or_else(|| one.get("arguments"));
    let arguments = match given {
        None => Object::new(),
        Some(raw) => raw
            .object()
            .map_err(|_| ApiError::bad(format!("call {index}: `args` has to be a JSON object")))?,
    };
    let mut call = Call::tool(text(["server", "namespace"]), tool, arguments);
    call.caller = Caller {
        // Each is a call of its own, also where the scope goes by calls.
        call: caller.call.as_ref().map(|id| format!("{id}.{index}")),
        ..caller.clone()
    };
    Ok(call)
}

async fn one_of_batch(hub: &Arc<Hub>, index: usize, call: Call) -> (bool, Object) {
    let (server, tool) = match &call.wanted {
        crate::registry::call::Wanted::Tool { name, .. } => (call.server.clone(), name.clone()),
        crate::registry::call::Wanted::Request { method, .. } => {
            (call.server.clone(), (*method).to_owned())
        }
    };
    let head = Object::new().with("index", Raw::of(&index));
    let cap = cap_of(hub, &call.caller);
    match made(hub, call).await {
        Ok(done) => {
            let is_good = !done.is_error();
            let mut result = head.with("status", if is_good { "ok" } else { "failed" });
            result.append(answered(hub, &done, Some(cap)));
            (is_good, result)
        }
        Err(error) => {
            let mut result = head
                .with_some("server", server.as_deref())
                .with("tool", tool.as_str())
                .with("status", "failed");
            result.append(error.to_document().without(&["server", "tool"]));
            (false, result)
        }
    }
}

fn skipped(index: usize, wanted: &Object) -> Object {
    Object::new()
        .with("index", Raw::of(&index))
        .with_some(
            "server",
            wanted
                .get("server")
                .or_else(|| wanted.get("namespace"))
                .cloned(),
        )
        .with_some(
            "tool",
            wanted.get("tool").or_else(|| wanted.get("name")).cloned(),
        )
        .with("status", "skipped")
}

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

/// Who asks: what the body says goes over what the headers say.
fn caller_of(caller: Caller, params: &Params) -> Result<Caller, ApiError> {
    let mut caller = caller;
    if let Some(session) = params.text("session") {
        caller.session = Some(session);
    }
    let Some(context) = params.members("context") else {
        return Ok(caller);
    };
    for (name, value) in context.iter() {
        let text = || {
            value.string().ok_or_else(|| {
                ApiError::bad(format!(
                    "`context.{name}` was {}, expected text",
                    value.as_str()
                ))
            })
        };
        match name {
            "cwd" => caller.cwd = Some(text()?.into()),
            "sessionId" => caller.session = Some(text()?),
            "parentSessionId" => caller.parent_session = Some(text()?),
            "callId" => caller.call = Some(text()?),
            "pid" => {
                caller.pid = Some(
                    value
                        .integer()
                        .and_then(|pid| i32::try_from(pid).ok())
                        .filter(|pid| *pid > 0)
                        .ok_or_else(|| {
                            ApiError::bad("`context.pid` has to be the number of a process")
                        })?,
                );
            }
            "ephemeral" => caller.ephemeral = value.boolean().unwrap_or(false),
            _ => {
                return Err(ApiError::bad(format!(
                    "`context` has no member `{}`; it takes cwd, sessionId, parentSessionId, pid, callId, ephemeral",
                    untrusted_text::terminal::one_line(name, 60)
                )));
            }
        }
    }
    Ok(caller)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpx_api::{Op, operation};

    fn params(given: Object) -> Params {
        Params::check(operation(Op::Batch), given).expect("parameters")
    }

    #[test]
    fn the_body_says_who_asks_over_what_the_headers_say() {
        let context = Object::new()
            .with("cwd", "/w")
            .with("sessionId", "b")
            .with("pid", 7);
        let given = Object::new()
            .with("calls", Raw::of(&Vec::<Raw>::new()))
            .with("session", "a")
            .with("context", context);
        let headers = Caller {
            session: Some("h".to_owned()),
            parent_session: Some("p".to_owned()),
            ..Caller::default()
        };
        let caller = caller_of(headers, &params(given)).expect("a caller");
        assert_eq!(caller.session.as_deref(), Some("b"));
        assert_eq!(caller.parent_session.as_deref(), Some("p"));
        assert_eq!(caller.pid, Some(7));
        assert_eq!(caller.cwd.as_deref(), Some(std::path::Path::new("/w")));
    }

    #[test]
    fn a_call_of_a_batch_says_what_is_wrong_with_it() {
        let caller = Caller::default();
        let wrong = Object::new()
            .with("tool", "a.b")
            .with("argz", Object::new());
        let error = batched(3, &wrong, &caller).err().expect("an error");
        assert!(
            error.message.contains("call 3") && error.message.contains("argz"),
            "{error}"
        );
        let error = batched(0, &Object::new(), &caller).err().expect("an error");
        assert!(error.message.contains("names no `tool`"), "{error}");
    }
}
