//! Peers that are installed under `.peers/hubs`: the same calls through them, and their commands as whole processes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::calls::{Way, http, measure, median};
use crate::hub::{Hub, everything};
use crate::processes::timed;

fn installed(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.peers/hubs");
    let place = match name {
        "mcp-proxy" | "fastmcp" => root.join("venv/bin").join(name),
        _ => root.join("node_modules/.bin").join(name),
    };
    place.canonicalize().ok()
}

/// A proxy that serves one server over HTTP.
struct Proxy {
    name: &'static str,
    child: Child,
    url: String,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ended = Command::new("kill")
            .arg("--")
            .arg(format!("-{}", self.child.id()))
            .status();
        let _reaped = self.child.wait();
    }
}

fn start(name: &'static str, args: &[&str], url: String) -> Option<Proxy> {
    let program = installed(name)?;
    let child = std::os::unix::process::CommandExt::process_group(
        Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
        0,
    )
    .spawn()
    .unwrap();
    let proxy = Proxy { name, child, url };
    let port: u16 = proxy.url.split([':', '/']).nth(4)?.parse().ok()?;
    let until = Instant::now() + Duration::from_secs(30);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > until {
            println!("{name} did not open its port");
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(proxy)
}

/// Measures and prints what is installed.
pub(crate) async fn print(hub: &Hub, rounds: usize) {
    let Some(script) = everything() else { return };
    let script = script.display().to_string();
    let command = format!("node {script} stdio");
    let proxies = [
        start(
            "mcp-proxy",
            &["--port=4701", "--", "node", &script, "stdio"],
            "http://127.0.0.1:4701/mcp".to_owned(),
        ),
        start(
            "supergateway",
            &[
                "--stdio",
                &command,
                "--outputTransport",
                "streamableHttp",
                "--stateful",
                "--port",
                "4702",
            ],
            "http://127.0.0.1:4702/mcp".to_owned(),
        ),
    ];
    let ours = format!(
        "{}/mcp?passthrough=everything",
        hub.record.endpoint.as_deref().unwrap()
    );
    let mut rows = vec![("mcpx", ours, hub.record.token.clone())];
    rows.extend(
        proxies
            .iter()
            .flatten()
            .map(|proxy| (proxy.name, proxy.url.clone(), None)),
    );
    println!("\n| MCP over HTTP, server-everything | callers | p50 µs | p99 µs | calls/s |");
    println!("|---|---|---|---|---|");
    for callers in [1, 16] {
        let mut figures = vec![Vec::new(); rows.len()];
        for _ in 0..rounds {
            for (at, (_, url, token)) in rows.iter().enumerate() {
                let connection = http(url, token.as_deref()).await;
                let ways = vec![Way::Mcp(connection.clone(), "echo"); callers];
                figures[at].push(measure(&ways, 800).await);
                connection.close().await;
            }
        }
        for ((name, ..), figures) in rows.iter().zip(&figures) {
            println!(
                "| {name} | {callers} | {:.0} | {:.0} | {:.0} |",
                median(figures, |one| one.p50),
                median(figures, |one| one.p99),
                median(figures, |one| one.per_second)
            );
        }
    }
    drop(proxies);
    mcporter(hub, &script, rounds);
}

fn mcporter(hub: &Hub, script: &str, rounds: usize) {
    let Some(program) = installed("mcporter") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("mcporter.json");
    let servers = serde_json::json!({ "mcpServers": { "everything": {
        "command": "node", "args": [script, "stdio"], "lifecycle": "keep-alive",
    }}});
    std::fs::write(&config, servers.to_string()).unwrap();
    let call = || {
        let mut command = Command::new(&program);
        command
            .args(["--config".as_ref(), config.as_os_str()])
            .args(["call", "everything.echo", "message=hi"])
            .env("HOME", folder.path())
            .stderr(Stdio::null());
        command
    };
    timed(&mut call());
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        theirs.push(timed(&mut call()));
        ours.push(timed(&mut hub.command(&[
            "call",
            "everything.echo",
            "message=hi",
        ])));
    }
    let _stopped = Command::new(&program)
        .args(["--config".as_ref(), config.as_os_str()])
        .args(["daemon", "stop"])
        .env("HOME", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    println!("\n| warm call as a process, server-everything | median ms |");
    println!("|---|---|");
    println!("| mcpx | {:.1} |", median(&ours, |time| *time));
    println!(
        "| mcporter, keep-alive | {:.1} |",
        median(&theirs, |time| *time)
    );
}
