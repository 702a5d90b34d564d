//! The official server that has one of everything, over streamable HTTP and over HTTP+SSE.

use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::Duration;

use mcp_client::{CallOptions, Verdict, connect};
use mcp_wire::Era;

use crate::setup::{object, url};

/// Killed when it is dropped.
struct Everything(Child);

impl Drop for Everything {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn everything(transport: &str) -> (Everything, String) {
    // It cannot choose a port itself.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut line = testkit::peers::mcp::everything();
    *line.args.last_mut().unwrap() = transport.to_owned();
    let child = line
        .to_command()
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Everything(child);
    testkit::wait_until("the server listens", Duration::from_secs(60), || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    (server, format!("http://127.0.0.1:{port}"))
}

async fn look_around(url_of: String, old_sse: bool) {
    let connection = connect(url(&url_of), None).await.unwrap();
    let verdict = Verdict {
        era: Era::Legacy,
        old_sse,
    };
    assert_eq!(connection.verdict(), Some(verdict));
    let options = CallOptions::default();
    let tools = connection.tools(&options).await.unwrap();
    assert!(tools.set_aside.is_empty());
    let arguments = object(r#"{"message":"hello"}"#);
    let (echo, resources) = tokio::join!(
        connection.call_tool("echo", arguments, &options),
        connection.resources(&options)
    );
    assert!(echo.unwrap().joined_text().contains("hello"));
    assert!(!resources.unwrap().elements.is_empty());
    connection.close().await;
}

#[tokio::test]
async fn everything_over_streamable_http() {
    let (_server, base) = tokio::task::spawn_blocking(|| everything("streamableHttp"))
        .await
        .unwrap();
    look_around(format!("{base}/mcp"), false).await;
}

#[tokio::test]
async fn everything_over_http_and_sse() {
    let (_server, base) = tokio::task::spawn_blocking(|| everything("sse"))
        .await
        .unwrap();
    look_around(format!("{base}/sse"), true).await;
}
