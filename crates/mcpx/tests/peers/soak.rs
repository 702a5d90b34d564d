//! Clients that come and go by the thousand, most without a goodbye: the daemon's memory stays as it is.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::{Value, json};
use testkit::wait_until;

use crate::hub::{Hub, PATIENCE, stateful};

/// Clients at the same time.
const WORKERS: usize = 4;
/// Growth that is no leak: 12 %, and what one allocation of pages may be.
const GROWTH: (u64, u64) = (12, 2_048);

/// A connection that is kept.
struct Http {
    stream: BufReader<UnixStream>,
}

impl Http {
    fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// One exchange; returns the status, the session of the answer, and the body.
    fn send(
        &mut self,
        method: &str,
        session: Option<&str>,
        body: &str,
    ) -> (u16, Option<String>, Value) {
        let session = session.map_or(String::new(), |id| format!("mcp-session-id: {id}\r\n"));
        write!(
            self.stream.get_mut(),
            "{method} /mcp HTTP/1.1\r\nhost: mcpx\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\nmcp-protocol-version: 2025-11-25\r\n{session}\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let (mut status, mut length, mut given) = (0, None, None);
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().unwrap();
            }
            match line.split_once(": ") {
                Some(("content-length", bytes)) => length = Some(bytes.parse().unwrap()),
                Some(("transfer-encoding", _)) => length = None,
                Some(("mcp-session-id", id)) => given = Some(id.to_owned()),
                _ => {}
            }
        }
        let body = match length {
            Some(length) => self.bytes(length),
            None if status == 204 => String::new(),
            None => self.events(),
        };
        (
            status,
            given,
            serde_json::from_str(&body).unwrap_or_default(),
        )
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn bytes(&mut self, length: usize) -> String {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// The last message of a stream of events, which is how an answer comes that takes a while.
    fn events(&mut self) -> String {
        let mut all = String::new();
        loop {
            let length = usize::from_str_radix(&self.line(), 16).unwrap();
            all.push_str(&self.bytes(length));
            self.line();
            if length == 0 {
                break;
            }
        }
        let last = all
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .next_back();
        last.unwrap_or_default().to_owned()
    }
}

fn request(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn initialize() -> String {
    let client = json!({ "name": "soak", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    request("initialize", &params)
}

/// A session: begun, used, and every second time left without a word. One in 500 starts a server of its own.
fn session(http: &mut Http, number: usize) {
    let mut begun = http.send("POST", None, &initialize());
    // Those that were left make room when they were idle for long enough.
    wait_until("there is room", PATIENCE, || {
        if begun.0 == 503 {
            begun = http.send("POST", None, &initialize());
        }
        begun.0 != 503
    });
    let (status, id, body) = begun;
    assert_eq!(status, 200, "session {number}: {body}");
    let id = id.unwrap();
    let (status, _, body) = http.send("POST", Some(&id), &request("tools/list", &json!({})));
    assert!(
        status == 200 && body["result"]["tools"].is_array(),
        "{status}: {body}"
    );
    if number % 500 == 250 {
        let call = json!({ "name": "mcpx_call", "arguments": { "tool": "own.who" } });
        let (_, _, body) = http.send("POST", Some(&id), &request("tools/call", &call));
        assert_eq!(body["result"]["isError"], false, "{body}");
    }
    if number.is_multiple_of(2) {
        let (status, _, body) = http.send("DELETE", Some(&id), "");
        assert!(status < 300, "{status}: {body}");
    }
}

/// A connection of `mcpx serve` that breaks off behind its first answer.
fn broken_off(socket: &Path) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head =
        "POST /mcp HTTP/1.1\r\nhost: mcpx\r\nconnection: upgrade\r\nupgrade: mcpx-stdio\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream
        .write_all(format!("{}\n", initialize()).as_bytes())
        .unwrap();
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("101"), "{first}");
    let answer = lines
        .map_while(Result::ok)
        .find(|line| line.contains("jsonrpc"));
    assert!(answer.unwrap().contains("protocolVersion"));
}

/// Does it for all numbers of a range, some at a time.
fn spread(range: std::ops::Range<usize>, work: &(impl Fn(&mut dyn Iterator<Item = usize>) + Sync)) {
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let mut numbers = range.clone().skip(worker).step_by(WORKERS);
            scope.spawn(move || work(&mut numbers));
        }
    });
}

/// Resident memory in kB.
fn rss(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[track_caller]
fn flat(what: &str, before: u64, after: u64) {
    let most = before + before * GROWTH.0 / 100 + GROWTH.1;
    assert!(after <= most, "{what}: {before} kB grew to {after} kB");
}

fn begun(session_idle: &str) -> (Hub, u32, PathBuf) {
    let hub = Hub::new(&json!({}));
    let servers = json!({ "own": stateful(json!({ "scope": "session" })) });
    let config = json!({
        "mcpServers": servers,
        "daemon": { "reapInterval": "100ms" },
        "proto": { "sessionIdle": session_idle },
    });
    hub.home.write("mcpx.json", config.to_string());
    hub.ok(&["refresh"]);
    let record = hub.record();
    (hub, record.pid, record.socket)
}

/// No caller is left, and nothing that was started for one.
#[track_caller]
fn nothing_is_held(hub: &Hub) {
    wait_until("all sessions ended", PATIENCE, || {
        let status = hub.status();
        let instances = &status.servers[0].instances;
        let own = instances
            .iter()
            .filter(|one| one.key.starts_with("session"));
        status.clients <= 1 && own.count() == 0
    });
    assert!(
        hub.server("own")
            .instances
            .iter()
            .all(|one| one.holders == 0)
    );
}

#[test]
fn rss_soak_10k_sessions() {
    let (hub, daemon, socket) = begun("400ms");
    let work = |numbers: &mut dyn Iterator<Item = usize>| {
        let mut http = Http::connect(&socket);
        numbers.for_each(|number| session(&mut http, number));
    };
    spread(0..2_000, &work);
    let before = rss(daemon);
    spread(2_000..10_000, &work);
    flat("10,000 sessions over HTTP", before, rss(daemon));
    // The next one that comes lets those go that were left.
    wait_until("they are let go", PATIENCE, || {
        work(&mut std::iter::once(1));
        let instances = hub.server("own").instances;
        !instances.iter().any(|one| one.key.starts_with("session"))
    });
    nothing_is_held(&hub);
}

#[test]
fn connections_that_break_off_leave_nothing() {
    let (hub, daemon, socket) = begun("30m");
    let work = |numbers: &mut dyn Iterator<Item = usize>| numbers.for_each(|_| broken_off(&socket));
    spread(0..500, &work);
    nothing_is_held(&hub);
    let before = rss(daemon);
    spread(500..2_500, &work);
    nothing_is_held(&hub);
    flat("2,000 connections", before, rss(daemon));
}
