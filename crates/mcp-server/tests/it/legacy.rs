//! Legacy calls over HTTP: questions in mid-call, streams that break and go on, what changed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use testkit::wait_until;

use crate::served::{Served, Setup};
use crate::wire::{JSON, Session, WAIT, send};

#[test]
fn a_question_comes_on_the_stream_of_its_own_call() {
    let served = Served::new();
    let session = Session::begin(
        served.address,
        "2025-11-25",
        &json!({"elicitation": {}, "sampling": {}, "roots": {}}),
    );
    let mut reply = session.call(1, "test_input_required_result_multiple_inputs", json!({}));
    assert!(reply.is_stream());
    let questions: Vec<_> = (0..3).map(|_| reply.event().unwrap().1).collect();
    let find = |method: &str| {
        questions
            .iter()
            .find(|question| question["method"] == method)
            .unwrap()
    };
    let form = find("elicitation/create");
    assert_eq!(form["params"]["mode"], "form");
    session.answer(
        form,
        json!({"action": "accept", "content": {"name": "Ann"}}),
    );
    session.answer(find("roots/list"), json!({"roots": []}));
    session.answer(
        find("sampling/createMessage"),
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}),
    );
    let answer = reply.event().unwrap().1;
    assert_eq!(
        answer["result"],
        json!({"content": [{"type": "text", "text": "All three came."}]})
    );
    assert!(reply.event().is_none());
}

#[test]
fn several_rounds_are_asked_one_after_the_other() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-06-18", &json!({"elicitation": {}}));
    let mut reply = session.call(1, "test_input_required_result_multi_round", json!({}));
    let first = reply.event().unwrap().1;
    assert_eq!(first["params"].get("mode"), None, "2025-06-18 has no modes");
    session.answer(
        &first,
        json!({"action": "accept", "content": {"name": "Ann"}}),
    );
    let second = reply.event().unwrap().1;
    assert_ne!(first["id"], second["id"]);
    session.answer(
        &second,
        json!({"action": "accept", "content": {"color": "red"}}),
    );
    assert_eq!(
        reply.event().unwrap().1["result"]["content"][0]["text"],
        "Ann likes red"
    );
}

#[test]
fn a_refusal_an_error_and_no_answer_are_three_things() {
    let mut setup = Setup::default();
    setup.config.limits.answer = Duration::from_millis(300);
    let served = Served::with(setup);
    let session = Session::begin(served.address, "2025-11-25", &json!({"elicitation": {}}));
    let ask = || session.call(1, "test_elicitation", json!({"message": "?"}));
    let mut reply = ask();
    let question = reply.event().unwrap().1;
    session.answer(&question, json!({"action": "decline"}));
    assert!(
        reply.event().unwrap().1["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("action=decline")
    );

    let mut reply = ask();
    let question = reply.event().unwrap().1;
    session.post(&json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no"}}));
    assert!(
        reply.event().unwrap().1["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no (code -32601)")
    );

    let mut reply = ask();
    let question = reply.event().unwrap().1;
    let cancelled = reply.event().unwrap().1;
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question["id"])
    );
    assert!(
        reply.event().unwrap().1["error"]["message"]
            .as_str()
            .unwrap()
            .contains("(code 408)")
    );
    session.answer(&question, json!({"action": "accept"}));
}

#[test]
fn what_the_client_did_not_declare_is_not_asked() {
    let served = Served::new();
    for (revision, capabilities, tool) in [
        ("2025-11-25", json!({}), "test_elicitation"),
        (
            "2025-11-25",
            json!({"elicitation": {}}),
            "test_url_elicitation",
        ),
        (
            "2025-06-18",
            json!({"elicitation": {"url": {}, "form": {}}}),
            "test_url_elicitation",
        ),
        ("2025-03-26", json!({"elicitation": {}}), "test_elicitation"),
        ("2025-11-25", json!({}), "test_sampling"),
    ] {
        let session = Session::begin(served.address, revision, &capabilities);
        let answer = session.call(1, tool, json!({})).answer();
        assert_eq!(
            answer["error"]["code"], -32600,
            "{revision} {tool}: {answer}"
        );
        assert!(answer["error"]["data"]["requiredCapabilities"].is_object());
    }
}

