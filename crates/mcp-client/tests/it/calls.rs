//! One call: its clock, its progress, its cancellation, its one outcome.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::clock::Expiry;
use mcp_client::{CallOptions, Cause, Delivery, Event, FailureKind};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos};

use crate::setup::{connected, object, options, received};

const SECOND: Duration = Duration::from_secs(1);

fn no_answer(kind: &FailureKind) -> (Delivery, Cause) {
    match kind {
        FailureKind::NoAnswer {
            delivery, cause, ..
        } => (*delivery, cause.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_without_a_sign_of_life_ends_and_is_cancelled_by_its_id() {
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let server = chaos
            .tool("never", Behaviour::Never)
            .tool("echo", Behaviour::Answer)
            .stdio();
        let connection = connected(&server).await;
        let soon = CallOptions {
            idle: Some(SECOND),
            ..options()
        };
        let failure = connection
            .call_tool("never", object("{}"), &soon)
            .await
            .unwrap_err();
        assert_eq!(
            no_answer(&failure.kind),
            (
                Delivery::OutcomeUnknown,
                Cause::Timeout(Expiry::Idle(SECOND))
            )
        );
        assert!(
            failure
                .to_string()
                .contains("no sign of life within 1 s; its outcome is unknown"),
            "{failure}"
        );
        let received = received(&server, "the cancellation", |received| {
            !received.of_method("notifications/cancelled").is_empty()
        })
        .await;
        let messages = received.messages();
        let call = messages
            .iter()
            .find(|message| message["method"] == "tools/call")
            .unwrap();
        let cancelled = messages
            .iter()
            .find(|message| message["method"] == "notifications/cancelled")
            .unwrap();
        assert_eq!(cancelled["params"]["requestId"], call["id"]);
        // The server stays.
        assert!(
            connection
                .call_tool("echo", object("{}"), &options())
                .await
                .is_ok()
        );
    }
}

#[tokio::test]
async fn progress_keeps_a_call_alive_up_to_its_maximum_and_is_passed_on() {
    let script = [
        Behaviour::Progress(8, Duration::from_millis(400)),
        Behaviour::Answer,
    ];
    let server = Chaos::new().tool("slow", script).stdio();
    let connection = connected(&server).await;
    let seen: Arc<Mutex<Vec<f64>>> = Arc::default();
    let keep = Arc::clone(&seen);
    let lively = CallOptions {
        idle: Some(SECOND),
        on_progress: Some(Arc::new(move |progress| {
            keep.lock().unwrap().push(progress.progress);
        })),
        ..options()
    };
    connection
        .call_tool("slow", object("{}"), &lively)
        .await
        .unwrap();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 8);
    assert!(seen.windows(2).all(|pair| pair[0] < pair[1]));

    let bounded = CallOptions {
        idle: Some(SECOND),
        max: Some(2 * SECOND),
        ..options()
    };
    let failure = connection
        .call_tool("slow", object("{}"), &bounded)
        .await
        .unwrap_err();
    assert_eq!(
        no_answer(&failure.kind).1,
        Cause::Timeout(Expiry::Max(2 * SECOND))
    );
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_its_late_result_dropped() {
    let script = [Behaviour::UntilCancelled(10 * SECOND), Behaviour::Answer];
    let server = Chaos::new()
        .tool("late", script)
        .tool("echo", Behaviour::Answer)
        .stdio();
    let connection = connected(&server).await;
    let mut events = connection.events();
    let cancelling = options();
    let token = cancelling.cancelled.clone();
    let call = connection.call_tool("late", object("{}"), &cancelling);
    let cancel = async {
        received(&server, "the call", |received| {
            !received.of_method("tools/call").is_empty()
        })
        .await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(call, cancel);
    assert_eq!(no_answer(&outcome.unwrap_err().kind).1, Cause::Cancelled);
    let noise = loop {
        if let Event::Noise { head } = events.recv().await.unwrap() {
            break head;
        }
    };
    assert!(noise.contains("which nobody waits for"), "{noise}");
    assert!(
        connection
            .call_tool("echo", object("{}"), &options())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn an_answer_with_an_error_is_the_servers_and_a_failed_tool_is_a_result() {
    let error = Behaviour::ErrorWith(-32602, "no such file", json!({ "path": "a" }));
    let server = Chaos::new()
        .tool("error", error)
        .tool("failed", Behaviour::Failed("sorry"))
        .stdio();
    let connection = connected(&server).await;
    let failure = connection
        .call_tool("error", object("{}"), &options())
        .await
        .unwrap_err();
    let answered = failure.answered().unwrap();
    assert_eq!(
        (answered.code, answered.message.as_str()),
        (-32602, "no such file")
    );
    assert_eq!(
        answered.data.as_ref().unwrap().value().unwrap(),
        json!({ "path": "a" })
    );
    let result = connection
        .call_tool("failed", object("{}"), &options())
        .await
        .unwrap();
    assert!(result.is_error);
    assert_eq!(result.joined_text(), "sorry");
}

#[tokio::test]
async fn unknown_fields_survive() {
    let result = json!({ "content": [{ "type": "hologram", "v": 1.5 }, { "type": "text", "text": "a", "x": [1] }],
        "structuredContent": [1, { "z": 1, "a": 2 }], "_meta": { "dev.example/k": { "b": 1, "a": 2 } }, "vendor": true });
    let server = Chaos::new()
        .legacy()
        .tool("odd", Behaviour::Result(result.clone()))
        .stdio();
    let connection = connected(&server).await;
    let got = connection
        .call_tool("odd", object("{}"), &options())
        .await
        .unwrap();
    assert_eq!(
        mcp_wire::Raw::from(got.raw().clone())
            .value()
            .unwrap()
            .to_string(),
        result.to_string()
    );
}

#[tokio::test]
async fn trace_forwarded_and_reserved_meta_not_forged() {
    let server = Chaos::new()
        .modern()
        .tool("echo", Behaviour::Answer)
        .stdio();
    let connection = connected(&server).await;
    let meta = object(
        r#"{"traceparent":"00-1-2-01","dev.mcpx/run":7,"io.modelcontextprotocol/protocolVersion":"1999-01-01"}"#,
    );
    connection
        .call_tool("echo", object("{}"), &CallOptions { meta, ..options() })
        .await
        .unwrap();
    let received = server.received();
    let sent = &received.of_method("tools/call")[0].message["params"]["_meta"];
    assert_eq!(sent["traceparent"], "00-1-2-01");
    assert_eq!(sent["dev.mcpx/run"], 7);
    assert_eq!(
        sent["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    assert_eq!(sent["io.modelcontextprotocol/clientInfo"]["name"], "test");
}

#[tokio::test]
async fn a_task_is_seen_through_in_both_eras() {
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let tool = json!({ "name": "job", "inputSchema": { "type": "object" }, "execution": { "taskSupport": "required" } });
        let script = [
            Behaviour::Task(Duration::from_millis(100)),
            Behaviour::Delay(Duration::from_millis(300)),
            Behaviour::Result(json!({ "content": [{ "type": "text", "text": "done" }] })),
        ];
        let server = chaos.tool_with(tool, script).stdio();
        let connection = connected(&server).await;
        let result = connection
            .call_tool("job", object("{}"), &options())
            .await
            .unwrap();
        assert_eq!(result.joined_text(), "done");
        assert!(!server.received().of_method("tasks/get").is_empty());
    }
}
