//! A Unix socket, and clients that stop reading.

#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use mcp_server::http::{Http, HttpConfig, Listener};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::served::{Setup, server};
use crate::wire::{WAIT, envelope};

fn post(stream: &mut UnixStream, host: &str, text: &str) {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "give", "arguments": {"text": text}, "_meta": envelope(&json!({}))}})
    .to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: give\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
}

#[test]
fn a_unix_socket_serves_any_host_name_and_gives_up_a_client_that_does_not_read() {
    let mut setup = Setup::default();
    setup.config.limits.write = Duration::from_millis(300);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let (server, _probe, _notifier) = server(setup.config);
    let http = Http::new(
        server,
        HttpConfig {
            check_host: false,
            ..HttpConfig::default()
        },
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = {
        let _inside = runtime.enter();
        tokio::net::UnixListener::bind(&path).unwrap()
    };
    let stop = CancellationToken::new();
    let serving = runtime.spawn(mcp_server::http::serve(
        http,
        Listener::Unix(listener),
        stop.clone(),
    ));

    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    post(&mut stream, "anything", "small");
    let mut start = [0; 15];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200 OK");

    let mut stuck = UnixStream::connect(&path).unwrap();
    stuck.set_read_timeout(Some(WAIT)).unwrap();
    let big = "x".repeat(4 * 1024 * 1024);
    post(&mut stuck, "anything", &big);
    // Not read until the server has given up: then the connection is cut, and the rest is not there.
    let deadline = Instant::now() + WAIT;
    while Instant::now() < deadline {
        if stuck.write_all(b" ").is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut rest = Vec::new();
    let _cut = stuck.read_to_end(&mut rest);
    assert!(rest.len() < big.len(), "{}", rest.len());

    stop.cancel();
    drop(stream);
    runtime.block_on(async { tokio::time::timeout(WAIT, serving).await.unwrap().unwrap() });
}
