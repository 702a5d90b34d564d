//! Legacy sessions over HTTP: how they begin, what they need, how they end.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::wait_until;

use crate::served::{Served, Setup, with_tokens};
use crate::wire::{BOTH, JSON, Reply, Session, WAIT, send};

fn initialize(served: &Served, version: &str, headers: &[(&str, &str)]) -> Reply {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "by hand"}}});
    let mut all = vec![JSON, BOTH];
    all.extend_from_slice(headers);
    send(served.address, "POST", &all, body.to_string().as_bytes())
}

fn ping(served: &Served, headers: &[(&str, &str)]) -> u16 {
    let mut all = vec![JSON, BOTH];
    all.extend_from_slice(headers);
    send(
        served.address,
        "POST",
        &all,
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    )
    .status
}

#[test]
fn initialize_never_modern() {
    let served = Served::new();
    for (asked, answered) in [
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("", "2025-11-25"),
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
    ] {
        let mut reply = initialize(&served, asked, &[]);
        let result = reply.json()["result"].clone();
        assert_eq!(result["protocolVersion"], answered, "{asked}");
        assert_eq!(result["capabilities"].get("extensions"), None);
        let has_tasks = result["capabilities"].get("tasks").is_some();
        assert_eq!(has_tasks, answered == "2025-11-25", "{answered}");
        assert_eq!(result.get("resultType"), None);
    }
}

#[test]
fn a_request_needs_a_session_that_is_there() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-11-25", &json!({}));
    let id = ("mcp-session-id", session.id.as_str());
    assert_eq!(ping(&served, &[id]), 200);
    assert_eq!(ping(&served, &[]), 400);
    assert_eq!(ping(&served, &[("mcp-session-id", "made-up")]), 404);
    assert_eq!(
        ping(&served, &[id, ("mcp-protocol-version", "2025-06-18")]),
        200
    );
    assert_eq!(
        ping(&served, &[id, ("mcp-protocol-version", "1999-01-01")]),
        400
    );
    assert!(session.id.bytes().all(|byte| (0x21..0x7f).contains(&byte)));
    assert_eq!(send(served.address, "DELETE", &[id], b"").status, 204);
    assert_eq!(ping(&served, &[id]), 404);
    assert_eq!(send(served.address, "DELETE", &[id], b"").status, 404);
    assert_eq!(
        send(
            served.address,
            "GET",
            &[id, ("accept", "text/event-stream")],
            b""
        )
        .status,
        404
    );
    assert_eq!(served.http.sessions(), 0);
}

#[test]
fn a_session_of_another_principal_is_not_there() {
    let served = with_tokens();
    let mut reply = initialize(&served, "2025-11-25", &[("authorization", "Bearer ann")]);
    let id = reply.header("mcp-session-id").unwrap().to_owned();
    reply.json();
    let id = ("mcp-session-id", id.as_str());
    assert_eq!(ping(&served, &[id, ("authorization", "Bearer bob")]), 404);
    assert_eq!(ping(&served, &[id, ("authorization", "Bearer ann")]), 200);
}

#[test]
fn one_session_more_than_there_may_be_takes_the_place_of_an_idle_one() {
    let mut setup = Setup::default();
    setup.http.sessions = 2;
    let served = Served::with(setup);
    let held = Session::begin(served.address, "2025-11-25", &json!({}));
    let stream = held.get(None);
    assert_eq!(stream.status, 200);
    let mut idle = Session::begin(served.address, "2025-11-25", &json!({}));
    // Each begins although both places are taken, and the one before finds out.
    for _ in 0..5 {
        let next = Session::begin(served.address, "2025-11-25", &json!({}));
        assert_eq!(idle.request(1, "ping", json!({})).status, 404);
        assert_eq!(next.request(1, "ping", json!({})).status, 200);
        idle = next;
    }
    assert_eq!(
        held.request(1, "ping", json!({})).status,
        200,
        "a session with an open stream is not idle"
    );
    let also_held = idle.get(None);
    assert_eq!(also_held.status, 200);
    let reply = initialize(&served, "2025-11-25", &[]);
    assert_eq!(
        (reply.status, reply.header("retry-after")),
        (503, Some("60"))
    );
    assert_eq!(served.http.sessions(), 2);
}

