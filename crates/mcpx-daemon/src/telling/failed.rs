//! The message of a call that failed, without what varies, so that failures of one kind are counted together.

use std::borrow::Cow;

use mcp_client::{Cause, Failure, FailureKind};
use mcpx_store::log::{Level, Record};

use crate::registry::call::CallError;

/// What the log calls a request that never became a call of a tool that is known.
const REFUSED: &str = "mcp.refused";

/// Gives the record of a failed call its template; one that no server is to blame for becomes a warning, and one that
/// names no known server or tool is counted as no call.
pub(super) fn describe(record: &mut Record, error: &CallError) {
    record.template = template(error);
    match error {
        CallError::UnknownServer { .. } | CallError::Several { .. } => {
            record.event = Cow::Borrowed(REFUSED);
            record.level = Level::Warn;
            record.server = None;
            record.tool = None;
        }
        CallError::UnknownTool { .. }
        | CallError::Hidden { .. }
        | CallError::Unavailable { .. }
            if record.server.as_deref().is_none_or(str::is_empty) =>
        {
            record.event = Cow::Borrowed(REFUSED);
            record.level = Level::Warn;
            record.server = match error {
                CallError::UnknownTool { namespace, .. } | CallError::Hidden { namespace, .. } => {
                    Some(namespace.clone())
                }
                CallError::Unavailable { server, .. } => Some(server.clone()),
                _ => None,
            };
            record.tool = None;
        }
        CallError::Cancelled | CallError::NotConfirmed { .. } | CallError::Closing => {
            record.level = Level::Info;
        }
        // The server's tools were never read, and cannot be now: no tool of it was called.
        CallError::Failed { failure, .. } | CallError::Resting { failure, .. }
            if record.server.as_deref().is_none_or(str::is_empty) =>
        {
            record.event = Cow::Borrowed(REFUSED);
            record.server = Some(failure.server.name.clone());
            record.tool = None;
        }
        CallError::Exhausted { server, .. } | CallError::Timeout { server, .. }
            if record.server.as_deref().is_none_or(str::is_empty) =>
        {
            record.event = Cow::Borrowed(REFUSED);
            record.server = Some(server.clone());
            record.tool = None;
        }
        _ => {}
    }
    if record.event == REFUSED
        && let Some(message) = record
            .msg
            .split_once(" failed: ")
            .map(|(_, why)| why.to_owned())
    {
        record.msg = message;
    }
}

fn template(error: &CallError) -> Cow<'static, str> {
    Cow::Borrowed(match error {
        CallError::UnknownServer { .. } => "no server is called {name}",
        CallError::UnknownTool { .. } => "{server} has no tool {name}",
        CallError::Several { .. } => "{name} may mean several",
        CallError::Hidden { .. } => "{server}.{tool} is hidden by the configuration",
        CallError::Unavailable { .. } => "{server} cannot be used",
        CallError::Exhausted { .. } => "{server} has no free instance",
        CallError::Timeout { .. } => "{server}: it took too long before the call was sent",
        CallError::Resting { .. } => "{server} did not start and is not tried again yet",
        CallError::NotConfirmed { .. } => "{server}.{tool} was not confirmed",
        CallError::Cancelled => "{server}.{tool} was cancelled",
        CallError::Closing => "{server}.{tool}: the daemon is ending",
        CallError::Failed { failure, .. } => return of(failure),
    })
}

fn of(failure: &Failure) -> Cow<'static, str> {
    match &failure.kind {
        FailureKind::Answered(error) => Cow::Owned(format!(
            "{{server}}.{{tool}} was refused with code {}",
            error.code
        )),
        FailureKind::NoAnswer { cause, .. } => Cow::Owned(format!(
            "{{server}}.{{tool}} has no answer: {}",
            word(cause)
        )),
        FailureKind::Refused { .. } => Cow::Borrowed("{server}.{tool} was not sent"),
    }
}

/// The same for a server that did not start.
pub(super) fn of_start(failure: &Failure) -> String {
    match &failure.kind {
        FailureKind::NoAnswer { cause, .. } => format!("{{server}} did not start: {}", word(cause)),
        FailureKind::Answered(error) => {
            format!(
                "{{server}} did not start: it refused with code {}",
                error.code
            )
        }
        FailureKind::Refused { .. } => "{server} did not start: it was refused".to_owned(),
    }
}

fn word(cause: &Cause) -> &'static str {
    match cause {
        Cause::Start => "it cannot be started",
        Cause::Closed => "it closed the connection",
        Cause::Timeout(_) => "it took too long",
        Cause::Unreadable => "it sent what cannot be read",
        Cause::SessionLost => "its session was lost",
        Cause::Status(_) => "an HTTP status",
        Cause::Credentials => "it wants credentials",
        Cause::Cancelled => "the caller gave up",
        Cause::Rounds => "it asked too often",
    }
}
