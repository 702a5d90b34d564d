//! The stream of events: taken up where it broke, told of what was missed.

use std::time::Duration;

use mcpx_api::Op;
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, StdioChaos};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use crate::front_setup::{Daemon, stdio};
use crate::routes_setup::connect;

/// A client that reads the lines of the stream.
struct Listener(BufReader<UnixStream>);

impl Listener {
    async fn of(daemon: &Daemon, query: &str, headers: &str) -> Self {
        let mut stream = connect(daemon).await;
        let request = format!("GET /v1/events{query} HTTP/1.1\r\nhost: mcpx\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        Self(BufReader::new(stream))
    }

    /// The next line that begins so, without that.
    async fn line(&mut self, prefix: &str) -> String {
        let reading = async {
            loop {
                let mut line = String::new();
                assert_ne!(self.0.read_line(&mut line).await.unwrap(), 0, "it ended");
                if let Some(rest) = line.strip_prefix(prefix) {
                    return rest.trim().to_owned();
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), reading)
            .await
            .unwrap_or_else(|_| panic!("no line `{prefix}`"))
    }

    async fn data(&mut self) -> Value {
        serde_json::from_str(&self.line("data:").await).unwrap()
    }
}

/// A daemon in which something happened.
async fn daemon() -> (Daemon, StdioChaos) {
    let chaos = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let daemon = Daemon::of(json!({"words": stdio(&chaos)})).await;
    daemon.checked(Op::Call, json!({"tool": "words.say"})).await;
    (daemon, chaos)
}

#[tokio::test]
async fn the_header_of_a_client_that_comes_back_goes_over_the_query() {
    let (daemon, _chaos) = daemon().await;
    let mut all = Listener::of(&daemon, "?since=0", "").await;
    let first: u64 = all.line("id:").await.parse().unwrap();
    let second: u64 = all.line("id:").await.parse().unwrap();
    assert_eq!(second, first + 1);
    // A browser's stream comes back with the query of the first time, and with what it saw.
    let back = format!("Last-Event-ID: {first}\r\n");
    let mut back = Listener::of(&daemon, "?since=0", &back).await;
    assert_eq!(back.line("id:").await, second.to_string());
    let mut odd = Listener::of(&daemon, "?since=0", "Last-Event-ID: x\r\n").await;
    assert_eq!(odd.line("id:").await, first.to_string());
}

#[tokio::test]
async fn who_comes_back_from_an_earlier_daemon_is_told_that_something_was_missed() {
    let (daemon, _chaos) = daemon().await;
    let mut back = Listener::of(&daemon, "", "Last-Event-ID: 900000\r\n").await;
    assert_eq!(back.line("event:").await, "gap");
    assert_eq!(back.data().await["since"], 900_000);
    assert_eq!(back.line("id:").await, "1");
}

#[tokio::test]
async fn a_stream_on_which_nothing_happens_says_that_it_lives() {
    let settings = [("http.ssePing", "50ms")];
    let daemon = Daemon::with(json!({}), &settings).await;
    let mut quiet = Listener::of(&daemon, "?kinds=none", "").await;
    quiet.line("retry:").await;
    for _ in 0..3 {
        quiet.line(":").await;
    }
}
