//! What the tests over HTTP share: specs for a URL, and small servers whose bytes a test writes itself.

use std::sync::Arc;
use std::time::Duration;

use crate::setup::eventually;
use mcp_client::server::HttpReach;
use mcp_client::{Connection, Reach, ServerSpec, connect};
use mcp_wire::{CallResult, Implementation};
use testkit::mcp::{HttpChaos, Received};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) fn reach(url: &str) -> HttpReach {
    HttpReach {
        url: url.parse().unwrap(),
        unix_socket: None,
        headers: Vec::new(),
        authorizer: None,
    }
}

pub(crate) fn spec_of(reach: HttpReach) -> ServerSpec {
    let mut spec = ServerSpec::new(
        "chaos",
        Reach::Http(reach),
        Implementation::new("test", "1"),
    );
    spec.timeouts.start = Duration::from_secs(30);
    spec.timeouts.probe = Duration::from_secs(5);
    spec.timeouts.idle = Duration::from_secs(20);
    spec
}

pub(crate) fn http_spec(server: &HttpChaos) -> ServerSpec {
    spec_of(reach(server.url()))
}

pub(crate) async fn connected(server: &HttpChaos) -> Connection {
    connect(http_spec(server), None).await.unwrap()
}

/// The text of a result.
pub(crate) fn text(result: &CallResult) -> String {
    mcp_wire::Raw::from(result.raw().clone()).to_string()
}

/// Waits until what a server received is like this, without holding up the client.
pub(crate) async fn http_received(
    server: &HttpChaos,
    what: &str,
    condition: impl Fn(&Received) -> bool,
) -> Received {
    eventually(|| server.received(), what, condition).await
}

/// One HTTP request as it arrived.
pub(crate) struct Arrived {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Arrived {
    pub(crate) async fn read(stream: &mut TcpStream) -> Option<Self> {
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length:"))
                    .map_or(0, |length| length.trim().parse().unwrap());
                if bytes.len() >= end + 4 + length {
                    let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
                    return Some(Self { head, body });
                }
            }
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            }
        }
    }
}

/// A server on a loopback port that answers every connection with what `answer` writes.
pub(crate) async fn serve<F, Answering>(answer: F) -> String
where
    F: Fn(TcpStream) -> Answering + Send + Sync + 'static,
    Answering: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    format!("http://{address}/mcp")
}

/// A server that answers every request with the same bytes and closes.
pub(crate) async fn serve_bytes(bytes: Vec<u8>) -> String {
    let bytes = Arc::new(bytes);
    serve(move |mut stream| {
        let bytes = Arc::clone(&bytes);
        async move {
            if Arrived::read(&mut stream).await.is_some() {
                let _gone = stream.write_all(&bytes).await;
                let _gone = stream.shutdown().await;
            }
        }
    })
    .await
}
