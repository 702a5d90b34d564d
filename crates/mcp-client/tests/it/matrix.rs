//! Every kind of question in either era, with every way to answer it: one table, so that no cell is forgotten.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::{Abilities, Ask, connect};
use mcp_wire::{Answer, Object, Raw};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos, Question};

use crate::setup::{Person, object, options, spec};

/// A kind of question, how it is answered, and what the server got.
struct Cell {
    name: &'static str,
    question: Question,
    answer: Answer,
    expected: &'static str,
}

fn cells() -> Vec<Cell> {
    let form = || Question::confirm("Sure?");
    let url = || Question::url("Sign in", "https://example.com/in", None);
    let yes = || Answer::Accept(Some(Raw::parse(r#"{"ok":true}"#).unwrap()));
    let sampled = json!({ "role": "assistant", "content": { "type": "text", "text": "a poem" }, "model": "m" });
    let roots = json!({ "roots": [{ "uri": "file:///work", "name": "work" }] });
    let cell = |name, question, answer, expected| Cell {
        name,
        question,
        answer,
        expected,
    };
    vec![
        cell("form, accepted", form(), yes(), r#""ok": true"#),
        cell("form, declined", form(), Answer::Decline, "decline"),
        cell("form, cancelled", form(), Answer::Cancel, "cancel"),
        cell("url, accepted", url(), Answer::Accept(None), "accept"),
        cell("url, declined", url(), Answer::Decline, "decline"),
        cell(
            "sampling",
            Question::sampling("Write"),
            Answer::Sampled(Raw::of(&sampled)),
            "a poem",
        ),
        cell(
            "roots",
            Question::roots(),
            Answer::Roots(Raw::of(&roots)),
            "file:///work",
        ),
    ]
}

fn everything(answer: Answer) -> Arc<Person> {
    let person = Person::who(answer);
    let abilities = Abilities {
        forms: true,
        urls: true,
        sampling: true,
        roots: true,
    };
    Arc::new(Person {
        abilities,
        answer: person.answer.clone(),
        after: Duration::ZERO,
        asked: Default::default(),
    })
}

async fn answered(chaos: Chaos, script: Vec<Behaviour>, person: Arc<dyn Ask>) -> String {
    let server = chaos.tool("ask", script).stdio();
    let connection = connect(spec(&server), Some(person)).await.unwrap();
    connection
        .call_tool("ask", Object::new(), &options())
        .await
        .unwrap()
        .joined_text()
}

#[tokio::test]
async fn each_kind_of_question_is_answered_in_each_way_in_either_era() {
    for (era, chaos) in [
        ("legacy", Chaos::new().legacy()),
        ("modern", Chaos::new().modern()),
    ] {
        for Cell {
            name,
            question,
            answer,
            expected,
        } in cells()
        {
            let script = vec![Behaviour::Ask("q", question), Behaviour::Answer];
            let text = answered(chaos.clone(), script, everything(answer)).await;
            assert!(text.contains(expected), "{era}, {name}: {text}");
        }
    }
}

#[tokio::test]
async fn what_is_not_answered_is_left_out_and_the_rest_is_sent() {
    let script = vec![
        Behaviour::AskAll(vec![
            ("form", Question::confirm("Sure?")),
            ("sample", Question::sampling("Write")),
        ]),
        Behaviour::Answer,
    ];
    let server = Chaos::new().modern().tool("ask", script).stdio();
    let person = Person::accepting(r#"{"ok":true}"#);
    let connection = connect(spec(&server), Some(person.clone())).await.unwrap();
    // The server asks again for what is missing, until we say that this leads nowhere.
    let _either = connection.call_tool("ask", object("{}"), &options()).await;
    let received = server.received();
    let calls = received.of_method("tools/call");
    let sent = &calls[1].message["params"]["inputResponses"];
    assert_eq!(
        sent["form"],
        json!({ "action": "accept", "content": { "ok": true } })
    );
    assert!(sent.get("sample").is_none(), "{sent}");
}

#[tokio::test]
async fn a_person_who_does_not_answer_in_time_counts_as_cancelled() {
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let script = [
            Behaviour::Ask("q", Question::confirm("Sure?")),
            Behaviour::Answer,
        ];
        let server = chaos.tool("ask", script).stdio();
        let mut spec = spec(&server);
        spec.timeouts.question = Duration::from_millis(500);
        let person = Person::slow(r#"{"ok":true}"#, Duration::from_secs(60));
        let connection = connect(spec, Some(person)).await.unwrap();
        let text = connection
            .call_tool("ask", object("{}"), &options())
            .await
            .unwrap()
            .joined_text();
        assert!(text.contains("cancel"), "{text}");
    }
}

#[tokio::test]
async fn a_state_goes_back_exactly_as_it_came_and_none_when_there_was_none() {
    let script = [
        Behaviour::Ask("a", Question::confirm("First?")),
        Behaviour::AskWithoutState("b", Question::confirm("Second?")),
        Behaviour::Answer,
    ];
    let server = Chaos::new().modern().tool("ask", script).stdio();
    let connection = connect(spec(&server), Some(Person::accepting(r#"{"ok":true}"#)))
        .await
        .unwrap();
    connection
        .call_tool("ask", object(r#"{"x":1}"#), &options())
        .await
        .unwrap();
    let received = server.received();
    let calls = received.of_method("tools/call");
    assert!(calls[1].message["params"]["requestState"].is_string());
    assert!(calls[2].message["params"].get("requestState").is_none());
    let ids: std::collections::HashSet<String> = calls
        .iter()
        .map(|call| call.message["id"].to_string())
        .collect();
    assert_eq!(ids.len(), calls.len(), "each round has an id of its own");
    assert!(
        calls
            .iter()
            .all(|call| call.message["params"]["arguments"] == json!({ "x": 1 }))
    );
}
