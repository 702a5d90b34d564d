//! The phase *explain*: a refusal, what is known of the tool, and what it used to be, put together.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use mcp_client::{CallOptions, Connection, Delivery, Failure, FailureKind};
use mcp_wire::{CallResult, Object, Outcome};
use mcpx_catalog::explain::{Call as Made, Refusal, explain};
pub use mcpx_catalog::explain::{Finding, render};
use mcpx_catalog::history::History;
use mcpx_config::Server;
use untrusted_text::terminal::one_line;

use super::Registry;
use super::call::{Call, Resolved, Wanted};
use super::known::Known;

/// Larger structured results are not held against their schema, in bytes.
const HELD_AGAINST: usize = 256 * 1024;
/// How long an explanation waits for the tools to be read again.
const FRESH: Duration = Duration::from_secs(5);

/// What is known about a tool that the server does not have.
#[must_use]
pub(super) fn unknown_tool(
    history: &History,
    server: &Server,
    namespace: &str,
    spelled: &str,
    known: Option<&Known>,
) -> Vec<Finding> {
    let Some(known) = known else {
        return Vec::new();
    };
    let mut finding = mcpx_catalog::explain::unknown_tool(
        &server.name,
        namespace,
        spelled,
        &known.tools,
        history,
    );
    // It is there, and nobody could make sense of it.
    if let Some((name, reason)) = known.set_aside.iter().find(|(name, _)| name == spelled) {
        finding.message = format!(
            "the definition of {namespace}.{} could not be read: {}",
            one_line(name, 120),
            one_line(reason, 200)
        );
        finding.fix = None;
    }
    vec![finding]
}

/// What an explanation is made from: the call, and the connection on which it was refused.
#[derive(Clone, Copy)]
pub(super) struct Refused<'a> {
    /// Which server and tool it was.
    pub(super) resolved: &'a Resolved,
    /// What was asked.
    pub(super) call: &'a Call,
    /// The connection that answered.
    pub(super) connection: &'a Connection,
    /// When the call was made.
    pub(super) at: Timestamp,
}

/// What is known about an answer that says the tool failed.
pub(super) async fn result(
    registry: &Registry,
    refused: Refused<'_>,
    outcome: &Outcome,
) -> Vec<Finding> {
    let Outcome::Complete(result) = outcome else {
        return Vec::new();
    };
    let says_error = result
        .get("isError")
        .and_then(mcp_wire::Raw::boolean)
        .unwrap_or(false);
    if !says_error {
        hold_against_schema(registry, refused.resolved, result);
        return Vec::new();
    }
    let text = CallResult::parse(result.clone())
        .map(|result| result.joined_text())
        .unwrap_or_default();
    with_fresh_tools(registry, refused, Refusal::Result { text: &text }, false).await
}

/// Tells the server's owner when a structured result is not as the tool declared it.
fn hold_against_schema(registry: &Registry, resolved: &Resolved, result: &Object) {
    let Some(tool) = resolved
        .tool
        .as_ref()
        .filter(|tool| tool.output_schema().is_some())
    else {
        return;
    };
    let server = registry.definition(&resolved.upstream.server);
    if registry.is_known_to_break(&server, &tool.name) {
        return;
    }
    let how = match result.get("structuredContent") {
        None => Some("it has no structured content".to_owned()),
        Some(structured) if structured.as_str().len() > HELD_AGAINST => None,
        Some(structured) => structured
            .value()
            .ok()
            .and_then(|value| mcpx_catalog::explain::unlike_declared(tool, &value)),
    };
    if let Some(how) = how {
        registry.broke_its_schema(&server, &tool.name, &how);
    }
}

/// What is known about an error that a server answered with.
pub(super) async fn failure(
    registry: &Registry,
    refused: Refused<'_>,
    failure: &Failure,
) -> Vec<Finding> {
    let Some(error) = failure.answered() else {
        return Vec::new();
    };
    let refusal = Refusal::Error {
        code: error.code,
        message: &error.message,
    };
    let is_certain = error.code == mcp_wire::error::INVALID_PARAMS;
    with_fresh_tools(registry, refused, refusal, is_certain).await
}

/// The tool that may show whether a call was done that has no answer.
pub(super) fn verify_with(refused: Refused<'_>, failure: &Failure) -> Option<String> {
    let FailureKind::NoAnswer {
        delivery: Delivery::OutcomeUnknown,
        ..
    } = &failure.kind
    else {
        return None;
    };
    let resolved = refused.resolved;
    let called = resolved.tool.as_deref()?;
    let known = resolved.backing.known()?;
    let tools = known.visible(resolved.upstream.filter());
    let found = mcpx_catalog::explain::verify_with(tools, called)?;
    let function = known.names().identifier(found);
    Some(format!("{}.{function}", resolved.upstream.server.namespace))
}

/// What is known, by the tools as they are: where the refusal is about the call and the tools were read before it was
/// made, they are read again first. They may have changed since, and then that is what was wrong.
async fn with_fresh_tools(
    registry: &Registry,
    refused: Refused<'_>,
    refusal: Refusal<'_>,
    is_certain: bool,
) -> Vec<Finding> {
    let findings = made(registry, refused, refusal);
    if findings.is_empty() && !is_certain {
        return findings;
    }
    let Refused {
        resolved,
        connection,
        at,
        ..
    } = refused;
    let Some(known) = resolved.backing.known() else {
        return findings;
    };
    if known.confirmed && known.read_at >= at {
        return findings;
    }
    let now = (registry.clock)();
    let options = CallOptions::default();
    let reading = Known::read(connection, &options, now);
    let Ok(Ok(known)) = tokio::time::timeout(FRESH, reading).await else {
        return findings;
    };
    let known = Arc::new(known);
    resolved.backing.learn(Arc::clone(&known));
    registry.took(&registry.definition(&resolved.upstream.server), &known);
    made(registry, refused, refusal)
}

fn made(registry: &Registry, refused: Refused<'_>, refusal: Refusal<'_>) -> Vec<Finding> {
    let Refused { resolved, call, .. } = refused;
    let Wanted::Tool { arguments, .. } = &call.wanted else {
        return Vec::new();
    };
    let base = registry.definition(&resolved.upstream.server);
    let known = resolved.backing.known();
    let made = Made {
        server: &base.name,
        namespace: &resolved.upstream.server.namespace,
        tool: &resolved.name,
        tools: known.as_ref().map(|known| known.tools.as_slice()),
        arguments,
    };
    explain(&made, refusal, &registry.history())
}

/// Findings as a member of an error's document.
#[must_use]
pub fn as_data(findings: &[Finding]) -> mcp_wire::Raw {
    mcp_wire::Raw::of(
        &findings
            .iter()
            .map(Finding::to_value)
            .collect::<Vec<serde_json::Value>>(),
    )
}
