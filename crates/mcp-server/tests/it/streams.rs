//! The stream of a modern request: what travels on it, and what its end means.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use testkit::wait_until;

use crate::served::{Served, Setup};
use crate::wire::{JSON, WAIT, call, envelope, modern, modern_with, send};

#[test]
fn an_answer_alone_is_json_and_one_with_progress_a_stream() {
    let served = Served::new();
    let reply = call(served.address, "test_simple_text", json!({}), &json!({}));
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let mut meta = envelope(&json!({}));
    meta["progressToken"] = json!(0);
    let mut reply = modern(
        served.address,
        "tools/call",
        json!({"name": "test_tool_with_progress", "_meta": meta}),
    );
    assert!(reply.is_stream());
    assert_eq!(reply.header("x-accel-buffering"), Some("no"));
    let messages = reply.messages();
    let said: Vec<_> = messages
        .iter()
        .map(|message| message["params"]["progress"].as_f64())
        .collect();
    assert_eq!(said, [Some(0.0), Some(50.0), Some(100.0), None]);
    assert_eq!(messages[0]["params"]["progressToken"], 0);
    assert!(messages[0].get("id").is_none());
    assert_eq!(messages[3]["id"], 7);
}

#[test]
fn a_client_that_takes_one_type_gets_that_type() {
    let served = Served::new();
    let mut meta = envelope(&json!({}));
    meta["progressToken"] = json!(0);
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "test_tool_with_progress", "_meta": meta}});
    let mut headers = vec![
        JSON,
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "test_tool_with_progress"),
    ];
    for (accept, is_stream) in [("application/json", false), ("text/event-stream", true)] {
        headers.push(("accept", accept));
        let mut reply = send(
            served.address,
            "POST",
            &headers,
            body.to_string().as_bytes(),
        );
        assert_eq!((reply.status, reply.is_stream()), (200, is_stream));
        assert_eq!(reply.answer()["result"]["resultType"], "complete");
        headers.pop();
    }
}

#[test]
fn two_clients_same_token() {
    let served = Served::new();
    let mut meta = envelope(&json!({}));
    meta["progressToken"] = json!("t");
    let params = json!({"name": "test_tool_with_progress", "_meta": meta});
    let mut replies: Vec<_> = std::thread::scope(|scope| {
        let ask = || modern(served.address, "tools/call", params.clone()).messages();
        let clients = [scope.spawn(ask), scope.spawn(ask)];
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    for messages in &mut replies {
        let answer = messages.pop().unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "done");
        let said: Vec<_> = messages
            .iter()
            .map(|message| message["params"]["progress"].as_f64().unwrap())
            .collect();
        assert_eq!(said, [0.0, 50.0, 100.0]);
    }
}

#[test]
fn log_lines_come_from_the_level_on_that_the_request_names() {
    let served = Served::new();
    let lines = |level: Option<&str>| {
        let mut meta = envelope(&json!({}));
        if let Some(level) = level {
            meta["io.modelcontextprotocol/logLevel"] = json!(level);
        }
        let mut reply = modern(
            served.address,
            "tools/call",
            json!({"name": "test_logging_tool", "_meta": meta}),
        );
        if reply.is_stream() {
            reply.messages().len() - 1
        } else {
            0
        }
    };
    assert_eq!(
        [
            lines(None),
            lines(Some("debug")),
            lines(Some("info")),
            lines(Some("error"))
        ],
        [0, 3, 3, 0]
    );
}

#[test]
fn http_close_cancels_upstream() {
    let served = Served::new();
    let mut meta = envelope(&json!({}));
    meta["progressToken"] = json!(0);
    let mut reply = modern(
        served.address,
        "tools/call",
        json!({"name": "until_cancelled", "_meta": meta}),
    );
    assert_eq!(reply.event().unwrap().1["method"], "notifications/progress");
    assert_eq!(served.probe.cancelled.load(Ordering::SeqCst), 0);
    drop(reply);
    wait_until("the cancellation", WAIT, || {
        served.probe.cancelled.load(Ordering::SeqCst) == 1
    });
    wait_until("the end of the request", WAIT, || {
        served.server.running() == 0
    });
}

#[test]
fn a_client_that_goes_before_there_was_a_response_cancels_too() {
    use std::io::Write as _;
    let served = Served::new();
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "until_cancelled", "_meta": envelope(&json!({}))}})
    .to_string();
    let mut stream = std::net::TcpStream::connect(served.address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: until_cancelled\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    wait_until("the request", WAIT, || {
        !served.probe.seen.lock().unwrap().is_empty()
    });
    drop(stream);
    wait_until("the cancellation", WAIT, || {
        served.probe.cancelled.load(Ordering::SeqCst) == 1
    });
}