#[test]
fn a_url_question_has_an_id_and_the_session_hears_when_it_is_done() {
    let served = Served::new();
    let session = Session::begin(
        served.address,
        "2025-11-25",
        &json!({"elicitation": {"url": {}}}),
    );
    let other = Session::begin(served.address, "2025-11-25", &json!({}));
    let (mut stream, mut other_stream) = (session.get(None), other.get(None));
    let mut reply = session.call(1, "test_url_elicitation", json!({}));
    let question = reply.event().unwrap().1;
    let id = question["params"]["elicitationId"].as_str().unwrap();
    served.notifier.elicitation_done(id);
    served.notifier.tools_changed();
    let done = stream.event().unwrap().1;
    let told = if done["method"] == "notifications/tools/list_changed" {
        stream.event().unwrap().1
    } else {
        done
    };
    assert_eq!(
        (&told["method"], &told["params"]["elicitationId"]),
        (&json!("notifications/elicitation/complete"), &json!(id))
    );
    assert_eq!(
        other_stream.event().unwrap().1["method"],
        "notifications/tools/list_changed"
    );
}

#[test]
fn a_broken_connection_is_no_cancellation_and_the_next_one_goes_on() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-11-25", &json!({"elicitation": {}}));
    let mut reply = session.call(1, "test_elicitation", json!({"message": "?"}));
    let block = reply.block().unwrap();
    assert!(
        block.contains("id: 1-0\n")
            && block.contains("retry: 1000\n")
            && block.contains("data: \n"),
        "{block}"
    );
    let (at, question) = reply.event().unwrap();
    drop(reply);
    session.answer(
        &question,
        json!({"action": "accept", "content": {"username": "a", "email": "b"}}),
    );
    let mut resumed = session.get(at.as_deref());
    let (_, answer) = resumed.event().unwrap();
    assert_eq!(answer["id"], 1);
    assert!(
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("action=accept")
    );
    assert!(resumed.event().is_none(), "the stream ends with its answer");
    wait_until("the request's end", WAIT, || served.server.running() == 0);
    assert_eq!(
        session.get(Some("1-1")).status,
        400,
        "what was read to its end is not kept"
    );
    for bad in ["", "x", "9-9", "1-x"] {
        assert_eq!(session.get(Some(bad)).status, 400, "{bad}");
    }
}

#[test]
fn only_the_notification_cancels_a_legacy_request() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-11-25", &json!({}));
    let params = json!({"name": "until_cancelled", "_meta": {"progressToken": 1}});
    let mut reply = session.request(1, "tools/call", params);
    reply.event().unwrap();
    let other = Session::begin(served.address, "2025-11-25", &json!({}));
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    other.post(&cancel);
    assert_eq!(session.request(2, "ping", json!({})).status, 200);
    assert_eq!(
        served.probe.cancelled.load(Ordering::SeqCst),
        0,
        "another session's request"
    );
    session.post(&cancel);
    wait_until("the cancellation", WAIT, || {
        served.probe.cancelled.load(Ordering::SeqCst) == 1
    });
    assert!(reply.event().is_none(), "no answer to a cancelled request");
}

#[test]
fn the_end_of_a_session_ends_its_requests() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-11-25", &json!({}));
    let params = json!({"name": "until_cancelled", "_meta": {"progressToken": 1}});
    let mut reply = session.request(1, "tools/call", params);
    reply.event().unwrap();
    assert_eq!(
        send(
            served.address,
            "DELETE",
            &[("mcp-session-id", session.id.as_str())],
            b""
        )
        .status,
        204
    );
    wait_until("the cancellation", WAIT, || {
        served.probe.cancelled.load(Ordering::SeqCst) == 1
    });
    wait_until("the end", WAIT, || served.server.running() == 0);
}

