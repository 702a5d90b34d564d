//! `mcpx serve`: an MCP server over standard streams, by the daemon. It outlives the daemon.

use mcp_server::stdio;
use mcpx_api::{Caller, Effect, operations};
use mcpx_config::settings::key;

use super::Desk;
use crate::args::from_table::text;
use crate::exit::{Exit, Failure};
use crate::ladder::Hub;
use crate::serve::{Terms, ToDaemon, relay};

/// Serves until the client has said its last and what was under way is answered.
pub(super) async fn serve(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let passthrough = desk.config.settings.list(key::MCP_PASSTHROUGH).join(",");
    let mut query = Vec::new();
    if !passthrough.is_empty() {
        query.push(format!("passthrough={}", encoded(&passthrough)));
    }
    if let Some(tools) = text(&desk.typed.matches, "tools") {
        query.push(format!("tools={tools}"));
    }
    let path = if query.is_empty() {
        "/mcp".to_owned()
    } else {
        format!("/mcp?{}", query.join("&"))
    };
    // All connections are one caller: this process, or the session that its host names.
    let caller = Caller {
        pid: i32::try_from(std::process::id()).ok(),
        ephemeral: false,
        ..desk.caller()
    };
    refuse_itself(desk, &caller)?;
    let way = ToDaemon {
        told: &desk.told,
        config: &desk.config,
        caller,
        printer: desk.printer,
        path,
    };
    let settings = &desk.config.settings;
    let message = settings.bytes(key::HTTP_CALL_BODY_LIMIT);
    let terms = Terms {
        message: usize::try_from(message).unwrap_or(usize::MAX),
        drain: settings.duration(key::TRANSPORT_STDIO_DRAIN),
        reads: reads(passthrough.is_empty()),
    };
    relay(&way, terms, stdio::stdin(), stdio::stdout()).await
}

/// The hub's own tools that only read. A server that is passed through may have one of the same name, which may do
/// anything.
fn reads(is_alone: bool) -> Vec<&'static str> {
    let own = operations::all()
        .filter(|operation| is_alone && operation.effect == Effect::Reads && operation.idempotent);
    own.filter_map(|operation| operation.tool).collect()
}

/// A list that names the hub as one of its servers, such as that of a host that both read: the daemon would serve itself.
fn refuse_itself(desk: &Desk<'_>, caller: &Caller) -> Result<(), Failure> {
    let owner = desk
        .told
        .surroundings
        .variable(child_process::mark::VARIABLE);
    let is_ours = |nonce: &str| owner == Some(nonce);
    let hub = Hub::new(&desk.told, &desk.config, caller.clone(), desk.printer)?;
    if hub.record().is_some_and(|record| is_ours(&record.nonce)) {
        return Err(Failure::failed(
            "this `mcpx serve` was started by the daemon that it would serve: the server list names the hub itself",
        )
        .hint("take that entry out of the list, or disable it: `\"mcpx\": {\"disabled\": true}`"));
    }
    Ok(())
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~,".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
