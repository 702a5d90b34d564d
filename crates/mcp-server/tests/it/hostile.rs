//! Bytes that nobody should send: whatever comes, only messages go out, and the next request is answered.

use mcp_server::stdio::serve;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::served::{Served, Setup, server};
use crate::wire::{BOTH, JSON, Session, WAIT, call, envelope, send};

/// Messages that are nearly right: a good one, with something exchanged, cut or doubled.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let meta =
        envelope(&json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let good = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hold", "arguments": {}, "_meta": meta}}),
        json!({"jsonrpc": "2.0", "id": "x", "method": "tasks/update", "params": {"taskId": "t", "inputResponses": {}, "_meta": meta}}),
        json!({"jsonrpc": "2.0", "id": 1.5, "method": "resources/read", "params": {"uri": "test://static-text", "_meta": meta}}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {"taskIds": ["a"]}, "_meta": meta}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "id": "ask-1", "result": {"action": "accept"}}),
        json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]),
    ];
    let words = [
        "null", "{}", "[]", "\"\"", "-1", "1e999", "\\u0000", "\"ü\"", "true", "}", "{", "\"", ",",
        ":", "\n", "\u{feff}",
    ];
    let change = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        0_usize..12,
    );
    (
        any::<prop::sample::Index>(),
        prop::collection::vec(change, 0..4),
        any::<bool>(),
    )
        .prop_map(move |(which, changes, break_utf8)| {
            let mut text = which.get(&good).to_string().into_bytes();
            for (at, word, length) in changes {
                let at = at.index(text.len() + 1);
                let end = (at + length).min(text.len());
                text.splice(at..end, word.get(&words).bytes());
            }
            if break_utf8 && text.len() > 3 {
                let at = text.len() / 2;
                text[at] = 0xff;
            }
            text
        })
}

#[test]
fn whatever_comes_over_stdio_only_messages_go_out() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
    runner
        .run(&prop::collection::vec(nearly(), 1..8), |messages| {
            let output = runtime.block_on(async {
                let mut setup = Setup::default();
                setup.config.limits.grace = std::time::Duration::from_millis(200);
                let (server, _probe, _notifier) = server(setup.config);
                let (mut input, their_input) = tokio::io::duplex(1 << 20);
                let (their_output, mut output) = tokio::io::duplex(1 << 20);
                let serving =
                    tokio::spawn(async move { serve(&server, their_input, their_output).await });
                for message in &messages {
                    input.write_all(message).await.unwrap();
                    input.write_all(b"\n").await.unwrap();
                }
                input
                    .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}\n")
                    .await
                    .unwrap();
                drop(input);
                let mut text = String::new();
                tokio::time::timeout(WAIT, output.read_to_string(&mut text))
                    .await
                    .unwrap()
                    .unwrap();
                tokio::time::timeout(WAIT, serving)
                    .await
                    .unwrap()
                    .unwrap()
                    .unwrap();
                text
            });
            let mut answered = false;
            for line in output.lines() {
                let message: Value = serde_json::from_str(line)
                    .map_err(|error| TestCaseError::fail(format!("{error}: {line}")))?;
                answered |= message["id"] == "last" && message["result"] == json!({});
            }
            prop_assert!(answered, "{output}");
            Ok(())
        })
        .unwrap();
}

#[test]
fn whatever_is_posted_is_answered_and_the_next_request_too() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-11-25", &json!({}));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
    let headers = [
        vec![],
        vec![
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "hold"),
        ],
        vec![("mcp-session-id", session.id.as_str())],
    ];
    runner
        .run(&(nearly(), 0_usize..3), |(message, which)| {
            let mut all = vec![JSON, BOTH];
            all.extend_from_slice(&headers[which]);
            let reply = send(served.address, "POST", &all, &message);
            prop_assert!(
                matches!(reply.status, 200 | 202 | 400 | 404),
                "{}",
                reply.status
            );
            Ok(())
        })
        .unwrap();
    assert_eq!(
        call(served.address, "test_simple_text", json!({}), &json!({})).status,
        200
    );
    assert_eq!(session.request(1, "ping", json!({})).status, 200);
}

#[test]
fn many_clients_at_once_each_get_their_own_answers() {
    let served = Served::new();
    std::thread::scope(|scope| {
        for client in 0..16 {
            let served = &served;
            scope.spawn(move || {
                let session =
                    Session::begin(served.address, "2025-11-25", &json!({"elicitation": {}}));
                for round in 0..5 {
                    let name = format!("{client}-{round}");
                    let mut reply =
                        session.call(round, "test_input_required_result_elicitation", json!({}));
                    let question = reply.event().unwrap().1;
                    session.answer(
                        &question,
                        json!({"action": "accept", "content": {"name": name}}),
                    );
                    let answer = reply.event().unwrap().1;
                    assert_eq!(answer["id"], round);
                    assert_eq!(
                        answer["result"]["content"][0]["text"],
                        format!("Hello, {name}!")
                    );
                }
            });
        }
    });
}
