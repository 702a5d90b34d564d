//! Tasks of 2025-11-25.

use serde_json::{Value, json};
use testkit::wait_until;

use crate::served::Served;
use crate::wire::{Session, WAIT};

fn begin(served: &Served) -> Session {
    Session::begin(served.address, "2025-11-25", &json!({"elicitation": {}}))
}

fn start(session: &Session, tool: &str, arguments: &Value) -> String {
    let params = json!({"name": tool, "arguments": arguments, "task": {"ttl": 60_000}});
    let answer = session.request(1, "tools/call", params).json();
    let task = &answer["result"]["task"];
    assert_eq!(task["ttl"], 60_000, "{answer}");
    assert_eq!(task.get("ttlMs"), None);
    task["taskId"].as_str().unwrap().to_owned()
}

fn status(session: &Session, id: &str) -> Value {
    session
        .request(2, "tasks/get", json!({"taskId": id}))
        .json()["result"]["status"]
        .clone()
}

#[test]
fn a_result_is_waited_for_and_names_its_task() {
    let served = Served::new();
    let session = begin(&served);
    let id = start(
        &session,
        "slow_compute",
        &json!({"seconds": 0.2, "label": "it"}),
    );
    let result = session
        .request(3, "tasks/result", json!({"taskId": id}))
        .answer()["result"]
        .clone();
    assert_eq!(result["content"][0]["text"], "it took 0.2 s");
    assert_eq!(
        result["_meta"],
        json!({"io.modelcontextprotocol/related-task": {"taskId": id}})
    );
    assert_eq!(status(&session, &id), "completed");
}

#[test]
fn a_failed_tool_is_a_failed_task_and_an_answer_at_once_a_finished_one() {
    let served = Served::new();
    let session = begin(&served);
    let id = start(&session, "failing_job", &json!({}));
    let result = session
        .request(3, "tasks/result", json!({"taskId": id}))
        .answer()["result"]
        .clone();
    assert_eq!(result["isError"], true);
    assert_eq!(status(&session, &id), "failed");
    let id = start(&session, "greet", &json!({"name": "Ann"}));
    wait_until("the end", WAIT, || status(&session, &id) == "completed");
    let broken = start(&session, "protocol_error_job", &json!({}));
    let error = session
        .request(3, "tasks/result", json!({"taskId": broken}))
        .answer()["error"]
        .clone();
    assert_eq!(error["code"], -32603);
}

#[test]
fn a_question_comes_on_the_stream_of_whoever_waits_for_the_result() {
    let served = Served::new();
    let session = begin(&served);
    for (tool, arguments) in [
        ("confirm_delete", json!({"filename": "x"})),
        ("test_input_required_result_multi_round", json!({})),
    ] {
        let id = start(&session, tool, &arguments);
        wait_until("the question", WAIT, || {
            status(&session, &id) == "input_required"
        });
        let mut reply = session.request(3, "tasks/result", json!({"taskId": id}));
        loop {
            let message = reply.event().unwrap().1;
            if message.get("method").is_none() {
                assert!(message["result"]["content"].is_array(), "{message}");
                break;
            }
            let related =
                &message["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"];
            assert_eq!(related, &json!(id));
            session.answer(
                &message,
                json!({"action": "accept", "content": {"name": "Ann", "color": "red"}}),
            );
        }
        assert_eq!(status(&session, &id), "completed", "{tool}");
    }
}

#[test]
fn tasks_are_listed_and_cancelled_by_their_own_session_alone() {
    let served = Served::new();
    let (session, other) = (begin(&served), begin(&served));
    let id = start(&session, "slow_compute", &json!({"seconds": 30}));
    let listed = |session: &Session| {
        session.request(4, "tasks/list", json!({})).json()["result"]["tasks"].clone()
    };
    assert_eq!(listed(&session)[0]["taskId"], id);
    assert_eq!(listed(&other), json!([]));
    for method in ["tasks/get", "tasks/cancel", "tasks/result"] {
        assert_eq!(
            other.request(5, method, json!({"taskId": id})).answer()["error"]["code"],
            -32602
        );
    }
    let cancel = || {
        session
            .request(6, "tasks/cancel", json!({"taskId": id}))
            .json()
    };
    assert_eq!(cancel()["result"]["status"], "cancelled");
    assert_eq!(cancel()["error"]["code"], -32602);
    assert!(
        session
            .request(7, "tasks/result", json!({"taskId": id}))
            .answer()["error"]
            .is_object()
    );
    assert_eq!(
        session
            .request(8, "tasks/list", json!({"cursor": "x"}))
            .json()["error"]["code"],
        -32602
    );
}

#[test]
fn a_session_hears_of_its_own_tasks() {
    let served = Served::new();
    let (session, other) = (begin(&served), begin(&served));
    let (mut stream, mut other_stream) = (session.get(None), other.get(None));
    let id = start(&session, "failing_job", &json!({}));
    let told = stream.event().unwrap().1;
    assert_eq!(
        (&told["method"], &told["params"]["taskId"]),
        (&json!("notifications/tasks/status"), &json!(id))
    );
    assert_eq!(told["params"]["status"], "failed");
    served.notifier.tools_changed();
    assert_eq!(
        other_stream.event().unwrap().1["method"],
        "notifications/tools/list_changed"
    );
}

#[test]
fn older_revisions_have_no_tasks() {
    let served = Served::new();
    let session = Session::begin(served.address, "2025-06-18", &json!({}));
    let params = json!({"name": "greet", "arguments": {"name": "Ann"}, "task": {}});
    let answer = session.request(1, "tools/call", params).json();
    assert_eq!(answer["result"]["content"][0]["text"], "Hello, Ann!");
    assert_eq!(
        session.request(2, "tasks/list", json!({})).json()["error"]["code"],
        -32601
    );
}
