//! `mcpx demo-server`: an MCP server to try the hub with, and to test it against.
//!
//! It has a small issue tracker in memory and a few tools that behave in ways a hub has to cope with: slow, asking, large,
//! failing. It needs nothing, keeps nothing, and answers the same each time it is started. Its tools have two sets of
//! schemas; `change_schema` goes from one to the other while it runs.

mod arguments;
mod asking;
mod issues;
mod reading;
mod schemas;
mod service;
mod trouble;

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;
use mcp_server::http::{Http, HttpConfig, Listener};
use mcp_server::{Config, Notifier, Sealer, Server, stdio};
use mcp_wire::Era;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How the server behaves, and where.
#[derive(Debug, Clone)]
pub(crate) struct DemoOptions {
    /// The only era that it speaks; both when nothing is said.
    pub(crate) era: Option<Era>,
    /// Whether it begins with the second set of schemas.
    pub(crate) changed: bool,
    /// The port on the loopback interface, 0 for any that is free. Over stdio when nothing is said.
    pub(crate) http: Option<u16>,
    /// Tells the time.
    pub(crate) now: fn() -> Timestamp,
    /// Takes the URL, once the port is open.
    pub(crate) announce: fn(&str),
}

/// Serves until the client closes its end, or over HTTP until the process is ended.
///
/// # Errors
/// When the port cannot be opened, or a pipe breaks.
pub(crate) async fn serve(options: DemoOptions) -> anyhow::Result<()> {
    let server = server(&options)?;
    let Some(port) = options.http else {
        stdio::serve(&server, stdio::stdin(), stdio::stdout()).await?;
        return Ok(());
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .with_context(|| format!("the port {port} cannot be opened on 127.0.0.1"))?;
    let address = listener.local_addr().context("the port has no address")?;
    (options.announce)(&format!("http://{address}/mcp"));
    let http = Http::new(server, HttpConfig::default());
    mcp_server::http::serve(http, Listener::Tcp(listener), CancellationToken::new()).await;
    Ok(())
}

fn server(options: &DemoOptions) -> anyhow::Result<Server> {
    let notifier = Notifier::new();
    let service = service::Demo::new(options.era, options.changed, notifier.clone());
    let sealer = Sealer::random().context("no random bytes for the demo server")?;
    Ok(Server::new(
        Arc::new(service),
        notifier,
        Arc::new(sealer),
        Config::new(options.now),
    ))
}

#[cfg(test)]
mod tests;
