//! The tools for readers: signatures, a listing within a budget, modules, schemas.

use mcp_wire::Raw;
use mcpx_api::{ApiError, Caller, Params};
use mcpx_catalog::{listing, published, typescript};
use mcpx_config::settings::key;

use super::selection::{Selected, readable, select};
use crate::hub::Hub;
use crate::ops::{Reply, settings_of};

/// Most tokens that a listing is asked for.
const BUDGET: usize = 1_000_000;

fn namespaced<'a>(
    selected: &'a [Selected],
    tools: &'a [Vec<mcp_wire::Tool>],
    instructions: bool,
) -> Vec<typescript::Namespace<'a>> {
    selected
        .iter()
        .zip(tools)
        .map(|(one, tools)| typescript::Namespace {
            server: &one.upstream.server.name,
            namespace: Some(&one.upstream.server.namespace),
            description: one.upstream.server.description.as_deref(),
            prelude: one.upstream.server.prelude.as_deref(),
            instructions: one
                .known
                .instructions
                .as_deref()
                .filter(|_| instructions && one.tools.is_none()),
            tools,
        })
        .collect()
}

fn tools_of(selected: &[Selected]) -> Vec<Vec<mcp_wire::Tool>> {
    selected.iter().map(Selected::tools).collect()
}

fn typescript(body: String) -> Reply {
    Reply::Text {
        media_type: "application/typescript",
        body,
    }
}

/// Signatures.
pub(in crate::ops) async fn types(
    hub: &Hub,
    caller: &Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let instructions = params
        .get("instructions")
        .and_then(Raw::boolean)
        .unwrap_or_else(|| settings_of(hub, caller).bool(key::CATALOG_INSTRUCTIONS));
    if params.list("ns").is_empty() {
        return Err(ApiError::bad("`ns` names nothing")
            .hint("`mcpx ls` shows the namespaces; `mcpx types NAMESPACE` or `NAMESPACE.TOOL`"));
    }
    let selected = select(hub, params).await?;
    let tools = tools_of(&selected);
    Ok(typescript(typescript::types(&namespaced(
        &selected,
        &tools,
        instructions,
    ))))
}

/// Every namespace, and signatures within a budget.
pub(in crate::ops) async fn catalog(
    hub: &Hub,
    caller: &Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let settings = settings_of(hub, caller);
    let budget = params
        .count("budget")?
        .unwrap_or_else(|| settings.int(key::CATALOG_BUDGET));
    let bias = match params.get("bias") {
        Some(_) => params.list("bias"),
        None => settings.list(key::CATALOG_BIAS).to_vec(),
    };
    let (selected, unread) = if params.list("ns").is_empty() {
        readable(hub, params).await?
    } else {
        (select(hub, params).await?, Vec::new())
    };
    let tools = tools_of(&selected);
    let bias: Vec<&str> = bias.iter().map(String::as_str).collect();
    let spaces = namespaced(&selected, &tools, settings.bool(key::CATALOG_INSTRUCTIONS));
    let mut body = listing::listing(&spaces, budget.min(BUDGET), &bias).text;
    for (namespace, why) in unread {
        let why = untrusted_text::terminal::one_line(&why, 160);
        body.push_str(&format!("`{namespace}` cannot be read: {why}\n"));
    }
    Ok(Reply::Text {
        media_type: "text/plain",
        body,
    })
}

/// A module with one function for each tool.
pub(in crate::ops) async fn client(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let selected = select(hub, params).await?;
    let tools = tools_of(&selected);
    Ok(typescript(typescript::client(&namespaced(
        &selected, &tools, false,
    ))))
}

/// The namespaces as globals of a script.
pub(in crate::ops) async fn globals(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let selected = select(hub, params).await?;
    let tools = tools_of(&selected);
    Ok(typescript(typescript::globals(&namespaced(
        &selected, &tools, false,
    ))))
}

/// The schemas as one document.
pub(in crate::ops) async fn schema(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    const FORMATS: [&str; 4] = ["json-schema", "openapi", "typescript", "mcp"];
    let format = params.text("format");
    let format = format.as_deref().unwrap_or(FORMATS[0]);
    if !FORMATS.contains(&format) {
        return Err(ApiError::bad(format!(
            "`format` was `{}`, expected one of {}",
            untrusted_text::terminal::one_line(format, 40),
            FORMATS.map(|word| format!("`{word}`")).join(", ")
        )));
    }
    let selected = select(hub, params).await?;
    let tools = tools_of(&selected);
    let spaces = namespaced(&selected, &tools, false);
    Ok(match format {
        "openapi" => Reply::of(&published::openapi(&spaces, &hub.identity.version)),
        "mcp" => Reply::of(&published::mcp(&spaces)),
        "typescript" => typescript(typescript::types(&spaces)),
        _ => Reply::of(&published::json_schema(&spaces)),
    })
}

/// The paths and the schemas of every tool that is known, for the document of the whole interface. Starts no server.
pub(in crate::ops) fn known_paths(
    hub: &Hub,
) -> (
    serde_json::Map<String, serde_json::Value>,
    serde_json::Map<String, serde_json::Value>,
) {
    let views = hub.registry.views();
    let selected: Vec<Selected> = views
        .by_name
        .values()
        .filter_map(|upstream| {
            Some(Selected {
                upstream: std::sync::Arc::clone(upstream),
                known: upstream.known()?,
                tools: None,
            })
        })
        .collect();
    let tools = tools_of(&selected);
    published::openapi_parts(&namespaced(&selected, &tools, false))
}