#[test]
fn what_changed_is_told_once_per_session_on_its_newest_general_stream() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-11-25", &json!({}));
    served.notifier.tools_changed();
    served.notifier.tools_changed();
    let mut first = session.get(None);
    let (_, told) = first.event().unwrap();
    assert_eq!(told["method"], "notifications/tools/list_changed");
    let mut second = session.get(None);
    assert!(first.event().is_none(), "the newest stream takes over");
    served.notifier.prompts_changed();
    let (at, told) = second.event().unwrap();
    assert_eq!(
        told["method"], "notifications/prompts/list_changed",
        "what was told is not told again"
    );
    drop(second);
    served.notifier.resources_changed();
    let mut third = session.get(at.as_deref());
    assert_eq!(
        third.event().unwrap().1["method"],
        "notifications/resources/list_changed"
    );
}

#[test]
fn a_session_watches_resources_until_it_says_otherwise() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-11-25", &json!({}));
    let mut stream = session.get(None);
    let of =
        |id: i64, method: &str, uri: &str| session.request(id, method, json!({"uri": uri})).json();
    assert_eq!(
        of(1, "resources/subscribe", "test://secret")["error"]["code"],
        -32602
    );
    for uri in ["test://a", "test://b"] {
        assert_eq!(of(2, "resources/subscribe", uri)["result"], json!({}));
    }
    served.notifier.resource_updated("test://a");
    assert_eq!(stream.event().unwrap().1["params"]["uri"], "test://a");
    assert_eq!(
        of(3, "resources/unsubscribe", "test://a")["result"],
        json!({})
    );
    assert_eq!(*served.probe.unwatched.lock().unwrap(), ["test://a"]);
    served.notifier.resource_updated("test://a");
    served.notifier.resource_updated("test://b");
    assert_eq!(stream.event().unwrap().1["params"]["uri"], "test://b");
    send(
        served.address,
        "DELETE",
        &[("mcp-session-id", session.id.as_str())],
        b"",
    );
    wait_until("unwatch", WAIT, || {
        *served.probe.unwatched.lock().unwrap() == ["test://a", "test://b"]
    });
}

#[test]
fn a_session_logs_from_the_level_on_that_it_set() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-11-25", &json!({}));
    let lines = || {
        session
            .call(1, "test_tool_with_logging", json!({}))
            .answer_and_count()
            .1
    };
    assert_eq!(lines(), 3, "information comes without asking");
    assert_eq!(
        session
            .request(2, "logging/setLevel", json!({"level": "loud"}))
            .json()["error"]["code"],
        -32602
    );
    assert_eq!(
        session
            .request(2, "logging/setLevel", json!({"level": "error"}))
            .json()["result"],
        json!({})
    );
    assert_eq!(lines(), 0);
}

#[test]
fn a_request_that_takes_long_becomes_a_stream_that_can_be_resumed() {
    let mut setup = Setup::default();
    setup.http.stream_after = Duration::from_millis(50);
    let served = Served::with(setup);
    let session = Session::begin(served.address, "2025-11-25", &json!({}));
    let mut reply = session.call(1, "slow_compute", json!({"seconds": 0.4}));
    assert!(reply.is_stream());
    assert!(reply.block().unwrap().contains("id: 1-0"));
    drop(reply);
    let mut resumed = session.get(Some("1-0"));
    assert!(
        resumed.event().unwrap().1["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("took 0.4 s")
    );
}

#[test]
fn a_client_that_takes_no_stream_gets_json() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-06-18", &json!({}));
    let headers = [
        JSON,
        ("accept", "application/json"),
        ("mcp-session-id", session.id.as_str()),
    ];
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_tool_with_progress","_meta":{"progressToken":1}}}"#;
    let mut reply = send(served.address, "POST", &headers, body);
    assert_eq!(reply.json()["result"]["content"][0]["text"], "done");
}
