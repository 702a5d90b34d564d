//! What is declared to a server, and what becomes of a question that the client of the call cannot answer.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::{Abilities, CallOptions, Connection};
use mcp_wire::{Answer, Era};
use mcpx_api::Caller;
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, Question, StdioChaos};

use crate::front_setup::{Daemon, ERAS, Person, object, stdio};

/// Each kind of question: the tool that asks it, and the code that a legacy server gets when nobody was asked.
fn kinds() -> [(&'static str, Question, i64); 4] {
    [
        ("form", Question::confirm("Sure?"), -32602),
        (
            "url",
            Question::url("In", "https://example.com", Some("e1")),
            -32602,
        ),
        ("sampling", Question::sampling("Write"), -32601),
        ("roots", Question::roots(), -32601),
    ]
}

fn with_kinds(chaos: Chaos) -> Chaos {
    kinds()
        .into_iter()
        .fold(chaos, |chaos, (tool, question, _)| {
            chaos.tool(tool, [Behaviour::Ask("q", question), Behaviour::Answer])
        })
}

/// What a call of `server`'s tool comes to: the text of its result, or of its failure.
async fn outcome(client: &Connection, server: &str, tool: &str) -> String {
    let options = CallOptions {
        without_tasks: true,
        ..CallOptions::default()
    };
    let arguments = object(&json!({"server": server, "tool": tool}));
    let called = client.call_tool("mcpx_call", arguments, &options);
    let called = tokio::time::timeout(Duration::from_secs(15), called).await;
    match called.expect("it hangs") {
        Ok(result) => result.joined_text(),
        Err(failure) => failure.to_string(),
    }
}

fn able() -> Arc<Person> {
    Person::who(vec![Answer::Cancel])
}

#[tokio::test]
async fn a_question_that_the_client_of_the_call_cannot_answer_is_refused_at_once_in_all_four_cells()
{
    let legacy = with_kinds(Chaos::new().legacy()).stdio();
    let modern = with_kinds(Chaos::new().modern()).stdio();
    let daemon = Daemon::of(json!({"old": stdio(&legacy), "new": stdio(&modern)})).await;
    // Before and after there was somebody who can: the shared instance then has it declared.
    for declared in [false, true] {
        if declared {
            let client = daemon.client("", Era::Legacy, Some(able())).await;
            outcome(&client, "old", "form").await;
        }
        for era in ERAS {
            let client = daemon.client("", era, None).await;
            for (tool, _, code) in kinds() {
                let name = format!("{era:?}, {tool}, declared: {declared}");
                let text = outcome(&client, "old", tool).await;
                assert!(
                    text.contains(&format!("\"code\": {code}")),
                    "{name}: {text}"
                );
                assert!(text.contains("nobody was asked"), "{name}: {text}");
                // A modern server may not even ask.
                let text = outcome(&client, "new", tool).await;
                let expected = match (era, code) {
                    (Era::Modern, _) => "-32021",
                    (Era::Legacy, -32602) => "decline",
                    (Era::Legacy, _) => "cannot answer",
                };
                assert!(text.contains(expected), "{name}: {text}");
            }
        }
    }
}

/// What a legacy server was told at the start of its last process.
fn declared(chaos: &StdioChaos) -> Value {
    let received = chaos.received();
    let last = received
        .of_method("initialize")
        .last()
        .unwrap()
        .message
        .clone();
    last["params"]["capabilities"].clone()
}

#[tokio::test]
async fn a_shared_legacy_server_hears_what_clients_of_this_hub_were_seen_to_be_able_to() {
    let chaos = with_kinds(Chaos::new().legacy()).stdio();
    let daemon = Daemon::of(json!({"old": stdio(&chaos)})).await;
    let nobody = daemon.client("", Era::Modern, None).await;
    let types = object(&json!({"ns": ["old"]}));
    nobody
        .call_tool("mcpx_types", types, &CallOptions::default())
        .await
        .unwrap();
    assert_eq!(declared(&chaos), json!({}));
    let forms = Abilities {
        forms: true,
        ..Abilities::default()
    };
    // It has done nothing yet, so it is started anew for who can be asked.
    let some = Person::able(forms, vec![Answer::Cancel]);
    let client = daemon.client("", Era::Modern, Some(some)).await;
    let text = outcome(&client, "old", "form").await;
    assert!(text.contains("cancel"), "{text}");
    assert_eq!(declared(&chaos), json!({"elicitation": {"form": {}}}));
    // From now on it has: whoever can more works with it as it is.
    let client = daemon.client("", Era::Legacy, Some(able())).await;
    outcome(&client, "old", "roots").await;
    assert_eq!(declared(&chaos), json!({"elicitation": {"form": {}}}));
    assert_eq!(chaos.received().processes().len(), 2);
}

#[tokio::test]
async fn an_instance_of_one_session_hears_what_that_session_can() {
    let chaos = with_kinds(Chaos::new().legacy()).stdio();
    let mut entry = stdio(&chaos);
    entry["mcpx"] = json!({"scope": "session"});
    let daemon = Daemon::of(json!({"old": entry})).await;
    let all = daemon.client("", Era::Legacy, Some(able())).await;
    outcome(&all, "old", "form").await;
    let sent = declared(&chaos);
    assert!(
        sent.get("roots").is_some() && sent.get("sampling").is_some(),
        "{sent}"
    );
    let none = daemon.client("", Era::Legacy, None).await;
    outcome(&none, "old", "form").await;
    assert_eq!(declared(&chaos), json!({}));
    // And the command line can be asked nothing.
    let client = mcpx_api::Client::unix(
        &daemon.socket,
        Caller {
            session: Some("cli".to_owned()),
            ..Caller::default()
        },
        Duration::from_secs(15),
    );
    let call = object(&json!({"tool": "old.form"}));
    let answered = client
        .send(mcpx_api::operation(mcpx_api::Op::Call), &call)
        .await
        .unwrap();
    let text = format!("{answered:?}");
    assert!(text.contains("nobody was asked"), "{text}");
    assert_eq!(declared(&chaos), json!({}));
}
