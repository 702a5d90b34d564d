//! A client on the official Rust SDK, for tests: `rmcp_client LIFECYCLE TOOL ARGUMENTS PROGRAM-OR-URL ARGS…`, where
//! LIFECYCLE is `auto`, `legacy` or `modern`. It lists what the server has, calls the tool (none with an empty name),
//! fills in every form, and prints one JSON document:
//! `{era, version, server, tools, result or error, questions, progress}`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program for tests: it starts the server it was told to"
)]

use std::process::Stdio;
use std::sync::Mutex;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, Implementation, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext, RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};

#[derive(Default)]
struct Person {
    questions: Mutex<Vec<Value>>,
    progress: Mutex<Vec<f64>>,
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let able = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(able, Implementation::new("rmcp-client", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let question = json!(request);
        let fields = question["requestedSchema"]["properties"]
            .as_object()
            .cloned();
        let filled: Value = fields
            .into_iter()
            .flatten()
            .map(|(name, field)| (name, fill(&field)))
            .collect();
        self.questions.lock().unwrap().push(question);
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(filled))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress.lock().unwrap().push(progress.progress);
    }
}

fn fill(field: &Value) -> Value {
    match field["type"].as_str() {
        Some("string") => json!("x"),
        Some("integer" | "number") => json!(1),
        _ => json!(true),
    }
}

fn lifecycle(word: &str) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match word {
        "legacy" => ClientLifecycleMode::Initialize,
        "modern" => ClientLifecycleMode::Discover { preferred_versions },
        _ => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
    }
}

async fn look(client: &RunningService<RoleClient, Person>, tool: &str, arguments: &str) -> Value {
    let server = client.peer().peer_info().unwrap();
    let version = server.protocol_version.as_str().to_owned();
    let era = if version == ProtocolVersion::V_2026_07_28.as_str() {
        "modern"
    } else {
        "legacy"
    };
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
    let mut seen =
        json!({ "era": era, "version": version, "server": server.server_info, "tools": names });
    if !tool.is_empty() {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = serde_json::from_str(arguments).unwrap();
        match client.call_tool(params).await {
            Ok(result) => seen["result"] = json!(result),
            Err(error) => seen["error"] = json!(error.to_string()),
        }
    }
    seen["questions"] = json!(*client.service().questions.lock().unwrap());
    seen["progress"] = json!(*client.service().progress.lock().unwrap());
    seen
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [word, tool, arguments, server, rest @ ..] = args.as_slice() else {
        println!("expected LIFECYCLE TOOL ARGUMENTS PROGRAM-OR-URL ARGS…");
        return;
    };
    // The client is built with TLS even when it is not used.
    drop(rustls::crypto::ring::default_provider().install_default());
    let lifecycle = lifecycle(word);
    let seen = if server.starts_with("http://") {
        let transport = StreamableHttpClientTransport::from_uri(server.as_str());
        let client = Person::default()
            .serve_with_lifecycle(transport, lifecycle)
            .await
            .unwrap();
        let seen = look(&client, tool, arguments).await;
        drop(client.cancel().await);
        seen
    } else {
        let mut child = tokio::process::Command::new(server)
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let transport = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = Person::default()
            .serve_with_lifecycle(transport, lifecycle)
            .await
            .unwrap();
        let seen = look(&client, tool, arguments).await;
        drop(client.cancel().await);
        seen
    };
    println!("{seen}");
}
