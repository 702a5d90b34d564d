//! What the tests of reported failures need besides a daemon: an address that outlives the server behind it, a gate in
//! front of a start, a person who takes their time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mcp_client::server::HttpReach;
use mcp_client::{Abilities, Ask, Asked, Connection, Reach, ServerSpec, Verdict, connect};
use mcp_wire::{Answer, Era, Implementation, Raw};
use serde_json::{Value, json};
use testkit::mcp::StdioChaos;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::front_setup::{Daemon, stdio};

/// An address of this machine, behind which a server can be replaced by another one, or by none.
pub(crate) struct Address {
    url: String,
    target: Arc<Mutex<Target>>,
}

#[derive(Default)]
struct Target {
    to: Option<String>,
    connections: JoinSet<()>,
}

impl Address {
    /// An address with nobody behind it.
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let target = Arc::new(Mutex::new(Target::default()));
        let behind = Arc::clone(&target);
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                let mut target = behind.lock().unwrap();
                let Some(to) = target.to.clone() else {
                    continue;
                };
                target.connections.spawn(async move {
                    if let Ok(mut to) = TcpStream::connect(to).await {
                        let _ended = tokio::io::copy_bidirectional(&mut from, &mut to).await;
                    }
                });
            }
        });
        Self { url, target }
    }

    /// As an entry of the configuration.
    pub(crate) fn entry(&self) -> Value {
        json!({"type": "http", "url": self.url})
    }

    /// From now on this server is behind it, or none. What was open breaks off.
    pub(crate) fn leads_to(&self, url: Option<&str>) {
        let mut target = self.target.lock().unwrap();
        target.connections.abort_all();
        target.to = url.map(|url| {
            let authority = url.trim_start_matches("http://");
            authority.trim_end_matches("/mcp").to_owned()
        });
    }
}

/// Waits until it is so, and lets others work meanwhile.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "waited for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A server that starts only while a file is there.
pub(crate) struct Gate {
    file: PathBuf,
}

impl Gate {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            file: folder.join("gate"),
        }
    }

    /// The server behind it, as an entry of the configuration.
    pub(crate) fn entry(&self, server: &StdioChaos) -> Value {
        let script = "while [ ! -e \"$0\" ]; do sleep 0.02; done; exec \"$@\"";
        let entry = stdio(server);
        let mut args = vec![json!("-c"), json!(script), json!(self.file)];
        args.push(entry["command"].clone());
        args.extend(entry["args"].as_array().unwrap().iter().cloned());
        json!({"command": "sh", "args": args})
    }

    #[allow(clippy::disallowed_methods, reason = "the file is the test's own")]
    pub(crate) fn open(&self) {
        std::fs::write(&self.file, "").unwrap();
    }

    #[allow(clippy::disallowed_methods, reason = "the file is the test's own")]
    pub(crate) fn close(&self) {
        std::fs::remove_file(&self.file).unwrap();
    }
}

/// Agrees to everything, after a while.
pub(crate) struct Slowly(pub(crate) Duration);

#[async_trait]
impl Ask for Slowly {
    fn abilities(&self) -> Abilities {
        Abilities {
            forms: true,
            ..Abilities::default()
        }
    }

    async fn ask(&self, _asked: Asked, _deadline: Duration) -> Answer {
        tokio::time::sleep(self.0).await;
        Answer::Accept(Some(Raw::from(json!({"ok": true}))))
    }
}

impl Daemon {
    /// A client over HTTP whose questions somebody else answers.
    pub(crate) async fn client_with(&self, query: &str, era: Era, ask: Arc<dyn Ask>) -> Connection {
        let reach = Reach::Http(HttpReach {
            url: format!("http://localhost/mcp{query}").parse().unwrap(),
            unix_socket: Some(self.socket.clone()),
            headers: Vec::new(),
            authorizer: None,
        });
        let mut spec = ServerSpec::new("hub", reach, Implementation::new("test", "1"));
        spec.remembered = Some(Verdict {
            era,
            old_sse: false,
        });
        connect(spec, Some(ask)).await.unwrap()
    }
}
