//! The official Rust SDK on either side: our client with its server, and its client with ours.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

use mcp_wire::Era::{Legacy, Modern};
use serde_json::{Value, json};
use testkit::mcp::CommandLine;

use crate::setup::{
    asks, call, cancels, close, connected, example, legacy, look, program, sdk_calls, url,
};

fn server() -> CommandLine {
    example("rmcp_server").arg("stdio")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_the_rust_sdk_answers_asks_and_reports_in_both_eras() {
    let only_legacy = server().arg("legacy");
    for (spec, era) in [
        (program(&server(), "rmcp"), Modern),
        (legacy(program(&server(), "rmcp-asked-for-legacy")), Legacy),
        // It knows `server/discover`, and names legacy revisions alone.
        (program(&only_legacy, "rmcp-legacy"), Legacy),
    ] {
        let mark = spec.name.clone();
        let (connection, person) = connected(spec).await;
        let slow = call("slow", r#"{"steps":3}"#, "done");
        look(&connection, era, &sdk_calls(), Some(slow)).await;
        asks(&connection, &person).await;
        cancels(&connection).await;
        close(&connection, &mark).await;
    }
}

/// A server that printed its URL; it ends with its input.
struct Served {
    child: Child,
    url: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn served(line: &CommandLine) -> Served {
    let mut command = line.to_command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut url)
        .unwrap();
    Served {
        child,
        url: url.trim().to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_the_rust_sdk_answers_asks_and_reports_over_http() {
    let server = served(&example("rmcp_server").arg("http"));
    for (spec, era) in [
        (url(&server.url), Modern),
        (legacy(url(&server.url)), Legacy),
    ] {
        let (connection, person) = connected(spec).await;
        let slow = call("slow", r#"{"steps":3}"#, "done");
        look(&connection, era, &sdk_calls(), Some(slow)).await;
        asks(&connection, &person).await;
        cancels(&connection).await;
        connection.close().await;
    }
}

/// Runs the client on the Rust SDK and returns what it saw.
fn client(lifecycle: &str, tool: &str, server: &CommandLine) -> Value {
    let line = example("rmcp_client")
        .arg(lifecycle)
        .arg(tool)
        .arg("{}")
        .arg(&server.program);
    let line = server.args.iter().fold(line, |line, arg| line.arg(arg));
    let mut command = line.to_command();
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut output)
        .unwrap();
    child.wait().unwrap();
    serde_json::from_str(&output).unwrap_or_else(|error| panic!("{line:?}: {error}: {output}"))
}

fn check_client(server: &CommandLine) {
    for (lifecycle, era) in [
        ("auto", "modern"),
        ("modern", "modern"),
        ("legacy", "legacy"),
    ] {
        let said = client(lifecycle, "test_simple_text", server);
        assert_eq!(said["era"], era, "{said}");
        assert_eq!(
            said["result"]["content"],
            json!([{ "type": "text", "text": "This is a simple text response for testing." }])
        );
    }
    let said = client("legacy", "test_elicitation", server);
    assert_eq!(said["questions"].as_array().unwrap().len(), 1, "{said}");
    let said = client("modern", "test_input_required_result_elicitation", server);
    assert_eq!(said["questions"].as_array().unwrap().len(), 1, "{said}");
    assert!(said["error"].is_null(), "{said}");
    let said = client("modern", "test_tool_with_progress", server);
    assert!(said["progress"].as_array().unwrap().len() > 1, "{said}");
}

#[test]
fn a_client_on_the_rust_sdk_understands_our_server_over_stdio() {
    check_client(&example("everything").arg("stdio"));
}

#[test]
fn a_client_on_the_rust_sdk_understands_our_server_over_http() {
    let server = served(&example("everything").arg("http").arg("0"));
    check_client(&CommandLine::new(&server.url, &[]));
}
