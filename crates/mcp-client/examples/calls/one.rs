//! One client, one server, so many calls of so many callers.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_client::server::HttpReach;
use mcp_client::{CallOptions, Connection, Reach, ServerSpec, connect};
use mcp_wire::{Implementation, Raw};
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};

/// Calls that are made before those that count.
const WARM_UP: usize = 200;

/// What is called.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) tool: String,
    /// A JSON object.
    pub(crate) arguments: String,
}

enum Client {
    Ours(Connection),
    Rmcp(Box<RunningService<RoleClient, ClientConfig>>),
}

impl Client {
    async fn call(&self, call: &Call) {
        match self {
            Self::Ours(connection) => {
                let arguments = Raw::parse(&call.arguments).unwrap().object().unwrap();
                let options = CallOptions::default();
                let result = connection
                    .call_tool(&call.tool, arguments, &options)
                    .await
                    .unwrap();
                assert!(!result.is_error && !result.joined_text().is_empty());
            }
            Self::Rmcp(client) => {
                let mut params = CallToolRequestParams::new(call.tool.clone());
                params.arguments = serde_json::from_str(&call.arguments).unwrap();
                let result = client.call_tool(params).await.unwrap();
                assert!(result.is_error != Some(true) && !result.content.is_empty());
            }
        }
    }
}

/// Returns `{p50_us, p99_us, per_s}`.
pub(crate) async fn measure(
    client: &str,
    callers: usize,
    calls: usize,
    call: Call,
    server: &str,
    args: &[&str],
) -> Value {
    let client = Arc::new(match client {
        "ours" => ours(server, args).await,
        _ => rmcp(server, args).await,
    });
    run(&client, callers, WARM_UP, &call).await;
    let began = Instant::now();
    let mut times = run(&client, callers, calls, &call).await;
    let took = began.elapsed();
    times.sort();
    let at = |part: usize| {
        let index = (times.len() * part / 100).min(times.len() - 1);
        times[index].as_secs_f64() * 1e6
    };
    #[allow(clippy::cast_precision_loss, reason = "some thousands")]
    let per_second = times.len() as f64 / took.as_secs_f64();
    if let Some(Client::Ours(connection)) = Arc::into_inner(client) {
        connection.close().await;
    }
    json!({ "p50_us": at(50), "p99_us": at(99), "per_s": per_second })
}

async fn run(client: &Arc<Client>, callers: usize, calls: usize, call: &Call) -> Vec<Duration> {
    let callers: Vec<_> = (0..callers)
        .map(|_| {
            let (client, call) = (Arc::clone(client), call.clone());
            tokio::spawn(async move {
                let mut times = Vec::new();
                for _ in 0..calls / callers {
                    let began = Instant::now();
                    client.call(&call).await;
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

async fn ours(server: &str, args: &[&str]) -> Client {
    let reach = if server.starts_with("http://") {
        Reach::Http(HttpReach {
            url: server.parse().unwrap(),
            unix_socket: None,
            headers: Vec::new(),
            authorizer: None,
        })
    } else {
        let env = child_process::Env::allowlisted(&std::env::vars_os().collect());
        Reach::Stdio(
            child_process::Program::new(server)
                .args(args.iter().copied())
                .env(env),
        )
    };
    let spec = ServerSpec::new("calls", reach, Implementation::new("calls", "0"));
    Client::Ours(connect(spec, None).await.unwrap())
}

async fn rmcp(server: &str, args: &[&str]) -> Client {
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    if server.starts_with("http://") {
        let transport = StreamableHttpClientTransport::from_uri(server);
        let client = ClientConfig::default()
            .serve_with_lifecycle(transport, lifecycle)
            .await;
        return Client::Rmcp(Box::new(client.unwrap()));
    }
    let mut child = tokio::process::Command::new(server)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let transport = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let client = ClientConfig::default()
        .serve_with_lifecycle(transport, lifecycle)
        .await;
    // It ends with its input.
    tokio::spawn(async move { child.wait().await });
    Client::Rmcp(Box::new(client.unwrap()))
}
