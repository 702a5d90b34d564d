//! Failures that others reported of daemons that grow: clients that leave in the middle, by the thousand.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use testkit::wait_until;

use crate::harness::{Mcpx, demo};

const PATIENCE: Duration = Duration::from_secs(60);

/// A running daemon: its process and its socket.
fn running(mcpx: &Mcpx) -> (u64, PathBuf) {
    mcpx.ok(&["call", "demo.echo", "message=hi"]);
    let (_, document) = mcpx.json(&["daemons"]);
    let row = &document["daemons"][0];
    let socket = row["socket"].as_str().unwrap();
    let home = mcpx.home.path().canonicalize().unwrap();
    let socket = socket.replace("[home]", &home.display().to_string());
    (row["pid"].as_u64().unwrap(), socket.into())
}

fn descriptors(pid: u64) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// Resident memory in kB.
fn resident(pid: u64) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

fn posted(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: mcpx\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// One client of each kind that leaves in the middle.
fn leave(socket: &Path, number: usize) {
    let call = json!({"tool": "demo.slow", "args": {"ms": 60_000}}).to_string();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
        "notifications": {"toolsListChanged": true}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}}});
    let request = match number % 7 {
        0 => posted("/v1/call", &call),
        1 => "POST /v1/call HTTP/1.1\r\nhost: mc".to_owned(),
        2 => "GET /v1/events?since=0 HTTP/1.1\r\nhost: mcpx\r\n\r\n".to_owned(),
        3 => posted("/mcp", &initialize.to_string()),
        4 => posted("/mcp", &listen.to_string()),
        5 => "POST /v1/call HTTP/1.1\r\nhost: mcpx\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{".to_owned(),
        _ => "POST /mcp HTTP/1.1\r\nhost: mcpx\r\nconnection: upgrade\r\nupgrade: mcpx-stdio\r\n\r\n{\"jsonrpc\"".to_owned(),
    };
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    if number.is_multiple_of(2) && matches!(number % 7, 2 | 3 | 4 | 6) {
        // Some hear the beginning of the answer.
        let _beginning = stream.read(&mut [0; 64]).unwrap();
    }
}

#[test]
fn thousands_of_clients_that_leave_in_the_middle_leave_neither_descriptors_nor_memory() {
    let mcpx = Mcpx::with(&json!({
        "mcpServers": {"demo": demo()},
        "proto": {"sessionIdle": "300ms"},
        "daemon": {"reapInterval": "100ms"},
    }));
    let (daemon, socket) = running(&mcpx);
    let settled = |most: usize| {
        wait_until("nothing is held", PATIENCE, || {
            let (_, status) = mcpx.json(&["status"]);
            let held = status["servers"][0]["instances"][0]["holders"].as_u64();
            held.unwrap_or_default() == 0 && descriptors(daemon) <= most
        });
    };
    let usual = descriptors(daemon) + 6;
    (0..1_400).for_each(|number| leave(&socket, number));
    settled(usual);
    let before = resident(daemon);
    (0..2_800).for_each(|number| leave(&socket, number));
    settled(usual);
    let after = resident(daemon);
    assert!(
        after <= before + before / 8 + 2_048,
        "{before} kB grew to {after} kB"
    );
    assert_eq!(
        mcpx.ok(&["call", "demo.echo", "message=still"])
            .stdout
            .trim(),
        "still"
    );
}
