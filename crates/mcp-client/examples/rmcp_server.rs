//! A server on the official Rust SDK, for tests and measurements: `rmcp_server stdio [legacy]`, or `rmcp_server http`,
//! which prints its URL and ends with its input. Its tools are those of the servers in `testkit::peers::mcp`:
//! `echo {text}`, `add {a, b}`, `slow {steps}`, `ask {question}`, `fail`, `big {bytes}`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for tests"
)]

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, InputRequest, InputRequests, InputRequiredResult, JsonObject,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, ServiceExt};
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

#[derive(Clone)]
struct Tools {
    legacy: bool,
}

fn members(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    }
}

fn tools() -> Vec<Tool> {
    let tool = |name: &'static str, description: &'static str, properties: Value| {
        let required: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        Tool::new(name, description, Arc::new(members(schema)))
    };
    let number = json!({ "type": "number" });
    vec![
        tool(
            "echo",
            "Says it again",
            json!({ "text": { "type": "string" } }),
        ),
        tool("add", "Adds", json!({ "a": number, "b": number })),
        tool(
            "slow",
            "Reports each step",
            json!({ "steps": { "type": "integer" } }),
        ),
        tool(
            "ask",
            "Asks a person",
            json!({ "question": { "type": "string" } }),
        ),
        tool("fail", "Fails", json!({})),
        tool(
            "big",
            "Says much",
            json!({ "bytes": { "type": "integer" } }),
        ),
    ]
}

fn said(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text.into())]).into()
}

/// A form with a required boolean `ok`.
fn form(question: &str) -> ElicitRequestParams {
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] });
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.to_owned(),
        requested_schema: serde_json::from_value(schema).unwrap(),
    }
}

async fn slow(steps: u64, context: &RequestContext<RoleServer>) -> CallToolResponse {
    let token = context.meta.get_progress_token();
    for step in 1..=steps {
        if let Some(token) = &token {
            #[allow(clippy::cast_precision_loss, reason = "a few steps")]
            let progress = ProgressNotificationParam::new(token.clone(), step as f64);
            drop(context.peer.notify_progress(progress).await);
        }
        tokio::select! {
            () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {}
            () = context.ct.cancelled() => break,
        }
    }
    said("done")
}

/// A legacy client is asked in mid-call, a modern one by a result that it answers in the next round.
async fn ask(
    request: &CallToolRequestParams,
    question: &str,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if context.protocol_version() == Some(ProtocolVersion::V_2026_07_28) {
        let Some(answers) = &request.input_responses else {
            let asked = InputRequest::Elicitation(ElicitRequest::new(form(question)));
            let asked = InputRequests::from([("sure".to_owned(), asked)]);
            return Ok(InputRequiredResult::new(Some(asked), Some("asked".to_owned())).into());
        };
        if request.request_state.as_deref() != Some("asked") {
            return Err(ErrorData::invalid_params(
                "the state did not come back",
                None,
            ));
        }
        return Ok(said(answers["sure"].to_string()));
    }
    let answer = context.peer.create_elicitation(form(question)).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(said(json!(answer).to_string()))
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        if self.legacy {
            ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25)
                .to_vec()
                .into()
        } else {
            Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        match request.name.as_ref() {
            "echo" => Ok(said(text("text"))),
            "add" => {
                let sum = arguments["a"].as_f64().unwrap_or_default()
                    + arguments["b"].as_f64().unwrap_or_default();
                Ok(said(sum.to_string()))
            }
            "slow" => Ok(slow(arguments["steps"].as_u64().unwrap_or_default(), &context).await),
            "ask" => ask(&request, &text("question"), &context).await,
            "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("failed")]).into()),
            "big" => {
                let bytes = arguments["bytes"].as_u64().unwrap_or_default();
                Ok(said("x".repeat(usize::try_from(bytes).unwrap())))
            }
            other => Err(ErrorData::invalid_params(
                format!("no tool `{other}`"),
                None,
            )),
        }
    }
}

async fn http() {
    let manager = Arc::new(LocalSessionManager::default());
    let service =
        StreamableHttpService::new(|| Ok(Tools { legacy: false }), manager, Default::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}/mcp", listener.local_addr().unwrap());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let service = service.clone();
        tokio::spawn(async move {
            let answer = hyper::service::service_fn(|request| {
                let service = service.clone();
                async move { Ok::<_, std::convert::Infallible>(service.handle(request).await) }
            });
            let stream = hyper_util::rt::TokioIo::new(stream);
            drop(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(stream, answer)
                    .await,
            );
        });
    }
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["http"] => {
            let ended = tokio::task::spawn_blocking(|| {
                drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
            });
            tokio::select! { () = http() => {}, _ = ended => {} }
        }
        ["stdio"] | ["stdio", "legacy"] => {
            let server = Tools {
                legacy: args.len() > 1,
            };
            let running = server.serve(rmcp::transport::stdio()).await.unwrap();
            drop(running.waiting().await);
        }
        _ => println!("expected `stdio`, `stdio legacy` or `http`"),
    }
}