#[test]
fn close_after_input_required_is_not_cancel() {
    let served = Served::new();
    let mut reply = call(
        served.address,
        "hold",
        json!({}),
        &json!({"elicitation": {}}),
    );
    assert_eq!(reply.answer()["result"]["resultType"], "input_required");
    drop(reply);
    wait_until("the end of the request", WAIT, || {
        served.server.running() == 0
    });
    let held = served.probe.held.lock().unwrap().clone().unwrap();
    assert!(!held.cancelled.is_cancelled());
}

#[test]
fn a_silent_stream_is_kept_alive() {
    let mut setup = Setup::default();
    setup.http.keep_alive = Duration::from_millis(50);
    let served = Served::with(setup);
    let mut reply = call(served.address, "until_cancelled", json!({}), &json!({}));
    assert!(reply.is_stream());
    for _ in 0..3 {
        assert_eq!(reply.block().unwrap(), ": keep-alive\n\n");
    }
}

#[test]
fn a_panic_costs_its_own_request() {
    let served = Served::new();
    let answer = call(served.address, "test_panic", json!({}), &json!({})).json();
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(
        answer["error"]["message"],
        "the server failed while it answered `tools/call`"
    );
    assert_eq!(
        call(served.address, "test_simple_text", json!({}), &json!({})).status,
        200
    );
}

#[test]
fn progress_that_a_client_does_not_read_is_left_out_and_the_answer_is_not() {
    let served = Served::new();
    let mut meta = envelope(&json!({}));
    meta["progressToken"] = json!(0);
    let messages = modern(
        served.address,
        "tools/call",
        json!({"name": "chatty", "_meta": meta}),
    )
    .messages();
    assert!(messages.len() <= 5_001);
    let numbers: Vec<_> = messages
        .iter()
        .filter_map(|message| message["params"]["progress"].as_f64())
        .collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(messages.last().unwrap()["id"], 7);
}

#[test]
fn one_request_too_many_is_refused_and_the_others_go_on() {
    let mut setup = Setup::default();
    setup.config.limits.requests = 1;
    let served = Served::with(setup);
    let mut meta = envelope(&json!({}));
    meta["progressToken"] = json!(0);
    let mut first = modern(
        served.address,
        "tools/call",
        json!({"name": "until_cancelled", "_meta": meta}),
    );
    first.event().unwrap();
    let mut second = call(served.address, "test_simple_text", json!({}), &json!({}));
    assert_eq!(second.status, 503);
    assert_eq!(
        second.json()["error"]["message"],
        "too many requests at once; try again later"
    );
    drop(first);
    wait_until("room", WAIT, || {
        call(served.address, "test_simple_text", json!({}), &json!({})).status == 200
    });
}

#[test]
fn codes_of_the_legacy_era_are_not_sent_to_a_modern_client() {
    let served = Served::new();
    let code = |code: i64| {
        let mut reply = modern_with(
            served.address,
            "tools/call",
            json!({"name": "fail", "arguments": {"code": code}}),
            &[],
        );
        (
            reply.status,
            reply.json()["error"]["code"].as_i64().unwrap(),
        )
    };
    assert_eq!(code(-32002), (200, -32602));
    assert_eq!(code(-32042), (200, -32603));
    assert_eq!(code(-32601), (404, -32601));
    assert_eq!(code(4_711), (200, 4_711));
}
