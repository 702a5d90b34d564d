//! Reads any bytes as the record of a catalog: never a panic; what is read reads the same when written again, keeps what
//! it does not know, and takes further readings within its bounds.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use mcp_wire::{Raw, Tool};
use mcpx_catalog::history::{History, MAX_CHANGES};
use serde_json::{Value, json};

fuzz_target!(|data: &[u8]| {
    let Ok(history) = History::parse(data) else {
        return;
    };
    let text = history.to_json();
    let again = History::parse(text.as_bytes()).expect("what is written can be read");
    assert_eq!(again, history);
    assert_eq!(again.to_json(), text);
    kept(data, &text);
    observed(history);
});

/// Members of the top that this version does not know are there afterwards.
fn kept(data: &[u8], text: &str) {
    let (Ok(Value::Object(before)), Ok(after)) = (
        serde_json::from_slice::<Value>(data),
        serde_json::from_str::<Value>(text),
    ) else {
        return;
    };
    for (name, value) in before {
        if name != "version" && name != "servers" {
            assert_eq!(after[&name], value);
        }
    }
}

/// Two more readings of each server that there is, and of one more.
fn observed(mut history: History) {
    let mut servers: Vec<String> = history
        .records()
        .map(|(server, _, _)| server.to_owned())
        .collect();
    servers.push("new".to_owned());
    servers.dedup();
    let tools = [
        tool(
            json!({"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"enum": ["x", 1]}}, "required": ["a"]}}),
        ),
        tool(
            json!({"name": "u", "description": "d", "inputSchema": {"properties": {"b": {"type": "string"}}}}),
        ),
    ];
    let when: Timestamp = "2026-09-01T00:00:00Z".parse().expect("a time");
    for server in &servers {
        history.observe(server, &tools, &[], when);
        assert_eq!(history.observe(server, &tools, &[], when), []);
    }
    for (_, _, record) in history.records() {
        assert!(record.changes.len() <= MAX_CHANGES.max(8));
    }
    for server in &servers {
        for tool in ["t", "u", "gone"] {
            let _explained = history.explaining(server, tool, Some("a"));
        }
    }
    history.prune(when);
    let text = history.to_json();
    assert_eq!(History::parse(text.as_bytes()), Ok(history));
}

fn tool(value: Value) -> Tool {
    Tool::parse(&Raw::from(value)).expect("a tool")
}
