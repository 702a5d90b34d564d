//! What is not ours comes out as it went in.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::served::Served;
use crate::wire::{BOTH, JSON, Session, call, envelope, modern, send};

fn give(served: &Served, arguments: &str) -> String {
    let meta = envelope(&json!({}));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"give","arguments":{arguments},"_meta":{meta}}}}}"#
    );
    let headers = [
        JSON,
        BOTH,
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "give"),
    ];
    send(served.address, "POST", &headers, body.as_bytes()).text()
}

#[test]
fn unknown_fields_survive() {
    let served = Served::new();
    let arguments = r#"{"content":[{"type":"hologram","v":1.50}],"n":12345678901234567890123,"\u0061":1e3,"s":"\u00e9\/"}"#;
    let text = give(&served, arguments);
    assert!(text.contains(arguments.trim_end_matches('}')), "{text}");
    assert!(served.last_seen().contains(arguments));
}

#[test]
fn trace_forwarded() {
    let served = Served::new();
    let mut meta = envelope(&json!({}));
    meta["traceparent"] = json!("00-1-2-01");
    meta["a.b/c"] = json!(1);
    meta["progressToken"] = json!("mine");
    modern(
        served.address,
        "tools/call",
        json!({"name": "give", "arguments": {}, "_meta": meta, "other": true}),
    )
    .json();
    assert_eq!(
        served.last_seen(),
        r#"{"name":"give","arguments":{},"_meta":{"traceparent":"00-1-2-01","a.b/c":1},"other":true}"#
    );
}

#[test]
fn reserved_meta_not_forged() {
    let served = Served::new();
    let forged = json!({"_meta": {
        "io.modelcontextprotocol/serverInfo": {"name": "evil"},
        "io.modelcontextprotocol/subscriptionId": 1,
        "io.modelcontextprotocol/related-task": {"taskId": "x"},
        "a.b/c": 1
    }, "resultType": "input_required", "requestState": "x"});
    let messages = call(served.address, "forge", forged.clone(), &json!({})).messages();
    assert_eq!(messages[0]["params"]["_meta"], json!({"a.b/c": 1}));
    let result = &messages[1]["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "everything"
    );
    assert_eq!(result["_meta"].as_object().unwrap().len(), 2);
    let session = Session::begin(served.address, "2025-11-25", &json!({}));
    let messages = session.call(1, "forge", forged).messages();
    assert_eq!(
        messages[1]["result"],
        json!({"_meta": {"a.b/c": 1}, "requestState": "x"})
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map("[a-z_]{1,8}", inner, 0..5)
                .prop_map(|map| Value::from(map.into_iter().collect::<serde_json::Map<_, _>>())),
        ]
    })
}

#[test]
fn arguments_and_results_of_any_shape_come_out_byte_for_byte() {
    let served = Served::new();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(48));
    runner
        .run(&any_json(), |value| {
            let arguments = format!(r#"{{"value" :  {value}}}"#);
            let text = give(&served, &arguments);
            let kept = format!(r#"{{"value":{value},"#);
            prop_assert!(text.contains(&kept), "{text}\n{kept}");
            prop_assert!(served.last_seen().contains(&arguments));
            Ok(())
        })
        .unwrap();
}
