//! Questions in the middle of a call, in both eras, and who is asked.

use std::time::Duration;

use mcp_client::{CallOptions, Cause, Event, FailureKind, connect};
use mcp_wire::Answer;
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos, Question};

use crate::setup::{Person, connected, object, options, received, spec};

fn eras() -> [Chaos; 2] {
    [Chaos::new().legacy(), Chaos::new().modern()]
}

#[tokio::test]
async fn a_question_reaches_the_person_and_the_answer_goes_to_the_server_alone() {
    for chaos in eras() {
        let script = [
            Behaviour::Ask("sure", Question::confirm("Delete 3 rows?")),
            Behaviour::Answer,
        ];
        let server = chaos.tool("delete", script).stdio();
        let person = Person::accepting(r#"{"ok":true}"#);
        let connection = connect(spec(&server), Some(person.clone())).await.unwrap();
        let labelled = CallOptions {
            label: Some("call 7".to_owned()),
            ..options()
        };
        let result = connection
            .call_tool("delete", object("{}"), &labelled)
            .await
            .unwrap();
        assert!(
            result.joined_text().contains(r#""ok": true"#),
            "{}",
            result.joined_text()
        );
        let asked = person.asked.lock().unwrap();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].call.as_deref(), Some("call 7"));
        assert!(format!("{:?}", asked[0].question).contains("Delete 3 rows?"));
    }
}

#[tokio::test]
async fn without_anybody_to_ask_nothing_is_declared_and_no_question_is_answered() {
    // A legacy server hears that nobody was asked; a modern one may not ask at all, and its call goes on.
    for (chaos, answer) in eras().into_iter().zip(["-32602", "decline"]) {
        let script = [
            Behaviour::Ask("sure", Question::confirm("Sure?")),
            Behaviour::Answer,
        ];
        let server = chaos.tool("delete", script).stdio();
        let connection = connected(&server).await;
        let result = connection
            .call_tool("delete", object("{}"), &options())
            .await
            .unwrap();
        assert!(
            result.joined_text().contains(answer),
            "{}",
            result.joined_text()
        );
        let sent = server.received();
        let declared = sent
            .messages()
            .iter()
            .map(|message| message.to_string())
            .collect::<String>();
        assert!(!declared.contains("\"elicitation\""), "{declared}");
    }
}

