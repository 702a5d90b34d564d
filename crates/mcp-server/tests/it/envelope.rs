//! The modern era over HTTP: the metadata of a request, and the headers that mirror it.

use serde_json::{Value, json};

use crate::served::Served;
use crate::wire::{BOTH, JSON, envelope, modern, modern_with, send};

const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

fn post(served: &Served, headers: &[(&str, &str)], message: &Value) -> (u16, Value) {
    let mut all = vec![JSON, BOTH];
    all.extend_from_slice(headers);
    let mut reply = send(served.address, "POST", &all, message.to_string().as_bytes());
    (reply.status, reply.answer())
}

#[test]
fn meta_missing_400() {
    let served = Served::new();
    for gone in ["protocolVersion", "clientCapabilities", "both"] {
        let mut meta = envelope(&json!({}));
        for key in ["protocolVersion", "clientCapabilities"] {
            if gone == key || gone == "both" {
                meta.as_object_mut()
                    .unwrap()
                    .remove(&format!("io.modelcontextprotocol/{key}"));
            }
        }
        let message =
            json!({"jsonrpc": "2.0", "id": "m", "method": "tools/list", "params": {"_meta": meta}});
        let (status, answer) = post(&served, &[VERSION, ("mcp-method", "tools/list")], &message);
        assert_eq!(
            (status, &answer["error"]["code"], &answer["id"]),
            (400, &json!(-32602), &json!("m")),
            "{gone}"
        );
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("io.modelcontextprotocol/")
        );
    }
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"});
    assert_eq!(post(&served, &[], &message).1["error"]["code"], -32602);
    let no_info = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}});
    assert_eq!(
        modern(served.address, "server/discover", no_info).status,
        200
    );
}

#[test]
fn header_mismatch_each() {
    let served = Served::new();
    let params = json!({"name": "test_simple_text", "_meta": envelope(&json!({}))});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let (method, name) = (
        ("mcp-method", "tools/call"),
        ("mcp-name", "test_simple_text"),
    );
    assert_eq!(post(&served, &[VERSION, method, name], &message).0, 200);
    assert_eq!(
        post(
            &served,
            &[
                ("MCP-Protocol-VERSION", "2026-07-28"),
                ("MCP-METHOD", "  tools/call "),
                name
            ],
            &message
        )
        .0,
        200
    );
    for headers in [
        vec![method, name],
        vec![VERSION, name],
        vec![VERSION, method],
        vec![("mcp-protocol-version", "2025-11-25"), method, name],
        vec![VERSION, ("mcp-method", "tools/list"), name],
        vec![VERSION, ("mcp-method", "Tools/Call"), name],
        vec![VERSION, method, ("mcp-name", "TEST_SIMPLE_TEXT")],
        vec![VERSION, method, name, name],
        vec![VERSION, VERSION, method, name],
        vec![VERSION, method, ("mcp-name", "=?base64?***?=")],
    ] {
        let (status, answer) = post(&served, &headers, &message);
        assert_eq!(
            (status, &answer["error"]["code"]),
            (400, &json!(-32020)),
            "{headers:?}: {answer}"
        );
        assert_eq!(answer["id"], 1);
    }
}

#[test]
fn name_base64() {
    let served = Served::new();
    let params = json!({"uri": "test://template/Grüße/data", "_meta": envelope(&json!({}))});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params});
    let encoded = mcp_wire::header::encode("test://template/Grüße/data");
    let headers = [
        VERSION,
        ("mcp-method", "resources/read"),
        ("mcp-name", encoded.as_str()),
    ];
    let (status, answer) = post(&served, &headers, &message);
    assert_eq!(status, 200);
    assert!(
        answer["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Grüße")
    );
}

