//! `mcpx serve`: an MCP server over stdio. The bytes go to the daemon as they are, and come from it.

use mcpx_api::Caller;
use mcpx_config::settings::key;
use tokio::io::AsyncWriteExt as _;

use super::Desk;
use crate::args::from_table::text;
use crate::exit::{Exit, Failure};
use crate::ladder::Hub;

/// Passes bytes on until the client has gone and what was under way is answered.
pub(super) async fn serve(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let passthrough = desk.config.settings.list(key::MCP_PASSTHROUGH).join(",");
    let mut path = "/mcp".to_owned();
    let mut query = Vec::new();
    if !passthrough.is_empty() {
        query.push(format!("passthrough={}", encoded(&passthrough)));
    }
    if let Some(tools) = text(&desk.typed.matches, "tools") {
        query.push(format!("tools={tools}"));
    }
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    // The whole connection is one caller: this process, or the session that its host names.
    let caller = Caller {
        pid: i32::try_from(std::process::id()).ok(),
        ephemeral: false,
        ..desk.caller()
    };
    let hub = Hub::new(&desk.told, &desk.config, caller, desk.printer)?;
    refuse_itself(desk, &hub)?;
    let client = hub.connected().await?;
    let daemon = client.upgrade(&path, "mcpx-stdio").await?;
    let (mut from_daemon, mut to_daemon) = tokio::io::split(daemon);
    let (mut stdin, mut stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let up = async {
        let _broken = tokio::io::copy(&mut stdin, &mut to_daemon).await;
        let _broken = to_daemon.shutdown().await;
    };
    let down = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = tokio::io::AsyncReadExt::read(&mut from_daemon, &mut buffer).await;
            let Ok(length @ 1..) = read else { break };
            let piece = buffer.get(..length).unwrap_or_default();
            if stdout.write_all(piece).await.is_err() || stdout.flush().await.is_err() {
                break;
            }
        }
    };
    tokio::pin!(down);
    let drain = desk.config.settings.duration(key::TRANSPORT_STDIO_DRAIN);
    tokio::select! {
        () = &mut down => {}
        // Open work is finished.
        () = up => {
            let _given_up = tokio::time::timeout(drain, down).await;
        }
    }
    Ok(Exit::Ok)
}

/// A list that names the hub as one of its servers, such as that of a host that both read: the daemon would serve itself.
fn refuse_itself(desk: &Desk<'_>, hub: &Hub<'_>) -> Result<(), Failure> {
    let owner = desk
        .told
        .surroundings
        .variable(child_process::mark::VARIABLE);
    let is_ours = |nonce: &str| owner == Some(nonce);
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
