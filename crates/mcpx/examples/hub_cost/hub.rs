//! A daemon of our own, with a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use mcp_wire::Object;
use mcpx_api::client::Endpoint;
use mcpx_api::{Caller, Client, Op, operation};
use mcpx_store::StateDir;
use mcpx_store::daemons::{DaemonRecord, Daemons};

/// A daemon with the demo server behind it.
pub(crate) struct Hub {
    pub(crate) binary: PathBuf,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) record: DaemonRecord,
    /// Whether `server-everything` is behind it too.
    pub(crate) has_everything: bool,
}

impl Hub {
    /// Writes a configuration and lets a command start the daemon.
    pub(crate) async fn start(binary: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let everything = everything();
        let mut servers = serde_json::json!({
            "demo": { "command": binary, "args": ["demo-server"] },
        });
        if let Some(script) = &everything {
            servers["everything"] =
                serde_json::json!({ "command": "node", "args": [script, "stdio"] });
        }
        let config = serde_json::json!({ "mcpServers": servers });
        std::fs::write(folder.path().join("mcpx.json"), config.to_string()).unwrap();
        let mut hub = Self {
            binary: binary.to_owned(),
            folder,
            record: DaemonRecord {
                key: String::new(),
                pid: 0,
                process_started: None,
                socket: PathBuf::new(),
                endpoint: None,
                token: None,
                files: Vec::new(),
                config_hash: String::new(),
                version: String::new(),
                started_at: jiff::Timestamp::UNIX_EPOCH,
                nonce: String::new(),
            },
            has_everything: everything.is_some(),
        };
        assert!(
            hub.command(&["health"])
                .stdout(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
        let records = Daemons::new(&StateDir::at(hub.folder.path().join("state"))).list();
        hub.record = records.records.into_iter().next().unwrap();
        hub
    }

    /// A command of the hub.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(args)
            .env("MCPX_CONFIG", self.folder.path().join("mcpx.json"))
            .env("MCPX_STATE_DIR", self.folder.path().join("state"))
            .env("HOME", self.folder.path())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// A client over the Unix socket.
    pub(crate) fn over_unix(&self) -> Client {
        let endpoint = Endpoint::Unix(self.record.socket.clone());
        Client::new(endpoint, Caller::default(), Duration::from_secs(60))
    }

    /// A client over TCP.
    pub(crate) fn over_tcp(&self) -> Client {
        let address = self.record.endpoint.clone().unwrap();
        let endpoint = Endpoint::Tcp {
            address: address.strip_prefix("http://").unwrap().to_owned(),
            token: self.record.token.clone(),
        };
        Client::new(endpoint, Caller::default(), Duration::from_secs(60))
    }

    /// What the daemon says of itself.
    pub(crate) async fn status(&self) -> mcpx_api::reply::Status {
        let answer = self
            .over_unix()
            .send(operation(Op::Status), &Object::new())
            .await;
        answer.unwrap().read().unwrap()
    }

    /// Ends the daemon.
    pub(crate) fn stop(&self) {
        let stopped = self.command(&["stop"]).stderr(Stdio::null()).status();
        assert!(stopped.unwrap().success());
    }
}

/// The official server with something of everything, when it is installed.
pub(crate) fn everything() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script =
        root.join(".peers/mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    script.canonicalize().ok()
}