#[test]
fn param_header_null_omitted() {
    let served = Served::new();
    let call = |arguments: Value, headers: &[(&str, &str)]| {
        let params = json!({"name": "test_custom_header", "arguments": arguments});
        let mut reply = modern_with(served.address, "tools/call", params, headers);
        (reply.status, reply.answer()["error"]["code"].clone())
    };
    let good = (200, Value::Null);
    let bad = (400, json!(-32020));
    assert_eq!(call(json!({"region": null}), &[]), good);
    assert_eq!(call(json!({}), &[]), good);
    assert_eq!(
        call(json!({"region": null}), &[("mcp-param-region", "eu")]),
        bad
    );
    assert_eq!(call(json!({"region": "eu"}), &[]), bad);
    assert_eq!(
        call(json!({"region": "eu"}), &[("mcp-param-region", "EU")]),
        bad
    );
    assert_eq!(
        call(json!({"region": "eu"}), &[("mcp-param-region", "eu")]),
        good
    );
    assert_eq!(
        call(
            json!({"region": "ü"}),
            &[("Mcp-Param-Region", "=?base64?w7w=?=")]
        ),
        good
    );
    assert_eq!(
        call(
            json!({"region": "ü"}),
            &[("mcp-param-region", "=?base64?%%?=")]
        ),
        bad
    );
    assert_eq!(
        call(json!({"count": 3}), &[("mcp-param-count", "3.0")]),
        good
    );
    assert_eq!(
        call(
            json!({"count": 9_007_199_254_740_993_i64}),
            &[("mcp-param-count", "9007199254740993")]
        ),
        bad
    );
}

#[test]
fn an_unknown_revision_is_answered_with_the_known_ones() {
    let served = Served::new();
    let mut meta = envelope(&json!({}));
    meta["io.modelcontextprotocol/protocolVersion"] = json!("v999.0.0");
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    let headers = [
        ("mcp-protocol-version", "v999.0.0"),
        ("mcp-method", "tools/list"),
    ];
    let (status, answer) = post(&served, &headers, &message);
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32022)));
    assert_eq!(
        answer["error"]["data"],
        json!({"supported": ["2026-07-28"], "requested": "v999.0.0"})
    );
    let (status, answer) = post(&served, &[VERSION, ("mcp-method", "tools/list")], &message);
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32020)));
}

#[test]
fn methods_that_the_modern_era_lacks_are_not_found() {
    let served = Served::new();
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/result",
        "tasks/list",
        "unknown/method",
    ] {
        let mut reply = modern(served.address, method, json!({}));
        assert_eq!(
            (reply.status, &reply.json()["error"]["code"]),
            (404, &json!(-32601)),
            "{method}"
        );
    }
}

#[test]
fn the_modern_era_knows_no_sessions() {
    let served = Served::new();
    let session = ("mcp-session-id", "made-up");
    let reply = modern_with(
        served.address,
        "tools/list",
        json!({}),
        &[session, ("last-event-id", "1-1")],
    );
    assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
    for method in ["GET", "DELETE"] {
        let reply = send(
            served.address,
            method,
            &[VERSION, session, ("accept", "text/event-stream")],
            b"",
        );
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
        assert_eq!(
            send(served.address, method, &[("accept", "*/*")], b"").status,
            405
        );
    }
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    assert_eq!(post(&served, &[VERSION], &answer).0, 400);
}

#[test]
fn discover_says_what_there_is_and_how_long_that_holds() {
    let served = Served::new();
    let answer = modern(served.address, "server/discover", json!({})).json();
    let result = &answer["result"];
    assert_eq!(
        result["supportedVersions"],
        json!([
            "2026-07-28",
            "2025-11-25",
            "2025-06-18",
            "2025-03-26",
            "2024-11-05"
        ])
    );
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "everything"
    );
    assert_eq!(result["resultType"], "complete");
}

#[test]
fn a_notification_is_taken_without_an_answer() {
    let served = Served::new();
    let message = json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": envelope(&json!({}))}});
    let mut reply = send(
        served.address,
        "POST",
        &[JSON, BOTH, VERSION],
        message.to_string().as_bytes(),
    );
    assert_eq!((reply.status, reply.text().as_str()), (202, ""));
    assert_eq!(*served.probe.notified.lock().unwrap(), ["notifications/x"]);
}

#[test]
fn a_member_that_occurs_twice_is_refused() {
    let served = Served::new();
    let meta = envelope(&json!({}));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","name":"test_simple_text","_meta":{meta}}}}}"#
    );
    let headers = [
        JSON,
        BOTH,
        VERSION,
        ("mcp-method", "tools/call"),
        ("mcp-name", "test_simple_text"),
    ];
    let answer = send(served.address, "POST", &headers, body.as_bytes()).json();
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`name` occurs twice"),
        "{answer}"
    );
}
