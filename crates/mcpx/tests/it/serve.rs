//! The hub as an MCP server over standard input and output.

mod agent;
mod survives;

use serde_json::{Value, json};

use crate::harness::{Mcpx, PROGRAM};

fn lines(messages: &[Value]) -> String {
    messages
        .iter()
        .map(|message| format!("{message}\n"))
        .collect()
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
}

fn call(id: u32, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// The answers by their ids.
fn answer(stdout: &str, id: u32) -> Value {
    let messages = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let mut found = messages.filter(|message: &Value| message["id"] == id);
    found
        .next()
        .unwrap_or_else(|| panic!("no answer to {id}: {stdout}"))
}

#[test]
fn what_is_asked_is_answered_before_the_end_and_nothing_else_is_printed() {
    let mcpx = Mcpx::with_demos(&["tracker"]);
    let stdin = lines(&[
        initialize(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call(
            2,
            "mcpx_call",
            &json!({"tool": "tracker.echo", "args": {"message": "hi"}}),
        ),
        call(3, "mcpx_search", &json!({"q": "close an issue"})),
    ]);
    let ran = mcpx.run_with(&["serve"], Some(&stdin));
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(
        answer(&ran.stdout, 1)["result"]["serverInfo"]["name"],
        "mcpx"
    );
    assert_eq!(answer(&ran.stdout, 2)["result"]["content"][0]["text"], "hi");
    assert!(
        answer(&ran.stdout, 3)
            .to_string()
            .contains("tracker.close_issue"),
        "{ran}"
    );
}

#[test]
fn a_server_under_its_own_names_and_nothing_else() {
    let mcpx = Mcpx::with_demos(&["tracker"]);
    let stdin = lines(&[
        initialize(),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        call(3, "echo", &json!({"message": "hi"})),
    ]);
    let ran = mcpx.run_with(
        &["serve", "--passthrough", "tracker", "--tools", "none"],
        Some(&stdin),
    );
    assert_eq!(
        answer(&ran.stdout, 1)["result"]["serverInfo"]["name"],
        "mcpx-demo",
        "{ran}"
    );
    let tools = answer(&ran.stdout, 2)["result"]["tools"].clone();
    assert!(
        tools
            .as_array()
            .unwrap()
            .iter()
            .all(|tool| !tool["name"].as_str().unwrap().starts_with("mcpx_")),
        "{tools}"
    );
    assert_eq!(answer(&ran.stdout, 3)["result"]["content"][0]["text"], "hi");
}

#[test]
fn servers_that_clash_are_both_named_before_anything_is_served() {
    let mcpx = Mcpx::with_demos(&["one", "two"]);
    let ran = mcpx.run_with(
        &["serve", "--passthrough", "one,two"],
        Some(&lines(&[initialize()])),
    );
    assert_ne!(ran.code, 0);
    assert!(ran.stdout.is_empty(), "{ran}");
    assert!(
        ran.stderr.contains("`one`") && ran.stderr.contains("`two`"),
        "{ran}"
    );
}

#[test]
fn a_list_that_names_the_hub_itself_is_told_so() {
    let mcpx = Mcpx::with(&json!({"mcpServers": {"me": {"command": PROGRAM, "args": ["serve"]}}}));
    let ran = mcpx.run(&["types", "me"]);
    assert_ne!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("names the hub itself"), "{ran}");
}
