//! All clients on all servers in turns, and the table of it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::mcp::CommandLine;
use testkit::peers::mcp;

const CLIENTS: [&str; 4] = ["ours", "rmcp", "typescript", "python"];
/// Callers at once, and calls in all.
const LOADS: [(usize, usize); 2] = [(1, 1_000), (32, 3_200)];

struct Server {
    name: &'static str,
    line: CommandLine,
    tool: &'static str,
    arguments: &'static str,
}

/// Measures and prints.
pub(crate) fn run(rounds: usize) {
    let this = std::env::current_exe().unwrap();
    let rust_sdk = this.with_file_name("rmcp_server");
    let rust_sdk = CommandLine::new(rust_sdk.to_str().unwrap(), &[]);
    let (mut http, url) = start(&rust_sdk.clone().arg("http"));
    let server = |name, line, tool, arguments| Server {
        name,
        line,
        tool,
        arguments,
    };
    let servers = [
        server(
            "server-everything, stdio",
            mcp::everything(),
            "echo",
            r#"{"message":"hi"}"#,
        ),
        server(
            "rmcp, stdio",
            rust_sdk.arg("stdio"),
            "echo",
            r#"{"text":"hi"}"#,
        ),
        server(
            "rmcp, HTTP",
            CommandLine::new(url, &[]),
            "echo",
            r#"{"text":"hi"}"#,
        ),
    ];
    println!("| server | callers | client | p50 µs | p99 µs | calls/s | calls/s, ours to it |");
    println!("|---|---|---|---|---|---|---|");
    for server in &servers {
        for (callers, calls) in LOADS {
            let mut told: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
            for _ in 0..rounds {
                for client in CLIENTS {
                    told.entry(client)
                        .or_default()
                        .push(one(client, callers, calls, server));
                }
            }
            print_rows(server.name, callers, &told);
        }
    }
    drop(http.kill());
    drop(http.wait());
}

fn print_rows(server: &str, callers: usize, told: &BTreeMap<&str, Vec<Value>>) {
    let median = |client: &str, name: &str| {
        let mut values: Vec<f64> = told[client]
            .iter()
            .map(|one| one[name].as_f64().unwrap())
            .collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    for client in CLIENTS {
        println!(
            "| {server} | {callers} | {client} | {:.0} | {:.0} | {:.0} | {:.2} |",
            median(client, "p50_us"),
            median(client, "p99_us"),
            median(client, "per_s"),
            median("ours", "per_s") / median(client, "per_s"),
        );
    }
}

fn one(client: &str, callers: usize, calls: usize, server: &Server) -> Value {
    let bench = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/mcp");
    let script = |name: &str| bench.join(name).display().to_string();
    let mut command = match client {
        "typescript" => {
            let mut command = Command::new(mcp::node());
            let modules = testkit::peers::dir().join("mcp");
            command.arg(script("calls.mjs")).arg(modules);
            command
        }
        "python" => {
            let mut command = Command::new(mcp::python());
            command.arg(script("calls.py"));
            command
        }
        own => {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["one", own]);
            command
        }
    };
    command.args([callers.to_string(), calls.to_string()]);
    command
        .args([server.tool, server.arguments, &server.line.program])
        .args(&server.line.args);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!(
            "{command:?}: {error}\n{}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

fn start(line: &CommandLine) -> (Child, String) {
    let mut command = line.to_command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut url)
        .unwrap();
    (child, url.trim().to_owned())
}
