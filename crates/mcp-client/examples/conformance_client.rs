//! The client under test of the official conformance suite: does what each of its client scenarios wants.
//!
//! `cargo build -p mcp-client --example conformance_client`, then `ci/conformance/run client PATH --revision R`; the
//! suite passes the server's URL, and the scenario in the environment. `docs/how/conformance.md` says what each wants.
#![allow(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program of its own, run by the suite"
)]

#[path = "conformance_client/sign_in.rs"]
mod sign_in;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mcp_client::server::HttpReach;
use mcp_client::{Abilities, Ask, Asked, CallOptions, Connection, Reach, ServerSpec, connect};
use mcp_wire::{Answer, Era, Implementation, Object, Question, Raw};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

type Done = Result<(), Box<dyn std::error::Error>>;

async fn run() -> Done {
    let url = std::env::args().next_back().ok_or("no URL")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let revision = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let context = Raw::parse(&context)?.object()?;
    let connection = connect(
        spec(&url, &revision, &scenario, &context)?,
        Some(Arc::new(Yes)),
    )
    .await?;
    let done = play(&connection, &scenario, &context).await;
    connection.close().await;
    done
}

fn spec(
    url: &str,
    revision: &str,
    scenario: &str,
    context: &Object,
) -> Result<ServerSpec, Box<dyn std::error::Error>> {
    let wants_credentials = scenario.starts_with("auth/");
    let authorizer = wants_credentials.then(|| sign_in::authorizer(url, scenario, context));
    let reach = HttpReach {
        url: url.parse()?,
        unix_socket: None,
        headers: Vec::new(),
        authorizer: authorizer.transpose()?,
    };
    let client = Implementation::new("conformance-client", "1.0.0");
    let mut spec = ServerSpec::new("conformance", Reach::Http(reach), client);
    spec.single_caller = true;
    spec.timeouts.idle = Duration::from_secs(20);
    // A server of the older wire is one that was met before: the suite counts the first requests.
    if revision != "2026-07-28" {
        spec.remembered = Some(mcp_client::Verdict {
            era: Era::Legacy,
            old_sse: false,
        });
    }
    Ok(spec)
}

async fn play(connection: &Connection, scenario: &str, context: &Object) -> Done {
    let options = CallOptions::default();
    match scenario {
        "initialize" | "json-schema-ref-no-deref" => {
            connection.tools(&options).await?;
        }
        "request-metadata" => {
            let _there_are_none = connection.tools(&options).await;
        }
        "tools_call" => {
            connection.tools(&options).await?;
            call(connection, "add_numbers", r#"{"a":5,"b":3}"#).await?;
        }
        "elicitation-sep1034-client-defaults" => {
            call(connection, "test_client_elicitation_defaults", "{}").await?;
        }
        "sse-retry" => call(connection, "test_reconnection", "{}").await?,
        "sep-2322-client-request-state" => {
            connection.tools(&options).await?;
            for tool in [
                "test_mrtr_echo_state",
                "test_mrtr_unrelated",
                "test_mrtr_no_state",
                "test_mrtr_no_result_type",
            ] {
                call(connection, tool, "{}").await?;
            }
        }
        "http-standard-headers" => standard_headers(connection).await?,
        "http-custom-headers" => {
            connection.tools(&options).await?;
            for asked in context.get("toolCalls").ok_or("no toolCalls")?.array()? {
                let asked = asked.object()?;
                let name = asked.string("name").ok_or("a call without a name")?;
                let arguments = asked.object("arguments").unwrap_or_default();
                connection.call_tool(&name, arguments, &options).await?;
            }
        }
        "http-invalid-tool-headers" => {
            for tool in connection.tools(&options).await?.elements {
                call(connection, &tool.name, r#"{"region":"us-west1"}"#).await?;
            }
        }
        "json-schema-2020-12-preservation" => {
            let tools = connection.tools(&options).await?.elements;
            let tool = tools
                .iter()
                .find(|tool| tool.name == "json_schema_2020_12_tool")
                .ok_or("no json_schema_2020_12_tool")?;
            let schema = tool.raw().get("inputSchema").ok_or("no inputSchema")?;
            let arguments = Object::new().with("schema", schema.clone());
            connection
                .call_tool("json_schema_echo", arguments, &options)
                .await?;
        }
        _ => {
            connection.tools(&options).await?;
            call(connection, "test-tool", "{}").await?;
        }
    }
    Ok(())
}

async fn standard_headers(connection: &Connection) -> Done {
    let options = CallOptions::default();
    for tool in connection.tools(&options).await?.elements {
        call(connection, &tool.name, "{}").await?;
    }
    for resource in connection.resources(&options).await?.elements {
        connection.read_resource(&resource.uri, &options).await?;
    }
    for prompt in connection.prompts(&options).await?.elements {
        connection
            .get_prompt(&prompt.name, Object::new(), &options)
            .await?;
    }
    Ok(())
}

async fn call(connection: &Connection, tool: &str, arguments: &str) -> Done {
    let arguments = Raw::parse(arguments)?.object()?;
    connection
        .call_tool(tool, arguments, &CallOptions::default())
        .await?;
    Ok(())
}

/// Accepts everything, with the defaults of the form, and true for what has none.
struct Yes;

#[async_trait]
impl Ask for Yes {
    fn abilities(&self) -> Abilities {
        Abilities {
            forms: true,
            urls: true,
            sampling: false,
            roots: false,
        }
    }

    async fn ask(&self, asked: Asked, _deadline: Duration) -> Answer {
        match asked.question {
            Question::Form { schema, .. } => Answer::Accept(Some(Raw::from(filled(&schema)))),
            _ => Answer::Accept(None),
        }
    }
}

fn filled(schema: &Raw) -> Object {
    let properties = schema
        .object()
        .ok()
        .and_then(|schema| schema.object("properties"))
        .unwrap_or_default();
    let mut content = Object::new();
    for (name, property) in properties.iter() {
        let default = property
            .object()
            .ok()
            .and_then(|property| property.get("default").cloned());
        content.set(name, default.unwrap_or_else(|| Raw::from(true)));
    }
    content
}
