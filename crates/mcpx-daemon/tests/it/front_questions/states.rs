//! What a modern client sends back with its answer: good for one round, and told when it is lost.

use std::time::Duration;

use mcp_client::{CallOptions, Connection};
use mcp_wire::{Era, Object, Raw};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos, Question};

use super::{check, until_received, yes};
use crate::front_setup::{Daemon, Person, object, stdio};

/// A modern request by hand: what the client of this project would do by itself is not done.
async fn round(
    client: &Connection,
    more: Object,
) -> Result<mcp_wire::Outcome, mcp_client::Failure> {
    let mut params = object(&json!({"name": "mcpx_call", "arguments": {"tool": "old.ask"}}));
    params.append(more);
    let options = CallOptions {
        hand_back: true,
        without_tasks: true,
        ..CallOptions::default()
    };
    client.request("tools/call", params, &options).await
}

#[tokio::test]
async fn a_state_is_good_for_one_answer_and_says_so_afterwards() {
    let script = [
        Behaviour::Ask("q", Question::confirm("Sure?")),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new().legacy().tool("ask", script).stdio();
    let daemon = Daemon::of(json!({"old": stdio(&chaos)})).await;
    let client = daemon
        .client("", Era::Modern, Some(Person::who(vec![yes()])))
        .await;
    let mcp_wire::Outcome::InputRequired(asked) = round(&client, Object::new()).await.unwrap()
    else {
        panic!("no question");
    };
    let key = asked.questions[0].0.clone();
    let state = asked.state.clone().unwrap();
    let answers = json!({"inputResponses": {key: {"action": "accept", "content": {"ok": true}}}});
    // An answer to something else leaves the question open.
    let nothing = Object::new()
        .with("requestState", state)
        .with("inputResponses", Object::new());
    let mcp_wire::Outcome::InputRequired(again) = round(&client, nothing).await.unwrap() else {
        panic!("no question");
    };
    assert_eq!(again.questions[0].0, asked.questions[0].0);
    let mut second = object(&answers);
    second.set("requestState", again.state.clone().unwrap());
    let done = round(&client, second.clone()).await.unwrap();
    assert!(matches!(done, mcp_wire::Outcome::Complete(_)));
    let failure = round(&client, second).await.unwrap_err();
    let error = failure.answered().unwrap();
    assert!(
        error.message.contains("state lost, outcome unknown"),
        "{error}"
    );
    // The server was called once.
    assert_eq!(chaos.received().of_method("tools/call").len(), 1);
}

#[tokio::test]
async fn a_call_whose_client_does_not_come_back_is_cancelled_after_its_time_and_not_before() {
    let script = [
        Behaviour::Ask("q", Question::confirm("Sure?")),
        Behaviour::UntilCancelled(Duration::from_secs(20)),
    ];
    let chaos = Chaos::new().legacy().tool("ask", script).stdio();
    let servers = json!({"old": stdio(&chaos)});
    let daemon = Daemon::with(servers, &[("proto.askTTL", "1s")]).await;
    let began = tokio::time::Instant::now();
    let client = daemon
        .client("", Era::Modern, Some(Person::who(vec![yes()])))
        .await;
    let asked = round(&client, Object::new()).await.unwrap();
    let mcp_wire::Outcome::InputRequired(asked) = asked else {
        panic!("no question");
    };
    // Going away after the question is no cancel.
    drop(client);
    until_received(&chaos, "notifications/cancelled", 1).await;
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    let client = daemon
        .client("", Era::Modern, Some(Person::who(vec![yes()])))
        .await;
    let late = Object::new().with("requestState", asked.state.unwrap());
    let failure = round(&client, late).await.unwrap_err();
    let error = failure.answered().unwrap();
    assert!(error.message.contains("outcome unknown"), "{error}");
}

#[tokio::test]
async fn after_a_restart_a_held_call_is_said_to_be_lost_and_a_handed_one_goes_on() {
    let script = [
        Behaviour::Ask("q", Question::confirm("Sure?")),
        Behaviour::Answer,
    ];
    let legacy = Chaos::new().legacy().tool("ask", script.clone()).stdio();
    let modern = Chaos::new().modern().tool("ask", script).http();
    let servers = json!({"old": stdio(&legacy), "new": crate::front_setup::http(&modern)});
    let mut daemon = Daemon::of(servers.clone()).await;
    for server in ["old", "new"] {
        let person = || Some(Person::who(vec![yes()]));
        let options = CallOptions {
            hand_back: true,
            without_tasks: true,
            ..CallOptions::default()
        };
        let call = json!({"name": "mcpx_call", "arguments": {"server": server, "tool": "ask"}});
        let client = daemon.client("", Era::Modern, person()).await;
        let asked = client
            .request("tools/call", object(&call), &options)
            .await
            .unwrap();
        let mcp_wire::Outcome::InputRequired(asked) = asked else {
            panic!("no question");
        };
        let mut second = object(&call);
        let answer = json!({"action": "accept", "content": {"ok": true}});
        let answers = Object::new().with(&asked.questions[0].0, Raw::of(&answer));
        second.set("inputResponses", answers);
        second.set("requestState", asked.state.unwrap());
        daemon = daemon.again(servers.clone()).await;
        let client = daemon.client("", Era::Modern, person()).await;
        let answered = client.request("tools/call", second, &options).await;
        match (server, answered) {
            ("old", Err(failure)) => {
                let error = failure.answered().unwrap();
                assert!(
                    error.message.contains("state lost, outcome unknown"),
                    "{error}"
                );
            }
            ("new", Ok(mcp_wire::Outcome::Complete(result))) => {
                let result = mcp_wire::CallResult::parse(result).unwrap();
                check("new", &result, &[r#""ok": true"#]);
            }
            (_, other) => panic!("{server}: {other:?}"),
        }
    }
}