#[test]
fn an_idle_session_ends_although_nobody_asks_for_anything_any_more() {
    let mut setup = Setup::default();
    setup.http.session_idle = Duration::from_millis(100);
    let served = Served::with(setup);
    let held = Session::begin(served.address, "2025-11-25", &json!({}));
    let stream = held.get(None);
    Session::begin(served.address, "2025-11-25", &json!({}));
    wait_until("the idle one is gone", WAIT, || served.http.sessions() == 1);
    drop(stream);
    wait_until("the other one too", WAIT, || served.http.sessions() == 0);
    // And again, after there was none.
    Session::begin(served.address, "2025-11-25", &json!({}));
    wait_until("a later one", WAIT, || served.http.sessions() == 0);
    assert_eq!(served.notifier.listeners(), 0);
}

#[test]
fn an_answer_to_nothing_and_a_late_one_are_taken_and_dropped() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-11-25", &json!({}));
    session.answer(&json!({"id": "ask-99"}), json!({}));
}

#[test]
fn several_messages_at_once_are_answered_at_once_where_the_revision_has_that() {
    let served = Served::new();
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/x"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "test_simple_text"}},
        7,
        {"jsonrpc": "2.0", "id": 3, "method": "initialize"}
    ]);
    let session = Session::begin(served.address, "2025-03-26", &json!({}));
    let answers = session.post(&batch).json();
    let find = |id: Value| {
        answers
            .as_array()
            .unwrap()
            .iter()
            .find(|answer| answer["id"] == id)
            .cloned()
            .unwrap()
    };
    assert_eq!(answers.as_array().unwrap().len(), 4);
    assert_eq!(find(json!(1))["result"], json!({}));
    assert_eq!(find(json!(2))["result"]["content"][0]["type"], "text");
    assert_eq!(find(json!(3))["error"]["code"], -32600);
    assert_eq!(find(json!(null))["error"]["code"], -32600);
    let notes = json!([{"jsonrpc": "2.0", "method": "notifications/x"}]);
    assert_eq!(session.post(&notes).status, 202);
    for revision in ["2025-11-25", "2025-06-18"] {
        assert_eq!(
            Session::begin(served.address, revision, &json!({}))
                .post(&batch)
                .status,
            400
        );
    }
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-11-25", &json!({}));
    let mut first = session.request(
        5,
        "tools/call",
        json!({"name": "until_cancelled", "_meta": {"progressToken": 1}}),
    );
    first.event().unwrap();
    let mut second = session.request(5, "ping", json!({}));
    assert_eq!(second.status, 400);
    assert!(second.text().contains("is in use"));
}

#[test]
fn descriptions_are_spelled_for_the_revision() {
    let served = Served::new();
    for (revision, has_execution) in [("2025-11-25", true), ("2025-06-18", false)] {
        let session = Session::begin(served.address, revision, &json!({}));
        let tools = session.request(1, "tools/list", json!({})).json()["result"].clone();
        assert_eq!(
            (
                tools.get("ttlMs"),
                tools.get("resultType"),
                tools.get("_meta")
            ),
            (None, None, None)
        );
        let tool = tools["tools"]
            .as_array()
            .unwrap()
            .iter()
            .find(|tool| tool["name"] == "greet")
            .unwrap();
        assert_eq!(tool.get("execution").is_some(), has_execution, "{revision}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_idle_sessions_need_little_memory_and_give_it_back() {
    let served = Served::new();
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
    };
    let fill_and_empty = || {
        let sessions: Vec<_> = (0..1_000)
            .map(|_| Session::begin(served.address, "2025-11-25", &json!({})))
            .collect();
        assert_eq!(served.http.sessions(), 1_000);
        let full = resident();
        for session in sessions {
            let status = send(
                served.address,
                "DELETE",
                &[("mcp-session-id", session.id.as_str())],
                b"",
            )
            .status;
            assert_eq!(status, 204);
        }
        assert_eq!(
            (served.http.sessions(), served.notifier.listeners()),
            (0, 0)
        );
        full
    };
    let before = resident();
    let first = fill_and_empty();
    let second = fill_and_empty();
    let third = fill_and_empty();
    let mib = 1024 * 1024;
    assert!(first.saturating_sub(before) < 32 * mib, "{before} {first}");
    assert!(third.saturating_sub(second) < 8 * mib, "{second} {third}");
}
