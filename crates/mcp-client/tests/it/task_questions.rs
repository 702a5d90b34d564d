//! What a server of 2025-11-25 asks about a task, when no request of the task's call is open.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::{Ask, CallOptions, Event, connect};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos};
use tokio_util::sync::CancellationToken;

use crate::setup::{Person, object, options, received, spec};

/// A question about the first task that the server makes.
fn question() -> Behaviour {
    Behaviour::Request(
        "elicitation/create",
        json!({
            "message": "Go on?",
            "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}},
            "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "task-1"}},
        }),
    )
}

/// A server with a tool that is only ever a task, and one that keeps a call open.
fn chaos(steps: impl IntoIterator<Item = Behaviour>) -> Chaos {
    let job = json!({"name": "job", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}});
    let begin = Behaviour::Task(Duration::from_millis(600));
    let script: Vec<_> = std::iter::once(begin).chain(steps).collect();
    let wait = [Behaviour::Delay(Duration::from_secs(2)), Behaviour::Answer];
    Chaos::new()
        .legacy()
        .tool_with(job, script)
        .tool("wait", wait)
}

fn asked_by(person: &Arc<Person>) -> CallOptions {
    CallOptions {
        ask: Some(person.clone() as Arc<dyn Ask>),
        ..options()
    }
}

#[tokio::test]
async fn a_question_about_a_task_is_put_by_the_call_that_waits_for_it_whatever_else_is_open() {
    for single_caller in [false, true] {
        let pause = Behaviour::Delay(Duration::from_millis(200));
        let server = chaos([pause, question(), Behaviour::Answer]).stdio();
        let (mine, other) = (Person::accepting(r#"{"ok":true}"#), Person::accepting("{}"));
        let mut spec = spec(&server);
        spec.single_caller = single_caller;
        // Declares it; no call asks it.
        let connection = connect(spec, Some(other.clone())).await.unwrap();
        let (job, wait) = (asked_by(&mine), asked_by(&other));
        let job = connection.call_tool("job", object("{}"), &job);
        let wait = async {
            received(&server, "the task", |received| {
                !received.of_method("tools/call").is_empty()
            })
            .await;
            connection.call_tool("wait", object("{}"), &wait).await
        };
        let (job, wait) = tokio::join!(job, wait);
        let text = job.unwrap().joined_text();
        assert!(text.contains(r#""ok": true"#), "{single_caller}: {text}");
        wait.unwrap();
        assert_eq!((mine.questions(), other.questions()), (1, 0));
    }
}

#[tokio::test]
async fn a_question_about_a_task_that_nobody_waits_for_any_more_is_put_to_nobody() {
    let patience = Behaviour::UntilCancelled(Duration::from_secs(10));
    let server = chaos([patience, question()]).stdio();
    let (mine, other) = (Person::accepting("{}"), Person::accepting("{}"));
    let connection = connect(spec(&server), Some(other.clone())).await.unwrap();
    let mut events = connection.events();
    let cancelled = CancellationToken::new();
    let job = CallOptions {
        cancelled: cancelled.clone(),
        ..asked_by(&mine)
    };
    let job = connection.call_tool("job", object("{}"), &job);
    let give_up = async {
        received(&server, "a look at the task", |received| {
            !received.of_method("tasks/get").is_empty()
        })
        .await;
        cancelled.cancel();
    };
    let (job, ()) = tokio::join!(job, give_up);
    job.unwrap_err();
    let wait = asked_by(&other);
    connection
        .call_tool("wait", object("{}"), &wait)
        .await
        .unwrap();
    assert_eq!((mine.questions(), other.questions()), (0, 0));
    let mut refused = 0;
    while let Ok(event) = events.try_recv() {
        refused += usize::from(matches!(event, Event::Unattributed { .. }));
    }
    assert_eq!(refused, 1);
}
