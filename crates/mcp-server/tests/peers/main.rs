//! The fixture under the official conformance suite, and under the clients of the official SDKs.

#![allow(clippy::unwrap_used, reason = "a helper that fails must fail the test")]

#[path = "../../examples/everything/fixture.rs"]
mod fixture;

use std::sync::Arc;

use mcp_server::http::{Http, HttpConfig, Listener};
use mcp_server::{Config, Notifier, Sealer, Server};
use serde_json::{Value, json};
use testkit::mcp::{CommandLine, conformance};
use testkit::peers::mcp::Client;
use tokio_util::sync::CancellationToken;

/// The fixture over HTTP until `run` returns.
fn with_url(run: impl FnOnce(&str)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let notifier = Notifier::new();
    let service = Arc::new(fixture::Everything::new(notifier.clone()));
    let sealer = Arc::new(Sealer::random().unwrap());
    let server = Server::new(
        service,
        notifier,
        sealer,
        Config::new(|| jiff::Timestamp::UNIX_EPOCH),
    );
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let http = Http::new(server, HttpConfig::default());
    runtime.spawn(mcp_server::http::serve(
        http,
        Listener::Tcp(listener),
        CancellationToken::new(),
    ));
    run(&url);
}

/// The fixture over stdio. Cargo builds examples with the tests of a package.
fn stdio() -> CommandLine {
    let this = std::env::current_exe().unwrap();
    let example = this
        .parent()
        .and_then(|deps| deps.parent())
        .unwrap()
        .join("examples/everything");
    assert!(
        example.exists(),
        "{} is missing: cargo build -p mcp-server --examples",
        example.display()
    );
    CommandLine::new(example.to_str().unwrap(), &["stdio"])
}

#[test]
fn the_conformance_suite_of_2025_11_25_finds_nothing() {
    with_url(|url| {
        conformance::run(&conformance::Subject::Server(url), "2025-11-25");
    });
}

#[test]
fn the_conformance_suite_of_2026_07_28_finds_nothing() {
    with_url(|url| {
        conformance::run(&conformance::Subject::Server(url), "2026-07-28");
    });
}

/// Serves one client over HTTP and over stdio: a plain call, progress, a question.
fn check(client: Client, era: &str) {
    with_url(|url| {
        let over_http = |tool: &str| client.call_url(url, tool, &json!({}));
        let server = stdio();
        let over_stdio = |tool: &str| client.call(&server, tool, &json!({}));
        for (transport, call) in [
            ("http", &over_http as &dyn Fn(&str) -> Value),
            ("stdio", &over_stdio),
        ] {
            check_calls(&format!("{client:?} over {transport}"), era, call);
        }
    });
}

fn check_calls(who: &str, era: &str, call: &dyn Fn(&str) -> Value) {
    let seen = call("test_simple_text");
    assert_eq!(seen["era"], era, "{who}");
    assert_eq!(
        seen["result"]["content"][0]["text"],
        "This is a simple text response for testing."
    );
    let has = |list: &str, name: &str| {
        let listed = seen[list].as_array();
        listed.is_some_and(|listed| listed.iter().any(|listed| listed == name))
    };
    assert!(
        has("tools", "greet") && has("prompts", "test_simple_prompt"),
        "{who}: {seen}"
    );
    let seen = call("test_tool_with_progress");
    let progress = seen["progress"].as_array().unwrap().iter();
    let progress: Vec<_> = progress.filter_map(Value::as_f64).collect();
    assert_eq!(progress, [0.0, 50.0, 100.0], "{who}");
    let seen = call("test_streaming_elicitation");
    assert_eq!(
        seen["questions"].as_array().map(Vec::len),
        Some(1),
        "{who}: {seen}"
    );
    let text = seen["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default();
    assert!(
        text.contains("action=accept") && text.contains("true"),
        "{who}: {seen}"
    );
}

#[test]
fn the_first_typescript_sdk_is_served() {
    check(Client::TypeScriptV1, "legacy");
}

#[test]
fn the_second_typescript_sdk_is_served() {
    check(Client::TypeScriptV2, "modern");
}

#[test]
fn the_python_sdk_is_served() {
    check(Client::Python, "modern");
}

#[test]
fn the_python_sdk_without_a_probe_is_served() {
    check(Client::PythonLegacy, "legacy");
}

/// Runs the official inspector and returns what it printed as JSON.
fn inspected(args: &[&str]) -> Value {
    let output = testkit::peers::mcp::inspector(args)
        .to_command()
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}\n{errors}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{errors}"))
}

#[test]
fn the_official_inspector_lists_and_calls_over_http_and_stdio() {
    let server = stdio();
    let over_stdio: Vec<&str> = std::iter::once(server.program.as_str())
        .chain(server.args.iter().map(String::as_str))
        .collect();
    with_url(|url| {
        for target in [&[url, "--transport", "http"][..], &over_stdio] {
            let run = |more: &[&str]| inspected(&[target, more].concat());
            let listed = run(&["--method", "tools/list"]);
            let names: Vec<&str> = listed["tools"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|tool| tool["name"].as_str())
                .collect();
            assert!(names.contains(&"test_simple_text"), "{names:?}");
            let called = run(&["--method", "tools/call", "--tool-name", "test_simple_text"]);
            assert_eq!(
                called["content"][0]["text"],
                "This is a simple text response for testing."
            );
        }
    });
}
