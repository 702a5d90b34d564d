//! Several calls in one request, one after the other or at the same time.

use std::sync::Arc;

use futures::StreamExt as _;
use mcp_wire::{Object, Raw};
use mcpx_api::{ApiError, Caller, Code, Params};

use super::Reply;
use super::caller::caller_of;
use super::calls::{answered, cap_of, made};
use crate::hub::Hub;
use crate::registry::call::Call;

/// How many calls of a parallel batch run at the same time.
const PARALLEL: usize = 16;
/// Most calls of one batch.
const BATCH: usize = 1_000;

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

#[cfg(test)]
mod tests {
    use super::*;

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
