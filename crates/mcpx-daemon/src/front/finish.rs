//! From the end of a call to the result, or the error, that its client gets.

use mcp_wire::content::Content;
use mcp_wire::{CallResult, Object, Outcome, Raw, RpcError, error, meta};
use mcpx_api::ApiError;

use crate::hub::Hub;
use crate::ops::refused::api_error;
use crate::registry::call::{CallError, Done};
use crate::registry::explain::{as_data, render};

/// The key of `_meta` for what the hub knows of a call.
const CALL_KEY: &str = "dev.mcpx/call";
/// The key of `_meta` for what the hub says of a failure.
const ERROR_KEY: &str = "dev.mcpx/error";
/// The key of `_meta` for what the hub found about a refusal.
const DIAGNOSTICS_KEY: &str = "dev.mcpx/diagnostics";

/// How the end of a call is told.
#[derive(Debug, Clone)]
pub(super) enum Finish {
    /// The server's own words: its result as it is, its error as it is.
    Verbatim,
    /// The same, with the URIs of the contents in the hub's spelling.
    Resource {
        /// What begins them; empty when they are the server's own.
        prefix: String,
    },
    /// As the result of `mcpx_call`: a failure is a result too.
    Tool {
        /// Whether a large result is not put aside.
        whole: bool,
    },
}

impl Finish {
    /// Whether a resource is read.
    pub(super) fn is_read(&self) -> bool {
        matches!(self, Self::Resource { .. })
    }

    /// # Errors
    /// What the client is to get instead of a result.
    pub(super) fn tell(
        &self,
        hub: &Hub,
        ended: Result<Done, CallError>,
    ) -> Result<Object, RpcError> {
        match (self, ended) {
            (Self::Tool { whole }, Ok(done)) => Ok(called(hub, &done, *whole)),
            (Self::Tool { .. }, Err(error)) => Ok(failed(&api_error(&error))),
            (_, Err(error)) => Err(as_rpc(&error)),
            (_, Ok(done)) => {
                let mut result = complete(&done);
                if !done.findings.is_empty() {
                    meta::set(&mut result, DIAGNOSTICS_KEY, as_data(&done.findings));
                }
                if let Self::Resource { prefix } = self
                    && !prefix.is_empty()
                {
                    spell_contents(&mut result, prefix);
                }
                Ok(result)
            }
        }
    }
}

fn complete(done: &Done) -> Object {
    match &done.outcome {
        Outcome::Complete(result) => result.clone(),
        // Tasks are waited for, and rounds are taken care of before.
        Outcome::InputRequired(asked) => asked.raw().clone(),
        Outcome::Task(task) => task.raw().clone(),
    }
}

/// The result of `mcpx_call`: the server's own, or a handle when it is large. What the hub found about a refusal comes
/// behind what the server said.
fn called(hub: &Hub, done: &Done, whole: bool) -> Object {
    let mut result = complete(done);
    if !whole {
        result = crate::results::within_cap(hub, done, result);
    }
    if !done.findings.is_empty() {
        append(&mut result, &render(&done.findings));
    }
    let about = Object::new()
        .with("server", done.server.as_str())
        .with("tool", done.tool.as_str())
        .with("instance", done.instance.as_str())
        .with("traceId", done.trace.as_str())
        .with("durationMs", Raw::of(&done.took.as_millis()));
    meta::set(&mut result, CALL_KEY, about);
    if !done.findings.is_empty() {
        meta::set(&mut result, DIAGNOSTICS_KEY, as_data(&done.findings));
    }
    result
}

/// One more block of text at the end.
fn append(result: &mut Object, text: &str) {
    let blocks = result.get("content").map(Raw::array);
    let mut blocks = match blocks {
        Some(Ok(blocks)) => blocks,
        None => Vec::new(),
        // Not a shape to add to.
        Some(Err(_)) => return,
    };
    blocks.push(Content::text(text).raw);
    result.set("content", Raw::of(&blocks));
}

/// A failed operation as a tool's result: what happened, what to do.
pub(super) fn failed(error: &ApiError) -> Object {
    let mut text = error.message.clone();
    if let Some(hint) = &error.hint {
        text.push_str("\nhint: ");
        text.push_str(hint);
    }
    let mut result = CallResult::text(&text, true).into_raw();
    meta::set(&mut result, ERROR_KEY, error.to_document());
    result
}

/// A call without an answer, as an error of the protocol: the server's own as it is, ours so that it cannot be taken
/// for one of the server's.
pub(super) fn as_rpc(failure: &CallError) -> RpcError {
    if let CallError::Failed { failure, .. } = failure
        && let Some(rpc) = failure.answered()
    {
        return rpc.clone();
    }
    let said = api_error(failure);
    let mut message = said.message.clone();
    if let Some(hint) = &said.hint {
        message.push_str("\nhint: ");
        message.push_str(hint);
    }
    let code = match failure {
        CallError::UnknownServer { .. }
        | CallError::UnknownTool { .. }
        | CallError::Several { .. }
        | CallError::Hidden { .. } => error::INVALID_PARAMS,
        CallError::Cancelled => error::INTERNAL_ERROR,
        _ => i64::from(said.code.status()),
    };
    let mut data = said.to_document().without(&["error", "hint"]);
    data.set("origin", "hub");
    RpcError::new(code, message).with_data(data)
}

/// The contents of a resource under the URIs that the client knows them by.
fn spell_contents(result: &mut Object, prefix: &str) {
    let Some(Ok(contents)) = result.get("contents").map(Raw::array) else {
        return;
    };
    let spelled: Vec<Raw> = contents
        .into_iter()
        .map(|raw| match raw.object() {
            Ok(mut object) => {
                if let Some(uri) = object.string("uri") {
                    object.set("uri", format!("{prefix}{uri}"));
                }
                Raw::from(object)
            }
            Err(_) => raw,
        })
        .collect();
    result.set("contents", Raw::of(&spelled));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_the_hub_is_not_taken_for_one_of_the_server() {
        let error = as_rpc(&CallError::Exhausted {
            server: "a".to_owned(),
            why: "all in use".to_owned(),
        });
        assert_eq!(error.code, 429);
        let data = error.data.and_then(|data| data.object().ok());
        assert_eq!(
            data.and_then(|data| data.string("origin")).as_deref(),
            Some("hub")
        );
        let error = as_rpc(&CallError::UnknownTool {
            namespace: "a".to_owned(),
            spelled: "b".to_owned(),
            near: vec!["c".to_owned()],
            findings: Vec::new(),
        });
        assert_eq!(error.code, error::INVALID_PARAMS);
        assert!(error.message.contains("a.c"), "{}", error.message);
    }

    #[test]
    fn contents_get_the_uri_that_they_were_read_by() {
        let text = r#"{"contents":[{"uri":"file:///a","text":"x","n":1.0},7]}"#;
        let mut result = Raw::parse(text)
            .and_then(|raw| raw.object())
            .expect("an object");
        spell_contents(&mut result, "mcpx://f/");
        assert_eq!(
            Raw::from(result).as_str(),
            r#"{"contents":[{"uri":"mcpx://f/file:///a","text":"x","n":1.0},7]}"#
        );
    }
}
