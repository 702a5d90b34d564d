//! A legacy server that asks about its task while no request of that call is open.

use std::time::Duration;

use mcp_client::{CallOptions, Connection};
use mcp_wire::{Answer, Era};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos, StdioChaos};

use super::yes;
use crate::front_setup::{Daemon, Person, object, stdio};

/// A server whose tool is only ever a task, looked at so seldom that it asks in between.
fn chaos() -> StdioChaos {
    let job = json!({"name": "job", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}});
    let question = json!({
        "message": "Go on?",
        "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}},
        "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "task-1"}},
    });
    let script = [
        Behaviour::Task(Duration::from_millis(600)),
        Behaviour::Delay(Duration::from_millis(200)),
        Behaviour::Request("elicitation/create", question),
        Behaviour::Answer,
    ];
    let wait = [Behaviour::Delay(Duration::from_secs(2)), Behaviour::Answer];
    Chaos::new()
        .legacy()
        .tool_with(job, script)
        .tool("wait", wait)
        .stdio()
}

async fn job(client: &Connection, without_tasks: bool) -> String {
    let options = CallOptions {
        without_tasks,
        ..CallOptions::default()
    };
    let called = client.call_tool("mcpx_call", object(&json!({"tool": "s.job"})), &options);
    let called = tokio::time::timeout(Duration::from_secs(20), called).await;
    called
        .expect("it hangs")
        .map_or_else(|failure| failure.to_string(), |result| result.joined_text())
}

#[tokio::test]
async fn its_question_reaches_the_client_of_the_task_and_no_other_that_shares_the_instance() {
    for (era, without_tasks) in [
        (Era::Legacy, true),
        (Era::Modern, true),
        (Era::Modern, false),
    ] {
        let chaos = chaos();
        let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
        let (person, stranger) = (Person::who(vec![yes()]), Person::who(vec![yes()]));
        let client = daemon.client("", era, Some(person.clone())).await;
        let other = daemon.client("", Era::Legacy, Some(stranger.clone())).await;
        let waits = async {
            super::until_received(&chaos, "tools/call", 1).await;
            let wait = object(&json!({"tool": "s.wait"}));
            other
                .call_tool("mcpx_call", wait, &CallOptions::default())
                .await
                .unwrap();
        };
        let (text, ()) = tokio::join!(job(&client, without_tasks), waits);
        assert!(text.contains(r#""ok": true"#), "{era:?}: {text}");
        let asked = [&person, &stranger].map(|person| person.asked.lock().unwrap().len());
        assert_eq!(asked, [1, 0], "{era:?}, without tasks: {without_tasks}");
    }
}

#[tokio::test]
async fn a_client_of_the_task_that_cannot_be_asked_costs_no_wait() {
    let chaos = chaos();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let client = daemon.client("", Era::Legacy, None).await;
    let text = job(&client, true).await;
    assert!(text.contains("nobody was asked"), "{text}");
    // Somebody who dismisses it is another matter.
    let person = Person::who(vec![Answer::Cancel]);
    let client = daemon.client("", Era::Legacy, Some(person)).await;
    let text = job(&client, true).await;
    assert!(text.contains("job"), "{text}");
}
