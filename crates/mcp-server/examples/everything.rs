//! A server with something of everything, for the conformance suite and for tests: `everything stdio`,
//! `everything http PORT`, which prints its URL, or `everything unix PATH`. What each thing answers is listed in `docs/how/conformance.md`.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for tests: it prints where it listens, and tells the time by itself"
)]

#[path = "everything/fixture.rs"]
mod fixture;

use std::sync::Arc;

use mcp_server::http::{Http, HttpConfig, Listener};
use mcp_server::{Config, Notifier, Sealer, Server, stdio};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let notifier = Notifier::new();
    let service = Arc::new(fixture::Everything::new(notifier.clone()));
    let sealer = Arc::new(Sealer::random()?);
    let server = Server::new(service, notifier, sealer, Config::new(jiff::Timestamp::now));
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => stdio::serve(&server, stdio::stdin(), stdio::stdout()).await?,
        ["http", port] => {
            let listener = TcpListener::bind(("127.0.0.1", port.parse::<u16>()?)).await?;
            println!("http://{}/mcp", listener.local_addr()?);
            let http = Http::new(server, HttpConfig::default());
            mcp_server::http::serve(http, Listener::Tcp(listener), CancellationToken::new()).await;
        }
        #[cfg(unix)]
        ["unix", path] => {
            let listener = tokio::net::UnixListener::bind(path)?;
            println!("{path}");
            let http = Http::new(server, HttpConfig::default());
            mcp_server::http::serve(http, Listener::Unix(listener), CancellationToken::new()).await;
        }
        _ => return Err("expected `stdio`, `http PORT` or `unix PATH`".into()),
    }
    // Reading stdin leaves a thread that waits for a line.
    std::process::exit(0)
}
