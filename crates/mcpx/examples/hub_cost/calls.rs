//! Calls of `echo`: straight to the server, and through the hub on each of its surfaces, in turns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use child_process::{Env, Program};
use mcp_client::server::HttpReach;
use mcp_client::{CallOptions, Connection, Reach, ServerSpec, connect};
use mcp_wire::{Implementation, Object};
use mcpx_api::{Client, Op, operation};

use crate::hub::{Hub, everything};

/// Calls that are made before those that count.
const WARM_UP: usize = 200;

/// Somebody who can call `echo`.
#[derive(Clone)]
pub(crate) enum Way {
    /// A connection of MCP.
    Mcp(Connection, &'static str),
    /// A client of `/v1`.
    Hub(Arc<Client>, &'static str),
}

impl Way {
    async fn call(&self) {
        match self {
            Self::Mcp(connection, tool) => {
                let arguments = Object::new().with("message", "hi");
                let result = connection
                    .call_tool(tool, arguments, &CallOptions::default())
                    .await
                    .unwrap();
                assert!(!result.is_error, "{}", result.joined_text());
            }
            Self::Hub(client, tool) => {
                let params = Object::new()
                    .with("tool", *tool)
                    .with("args", Object::new().with("message", "hi"));
                let answer = client.send(operation(Op::Call), &params).await.unwrap();
                assert!(answer.status == 200);
            }
        }
    }
}

/// One measurement.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) per_second: f64,
}

/// Calls of so many callers at once, `way` for each.
pub(crate) async fn measure(ways: &[Way], calls: usize) -> Figures {
    run(ways, WARM_UP).await;
    let began = Instant::now();
    let mut times = run(ways, calls).await;
    let took = began.elapsed();
    times.sort();
    let at =
        |part: usize| times[(times.len() * part / 100).min(times.len() - 1)].as_secs_f64() * 1e6;
    #[allow(clippy::cast_precision_loss, reason = "some thousands")]
    let per_second = times.len() as f64 / took.as_secs_f64();
    Figures {
        p50: at(50),
        p99: at(99),
        per_second,
    }
}

async fn run(ways: &[Way], calls: usize) -> Vec<Duration> {
    let callers: Vec<_> = ways
        .iter()
        .cloned()
        .map(|way| {
            let calls = calls / ways.len();
            tokio::spawn(async move {
                let mut times = Vec::with_capacity(calls);
                for _ in 0..calls {
                    let began = Instant::now();
                    way.call().await;
                    times.push(began.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for caller in callers {
        times.extend(caller.await.unwrap());
    }
    times
}

pub(crate) async fn stdio(
    program: &std::path::Path,
    args: &[&str],
    env: &[(&str, String)],
) -> Connection {
    let mut environment = Env::allowlisted(&std::env::vars_os().collect());
    for (name, value) in env {
        environment = environment.set(*name, value);
    }
    let program = Program::new(program)
        .args(args.iter().copied())
        .env(environment);
    attach(Reach::Stdio(program)).await
}

pub(crate) async fn http(url: &str, token: Option<&str>) -> Connection {
    let headers = token.map(|token| ("authorization".to_owned(), format!("Bearer {token}")));
    attach(Reach::Http(HttpReach {
        url: url.parse().unwrap(),
        unix_socket: None,
        headers: headers.into_iter().collect(),
        authorizer: None,
    }))
    .await
}

async fn attach(reach: Reach) -> Connection {
    let spec = ServerSpec::new("measured", reach, Implementation::new("hub_cost", "1"));
    let connection = connect(spec, None).await.unwrap();
    connection.tools(&CallOptions::default()).await.unwrap();
    connection
}

/// Measures and prints the table.
pub(crate) async fn print(hub: &Hub, rounds: usize) {
    println!("\n| server | callers | way | p50 µs | p99 µs | calls/s | p50 over direct |");
    println!("|---|---|---|---|---|---|---|");
    for server in ["demo", "everything"] {
        if server == "everything" && !hub.has_everything {
            continue;
        }
        for callers in [1, 8, 32] {
            table(hub, server, callers, rounds).await;
        }
    }
}

async fn table(hub: &Hub, server: &'static str, callers: usize, rounds: usize) {
    let tool: &'static str = if server == "demo" {
        "demo.echo"
    } else {
        "everything.echo"
    };
    let direct = match server {
        "demo" => stdio(&hub.binary, &["demo-server"], &[]).await,
        _ => {
            let script = everything().unwrap();
            stdio("node".as_ref(), &[script.to_str().unwrap(), "stdio"], &[]).await
        }
    };
    let env = [
        (
            "MCPX_CONFIG",
            hub.folder.path().join("mcpx.json").display().to_string(),
        ),
        (
            "MCPX_STATE_DIR",
            hub.folder.path().join("state").display().to_string(),
        ),
    ];
    let through = format!("--passthrough={server}");
    let serve = stdio(&hub.binary, &["serve", &through], &env).await;
    let url = format!(
        "{}/mcp?passthrough={server}",
        hub.record.endpoint.as_deref().unwrap()
    );
    let over_http = http(&url, hub.record.token.as_deref()).await;
    let same = |way: Way| vec![way; callers];
    let each = |make: &dyn Fn() -> Client| -> Vec<Way> {
        (0..callers)
            .map(|_| Way::Hub(Arc::new(make()), tool))
            .collect()
    };
    let ways: Vec<(&str, Vec<Way>)> = vec![
        ("direct, stdio", same(Way::Mcp(direct.clone(), "echo"))),
        ("hub, /v1 over the Unix socket", each(&|| hub.over_unix())),
        ("hub, /v1 over TCP", each(&|| hub.over_tcp())),
        ("hub, MCP over stdio", same(Way::Mcp(serve.clone(), "echo"))),
        (
            "hub, MCP over HTTP",
            same(Way::Mcp(over_http.clone(), "echo")),
        ),
    ];
    let calls = if callers == 1 { 1_000 } else { 3_200 };
    let mut figures: Vec<Vec<Figures>> = vec![Vec::new(); ways.len()];
    for _ in 0..rounds {
        for (at, (_, ways)) in ways.iter().enumerate() {
            figures[at].push(measure(ways, calls).await);
        }
    }
    let base = median(&figures[0], |one| one.p50);
    for ((name, _), figures) in ways.iter().zip(&figures) {
        let p50 = median(figures, |one| one.p50);
        println!(
            "| {server} | {callers} | {name} | {p50:.0} | {:.0} | {:.0} | {:+.0} |",
            median(figures, |one| one.p99),
            median(figures, |one| one.per_second),
            p50 - base
        );
    }
    for connection in [direct, serve, over_http] {
        connection.close().await;
    }
}

/// The middle one.
pub(crate) fn median<T>(all: &[T], of: impl Fn(&T) -> f64) -> f64 {
    let mut values: Vec<f64> = all.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
