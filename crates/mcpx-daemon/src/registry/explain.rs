//! The phase *explain*: a refusal, what is known of the tool, and what it used to be, put together.

use mcp_client::Failure;
use mcp_wire::{CallResult, Outcome};
use mcpx_catalog::explain::{Call as Made, Refusal, explain};
pub use mcpx_catalog::explain::{Finding, render};
use mcpx_catalog::history::History;
use mcpx_config::Server;

use super::Registry;
use super::call::{Call, Resolved, Wanted};
use super::known::Known;

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
    vec![mcpx_catalog::explain::unknown_tool(
        &server.name,
        namespace,
        spelled,
        &known.tools,
        history,
    )]
}

/// What is known about an answer that says the tool failed.
pub(super) fn result(
    registry: &Registry,
    resolved: &Resolved,
    call: &Call,
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
        return Vec::new();
    }
    let text = CallResult::parse(result.clone())
        .map(|result| result.joined_text())
        .unwrap_or_default();
    made(registry, resolved, call, Refusal::Result { text: &text })
}

/// What is known about an error that a server answered with.
pub(super) fn failure(
    registry: &Registry,
    resolved: &Resolved,
    call: &Call,
    failure: &Failure,
) -> Vec<Finding> {
    let Some(error) = failure.answered() else {
        return Vec::new();
    };
    let refusal = Refusal::Error {
        code: error.code,
        message: &error.message,
    };
    made(registry, resolved, call, refusal)
}

fn made(
    registry: &Registry,
    resolved: &Resolved,
    call: &Call,
    refusal: Refusal<'_>,
) -> Vec<Finding> {
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
