//! A call without an answer, as the error of an operation: what was received, what there is, what to do.

use mcp_client::{Cause, Delivery, FailureKind};
use mcp_wire::{Object, Raw};
use mcpx_api::{ApiError, Code};

use crate::registry::call::CallError;
use crate::registry::explain::{Finding, as_data, render};

/// Most names that are listed in a message.
const LISTED: usize = 20;

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&api_error(self).message)
    }
}

/// A call's failure as an operation's error.
#[must_use]
pub fn api_error(error: &CallError) -> ApiError {
    match error {
        CallError::UnknownServer { spelled, unasked, .. } if !unasked.is_empty() => {
            let why: Vec<&str> = unasked.iter().take(LISTED).map(|why| first_line(why)).collect();
            ApiError::new(
                Code::BadRequest,
                format!(
                    "nothing that could be asked is called `{}`, and not everything could:\n  {}",
                    shown(spelled),
                    why.join("\n  ")
                ),
            )
            .hint("if it is a tool of one of those, name it too: `namespace.tool`")
        }
        CallError::UnknownServer { spelled, near, all, .. } => {
            ApiError::new(Code::BadRequest, format!("no server is called `{}`", shown(spelled)))
                .hint(nearest(near).unwrap_or_else(|| match all.as_slice() {
                    [] => "no server is configured: `mcpx init` writes a first file, `mcpx servers import` takes the list of another host".to_owned(),
                    all => format!("there is {}", list(all)),
                }))
        }
        CallError::UnknownTool {
            namespace,
            spelled,
            near,
            findings,
        } => {
            let error = ApiError::new(
                Code::BadRequest,
                with_findings(&format!("`{namespace}` has no tool `{}`", shown(spelled)), findings),
            )
            .hint(nearest(&near.iter().map(|name| format!("{namespace}.{name}")).collect::<Vec<_>>())
                .unwrap_or_else(|| format!("see what it has: `mcpx types {namespace}`")));
            with_diagnostics(error, findings)
        }
        CallError::Several {
            spelled,
            candidates,
        } => ApiError::bad(format!("`{}` may mean several", shown(spelled)))
            .hint(format!("say which: {}", list(candidates))),
        CallError::Hidden { namespace, tool } => {
            ApiError::bad(format!("`{namespace}.{tool}` is hidden by the configuration"))
                .hint("see `tools` and `excludeTools` of the server: `mcpx servers list`")
        }
        CallError::Unavailable { server, why, hint } => {
            let error = ApiError::new(Code::Unavailable, format!("`{server}` cannot be used: {why}"))
                .with("server", server.as_str());
            match hint {
                Some(hint) => error.hint(hint.clone()),
                None => error,
            }
        }
        CallError::Exhausted { server, why } => {
            ApiError::new(Code::Exhausted, format!("`{server}` has no free instance: {why}"))
                .hint("try again, or raise `max` of the server or `pool.queueTimeout`")
                .with("server", server.as_str())
                .with("delivery", "not_sent")
        }
        CallError::Timeout {
            server,
            what,
            after,
        } => ApiError::new(
            Code::Timeout,
            format!("`{server}`: {what} took longer than {:.1} s", after.as_secs_f64()),
        )
        .with("server", server.as_str())
        .with("delivery", "not_sent"),
        CallError::Failed {
            failure,
            findings,
            verify_with,
        } => {
            let error = failed(failure, findings);
            match verify_with {
                Some(tool) => error
                    .hint(format!("`{tool}` may show whether it was done"))
                    .with("verifyWith", tool.as_str()),
                None => error,
            }
        }
        CallError::Resting { failure, retry_in } => {
            let mut error = failed(failure, &[]);
            error.message = format!(
                "{}\n  it is not tried again for {:.1} s; `mcpx restart {}` tries now",
                error.message,
                retry_in.as_secs_f64(),
                failure.server.name
            );
            error.with("retryInMs", Raw::of(&retry_in.as_millis()))
        }
        CallError::NotConfirmed { why } => ApiError::new(Code::Unprocessable, why.clone()),
        CallError::Cancelled => ApiError::new(Code::Conflict, "the call was cancelled"),
        CallError::Closing => ApiError::new(Code::Unavailable, "the daemon is ending"),
    }
}

fn failed(failure: &mcp_client::Failure, findings: &[Finding]) -> ApiError {
    let (code, delivery) = match &failure.kind {
        FailureKind::Answered(_) => (Code::Upstream, "answered"),
        FailureKind::NoAnswer {
            delivery, cause, ..
        } => (
            match cause {
                Cause::Timeout(_) => Code::Timeout,
                Cause::Cancelled => Code::Conflict,
                _ => Code::Upstream,
            },
            match delivery {
                Delivery::NotSent => "not_sent",
                Delivery::OutcomeUnknown => "outcome_unknown",
            },
        ),
        FailureKind::Refused { .. } => (Code::Upstream, "not_sent"),
    };
    let error = ApiError::new(code, with_findings(&failure.to_string(), findings))
        .with("server", failure.server.name.as_str())
        .with("delivery", delivery);
    let error = match advice(failure) {
        Some(advice) => error.hint(advice),
        None => error,
    };
    let error = match failure.answered() {
        Some(rpc) => error.with(
            "rpc",
            Object::new()
                .with("code", rpc.code)
                .with("message", rpc.message.as_str())
                .with_some("data", rpc.raw().get("data").cloned()),
        ),
        None => error,
    };
    with_diagnostics(error, findings)
}

/// Whether the program of a server is not there.
fn is_missing(failure: &mcp_client::Failure) -> bool {
    matches!(&failure.kind, FailureKind::NoAnswer { why, .. } if why.starts_with("there is no program"))
}

/// What to do about a server that did not start, or that asks a person where nobody can answer.
fn advice(failure: &mcp_client::Failure) -> Option<&'static str> {
    if failure
        .answered()
        .is_some_and(|rpc| rpc.code == mcp_wire::error::MISSING_CLIENT_CAPABILITY)
    {
        return Some(
            "it asks something in mid-call: call it from an MCP client that can answer, through `mcpx serve`",
        );
    }
    let FailureKind::NoAnswer {
        delivery: Delivery::NotSent,
        cause,
        ..
    } = &failure.kind
    else {
        return None;
    };
    match cause {
        Cause::Start if is_missing(failure) => {
            Some("install it, or write its whole path as `command`")
        }
        Cause::Start | Cause::Closed => {
            Some("run the line behind `reached as` in a shell to see what it says")
        }
        Cause::Timeout(_) => Some("if it only needs longer, raise its `startTimeout`"),
        _ => None,
    }
}

fn with_findings(message: &str, findings: &[Finding]) -> String {
    if findings.is_empty() {
        return message.to_owned();
    }
    format!("{message}\n{}", render(findings))
}

fn with_diagnostics(error: ApiError, findings: &[Finding]) -> ApiError {
    if findings.is_empty() {
        return error;
    }
    error.with("diagnostics", as_data(findings))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Foreign text on one line, cut.
fn shown(text: &str) -> String {
    untrusted_text::terminal::one_line(text, 120)
}

fn nearest(near: &[String]) -> Option<String> {
    (!near.is_empty()).then(|| format!("did you mean {}?", list(near)))
}

fn list(names: &[String]) -> String {
    let mut text = names
        .iter()
        .take(LISTED)
        .map(|name| format!("`{}`", shown(name)))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > LISTED {
        text.push_str(&format!(" and {} more", names.len() - LISTED));
    }
    text
}