#[tokio::test]
async fn the_clock_stands_while_a_question_is_open() {
    for chaos in eras() {
        let script = [
            Behaviour::Ask("sure", Question::confirm("Sure?")),
            Behaviour::Answer,
        ];
        let server = chaos.tool("delete", script).stdio();
        let person = Person::slow(r#"{"ok":true}"#, Duration::from_secs(3));
        let connection = connect(spec(&server), Some(person)).await.unwrap();
        let second = Some(Duration::from_secs(1));
        let hasty = CallOptions {
            idle: second,
            max: Some(Duration::from_secs(2)),
            ..options()
        };
        connection
            .call_tool("delete", object("{}"), &hasty)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn decline_and_cancel_are_told_apart() {
    for (answer, word) in [(Answer::Decline, "decline"), (Answer::Cancel, "cancel")] {
        for chaos in eras() {
            let script = [
                Behaviour::Ask("sure", Question::confirm("Sure?")),
                Behaviour::Answer,
            ];
            let server = chaos.tool("delete", script).stdio();
            let connection = connect(spec(&server), Some(Person::who(answer.clone())))
                .await
                .unwrap();
            let result = connection
                .call_tool("delete", object("{}"), &options())
                .await
                .unwrap();
            assert!(
                result.joined_text().contains(word),
                "{word}: {}",
                result.joined_text()
            );
        }
    }
}

#[tokio::test]
async fn two_rounds_a_round_of_state_alone_and_several_questions_at_once() {
    let two = [
        Behaviour::Ask("a", Question::confirm("First?")),
        Behaviour::StateOnly,
        Behaviour::AskAll(vec![
            ("b", Question::confirm("Second?")),
            ("c", Question::url("Sign in", "https://example.com/", None)),
        ]),
        Behaviour::AskWithoutState("d", Question::confirm("Third?")),
        Behaviour::Answer,
    ];
    for chaos in eras() {
        let server = chaos.tool("rounds", two.to_vec()).stdio();
        let person = Person::accepting(r#"{"ok":true}"#);
        let connection = connect(spec(&server), Some(person.clone())).await.unwrap();
        connection
            .call_tool("rounds", object("{}"), &options())
            .await
            .unwrap();
        assert_eq!(person.questions(), 4);
    }
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_stopped() {
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let many: Vec<Behaviour> = keys
        .map(|key| Behaviour::Ask(key, Question::confirm("Again?")))
        .into();
    let server = Chaos::new()
        .modern()
        .tool("ask", many)
        .tool("state", vec![Behaviour::StateOnly; 20])
        .stdio();
    let person = Person::accepting(r#"{"ok":true}"#);
    let connection = connect(spec(&server), Some(person)).await.unwrap();
    for (tool, words) in [
        ("ask", "more than 10 times"),
        ("state", "nothing but a state"),
    ] {
        let failure = connection
            .call_tool(tool, object("{}"), &options())
            .await
            .unwrap_err();
        assert!(
            matches!(
                failure.kind,
                FailureKind::NoAnswer {
                    cause: Cause::Rounds,
                    ..
                }
            ),
            "{failure:?}"
        );
        assert!(failure.to_string().contains(words), "{failure}");
    }
}

#[tokio::test]
async fn what_nobody_declared_cannot_be_asked_for() {
    for chaos in eras() {
        let script = [
            Behaviour::Ask("s", Question::sampling("Write a poem")),
            Behaviour::Answer,
        ];
        let server = chaos.tool("sample", script).stdio();
        let connection = connect(spec(&server), Some(Person::accepting("{}")))
            .await
            .unwrap();
        match connection
            .call_tool("sample", object("{}"), &options())
            .await
        {
            // Legacy: the server was told that there is no such method, and goes on.
            Ok(result) => assert!(
                result.joined_text().contains("-32601"),
                "{}",
                result.joined_text()
            ),
            Err(failure) => assert!(failure.to_string().contains("cannot answer"), "{failure}"),
        }
    }
}

#[tokio::test]
async fn a_question_that_cannot_be_attributed_is_refused_among_several_callers_and_asked_for_one() {
    for (single, asked) in [(false, 0), (true, 1)] {
        let script = [
            Behaviour::Ask("sure", Question::confirm("Sure?")),
            Behaviour::Answer,
        ];
        let server = Chaos::new()
            .legacy()
            .tool("ask", script)
            .tool(
                "slow",
                [Behaviour::Delay(Duration::from_secs(2)), Behaviour::Answer],
            )
            .stdio();
        let mut spec = spec(&server);
        spec.single_caller = single;
        let person = Person::accepting(r#"{"ok":true}"#);
        let connection = connect(spec, Some(person.clone())).await.unwrap();
        let mut events = connection.events();
        let (alone, given) = (options(), options());
        let slow = connection.call_tool("slow", object("{}"), &alone);
        let ask = async {
            received(&server, "the slow call", |received| {
                !received.of_method("tools/call").is_empty()
            })
            .await;
            connection.call_tool("ask", object("{}"), &given).await
        };
        let (slow, _) = tokio::join!(slow, ask);
        slow.unwrap();
        assert_eq!(person.questions(), asked, "single caller: {single}");
        let mut refused = Vec::new();
        while let Ok(event) = events.try_recv() {
            if let Event::Unattributed { method } = event {
                refused.push(method);
            }
        }
        let told: &[&str] = if single { &[] } else { &["elicitation/create"] };
        assert_eq!(refused, told);
    }
}

#[tokio::test]
async fn a_url_that_has_to_be_visited_first_is_offered_and_the_call_made_again() {
    let visit = json!({ "elicitations": [{ "mode": "url", "elicitationId": "e1", "url": "https://example.com/", "message": "Sign in" }] });
    let server = Chaos::new()
        .legacy()
        .tool("private", Behaviour::Answer)
        .on_nth(
            "tools/call",
            1,
            [
                Behaviour::Announce(
                    "notifications/elicitation/complete",
                    json!({ "elicitationId": "e0" }),
                ),
                Behaviour::ErrorWith(-32042, "visit first", visit),
            ],
        )
        .stdio();
    let person = Person::who(Answer::Decline);
    let connection = connect(spec(&server), Some(person.clone())).await.unwrap();
    let failure = connection
        .call_tool("private", object("{}"), &options())
        .await
        .unwrap_err();
    assert_eq!(failure.answered().unwrap().code, -32042);
    assert_eq!(person.questions(), 1);
}

#[tokio::test]
async fn a_list_that_is_read_meanwhile_does_not_cost_a_call_its_question() {
    let server = Chaos::new()
        .legacy()
        .tool(
            "ask",
            [
                Behaviour::Delay(Duration::from_millis(300)),
                Behaviour::Ask("sure", Question::confirm("Sure?")),
                Behaviour::Answer,
            ],
        )
        .on(
            "tools/list",
            [Behaviour::Delay(Duration::from_secs(1)), Behaviour::Answer],
        )
        .stdio();
    let person = Person::accepting(r#"{"ok":true}"#);
    let connection = connect(spec(&server), Some(person.clone())).await.unwrap();
    let (asking, listing) = (options(), options());
    let ask = connection.call_tool("ask", object("{}"), &asking);
    let (asked, listed) = tokio::join!(ask, connection.tools(&listing));
    let text = asked.unwrap().joined_text();
    assert!(text.contains(r#""ok": true"#), "{text}");
    listed.unwrap();
}
