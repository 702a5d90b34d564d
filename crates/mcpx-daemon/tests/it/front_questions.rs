//! Questions of servers of both eras to clients of both eras: one table, so that no cell is forgotten.

mod abilities;
mod states;
mod task_of_server;

use std::time::Duration;

use mcp_client::{Abilities, CallOptions, Connection};
use mcp_wire::{Answer, Era, Question as Wire, Raw};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, Question};

use crate::front_setup::{Daemon, ERAS, Person, object, stdio};

struct Cell {
    tool: &'static str,
    script: Vec<Behaviour>,
    answers: Vec<Answer>,
    /// What is found in what the server got.
    expected: &'static [&'static str],
    questions: usize,
}

fn yes() -> Answer {
    Answer::Accept(Some(Raw::parse(r#"{"ok":true}"#).unwrap()))
}

fn no() -> Answer {
    Answer::Accept(Some(Raw::parse(r#"{"ok":false}"#).unwrap()))
}

fn one(
    tool: &'static str,
    question: Question,
    answer: Answer,
    expected: &'static [&'static str],
) -> Cell {
    Cell {
        tool,
        script: vec![Behaviour::Ask("q", question), Behaviour::Answer],
        answers: vec![answer],
        expected,
        questions: 1,
    }
}

fn cells() -> Vec<Cell> {
    let form = || Question::confirm("Sure?");
    let url = || Question::url("Sign in", "https://example.com/in", Some("e1"));
    let sampled =
        json!({"role": "assistant", "content": {"type": "text", "text": "a poem"}, "model": "m"});
    let roots = json!({"roots": [{"uri": "file:///work", "name": "work"}]});
    vec![
        one("form", form(), yes(), &[r#""ok": true"#, "accept"]),
        one("declined", form(), Answer::Decline, &["decline"]),
        one("cancelled", form(), Answer::Cancel, &["cancel"]),
        one("url", url(), Answer::Accept(None), &["accept"]),
        one("url_declined", url(), Answer::Decline, &["decline"]),
        one(
            "sampling",
            Question::sampling("Write"),
            Answer::Sampled(Raw::of(&sampled)),
            &["a poem"],
        ),
        one(
            "roots",
            Question::roots(),
            Answer::Roots(Raw::of(&roots)),
            &["file:///work"],
        ),
        Cell {
            tool: "state_only",
            script: vec![Behaviour::StateOnly, Behaviour::Answer],
            answers: vec![yes()],
            expected: &["state_only"],
            questions: 0,
        },
        Cell {
            tool: "two_rounds",
            script: vec![
                Behaviour::Ask("a", Question::confirm("First?")),
                Behaviour::Ask("b", Question::confirm("Second?")),
                Behaviour::Answer,
            ],
            answers: vec![yes(), no()],
            expected: &[r#""ok": true"#, r#""ok": false"#],
            questions: 2,
        },
        Cell {
            tool: "together",
            script: vec![
                Behaviour::AskAll(vec![
                    ("a", Question::confirm("A?")),
                    ("b", Question::roots()),
                ]),
                Behaviour::Answer,
            ],
            answers: vec![yes(), Answer::Roots(Raw::of(&roots))],
            expected: &["file:///work"],
            questions: 2,
        },
    ]
}

fn with_cells(chaos: Chaos) -> Chaos {
    cells()
        .into_iter()
        .fold(chaos, |chaos, cell| chaos.tool(cell.tool, cell.script))
}

/// Without tasks: a modern client then answers by another request.
async fn call(client: &Connection, tool: &str, arguments: &Value) -> mcp_wire::CallResult {
    let options = CallOptions {
        without_tasks: true,
        ..CallOptions::default()
    };
    client
        .call_tool(tool, object(arguments), &options)
        .await
        .unwrap_or_else(|failure| panic!("{tool} {arguments}: {failure}"))
}

fn message(question: &Wire) -> Option<&str> {
    match question {
        Wire::Form { message, .. } | Wire::Url { message, .. } => Some(message),
        _ => None,
    }
}

#[tokio::test]
async fn each_question_reaches_the_client_and_each_answer_the_server_in_all_four_cells() {
    let legacy = with_cells(Chaos::new().legacy()).stdio();
    let modern = with_cells(Chaos::new().modern()).stdio();
    let daemon = Daemon::of(json!({"old": stdio(&legacy), "new": stdio(&modern)})).await;
    for era in ERAS {
        for server in ["old", "new"] {
            for cell in cells() {
                let name = format!("{era:?} client, {server} server, {}", cell.tool);
                let person = Person::who(cell.answers);
                // As a tool of the hub.
                let client = daemon.client("", era, Some(person.clone())).await;
                let arguments = json!({"server": server, "tool": cell.tool, "args": {"x": 1}});
                let result = call(&client, "mcpx_call", &arguments).await;
                check(&name, &result, cell.expected);
                {
                    let asked = person.asked.lock().unwrap();
                    assert_eq!(asked.len(), cell.questions, "{name}");
                    for message in asked.iter().filter_map(|asked| message(&asked.question)) {
                        assert!(
                            message.starts_with(&format!("{server}: ")),
                            "{name}: {message}"
                        );
                    }
                }
                // Passed through, with its own words.
                person.asked.lock().unwrap().clear();
                let query = format!("?passthrough={server}&tools=none");
                let client = daemon.client(&query, era, Some(person.clone())).await;
                let result = call(&client, cell.tool, &json!({"x": 1})).await;
                check(&name, &result, cell.expected);
                let asked = person.asked.lock().unwrap();
                assert_eq!(asked.len(), cell.questions, "{name}");
                for message in asked.iter().filter_map(|asked| message(&asked.question)) {
                    assert!(!message.starts_with(server), "{name}: {message}");
                }
            }
        }
    }
    // Each call was made once, whatever was asked in it: the rounds of a modern server are its own.
    let calls = legacy.received().of_method("tools/call").len();
    assert_eq!(calls, cells().len() * 4);
}

fn check(name: &str, result: &mcp_wire::CallResult, expected: &[&str]) {
    let text = result.joined_text();
    assert!(!result.is_error, "{name}: {text}");
    for expected in expected {
        assert!(text.contains(expected), "{name}: {text}");
    }
}

#[tokio::test]
async fn a_server_hears_of_no_ability_that_the_client_of_the_call_does_not_have() {
    let chaos = Chaos::new()
        .modern()
        .tool("plain", Behaviour::Answer)
        .stdio();
    let daemon = Daemon::of(json!({"new": stdio(&chaos)})).await;
    let forms = Abilities {
        forms: true,
        ..Abilities::default()
    };
    for (era, abilities) in [
        (Era::Modern, Abilities::default()),
        (Era::Modern, forms),
        (Era::Legacy, forms),
    ] {
        let person = Person::able(abilities, vec![Answer::Cancel]);
        let client = daemon.client("", era, Some(person)).await;
        call(&client, "mcpx_call", &json!({"tool": "new.plain"})).await;
        let received = chaos.received();
        let calls = received.of_method("tools/call");
        let declared = &calls.last().unwrap().message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        let expected = if abilities.forms {
            json!({"form": {}})
        } else {
            Value::Null
        };
        assert_eq!(declared["elicitation"], expected, "{era:?}: {declared}");
        assert!(declared.get("sampling").is_none() && declared.get("roots").is_none());
    }
}

#[tokio::test]
async fn a_client_that_takes_tasks_is_asked_in_one() {
    let script = [
        Behaviour::Ask("q", Question::confirm("Sure?")),
        Behaviour::Answer,
    ];
    let legacy = Chaos::new().legacy().tool("ask", script.clone()).stdio();
    let modern = Chaos::new().modern().tool("ask", script).stdio();
    let daemon = Daemon::of(json!({"old": stdio(&legacy), "new": stdio(&modern)})).await;
    for server in ["old", "new"] {
        let person = Person::who(vec![yes()]);
        let client = daemon.client("", Era::Modern, Some(person.clone())).await;
        let params = json!({"name": "mcpx_call", "arguments": {"server": server, "tool": "ask"}});
        let outcome = client
            .request("tools/call", object(&params), &CallOptions::default())
            .await
            .unwrap();
        let result = match (server, outcome) {
            ("old", mcp_wire::Outcome::Task(task)) => client
                .see_task_through(task, &CallOptions::default())
                .await
                .unwrap(),
            // A modern server keeps nothing open for its question, so no task is needed either.
            ("new", mcp_wire::Outcome::Complete(result)) => {
                mcp_wire::CallResult::parse(result).unwrap()
            }
            (_, other) => panic!("{server}: {other:?}"),
        };
        check(server, &result, &[r#""ok": true"#]);
        assert_eq!(person.asked.lock().unwrap().len(), 1, "{server}");
    }
}

#[tokio::test]
async fn a_task_of_a_server_is_a_task_of_the_client_with_its_questions() {
    let script = [
        Behaviour::Task(Duration::from_millis(50)),
        Behaviour::Ask("q", Question::confirm("Sure?")),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new().modern().tool("job", script).stdio();
    let daemon = Daemon::of(json!({"new": stdio(&chaos)})).await;
    for without_tasks in [false, true] {
        let person = Person::who(vec![yes()]);
        let client = daemon
            .client(
                "?passthrough=new&tools=none",
                Era::Modern,
                Some(person.clone()),
            )
            .await;
        let options = CallOptions {
            without_tasks,
            ..CallOptions::default()
        };
        let params = object(&json!({"name": "job", "arguments": {}}));
        let outcome = client.request("tools/call", params, &options).await;
        let result = match outcome.unwrap() {
            mcp_wire::Outcome::Task(task) if !without_tasks => {
                client.see_task_through(task, &options).await.unwrap()
            }
            mcp_wire::Outcome::Complete(result) if without_tasks => {
                mcp_wire::CallResult::parse(result).unwrap()
            }
            other => panic!("without tasks: {without_tasks}: {other:?}"),
        };
        check("job", &result, &[r#""ok": true"#]);
    }
}

/// Waits until a server received so many messages of a method.
async fn until_received(chaos: &testkit::mcp::StdioChaos, method: &str, count: usize) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(15);
    while chaos.received().of_method(method).len() < count {
        assert!(
            tokio::time::Instant::now() < deadline,
            "waited for {count} {method}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_page_that_has_to_be_visited_first_is_a_question_and_the_call_is_made_again() {
    let elicitation = json!({"mode": "url", "elicitationId": "e9", "url": "https://example.com/in", "message": "Sign in"});
    let refusal = Behaviour::ErrorWith(
        -32042,
        "sign in first",
        json!({"elicitations": [elicitation]}),
    );
    for (answer, calls) in [(Answer::Accept(None), 2), (Answer::Decline, 1)] {
        let chaos = Chaos::new()
            .legacy()
            .tool("private", Behaviour::Answer)
            .on_nth("tools/call", 1, refusal.clone())
            .stdio();
        let daemon = Daemon::of(json!({"old": stdio(&chaos)})).await;
        let person = Person::who(vec![answer]);
        let client = daemon.client("", Era::Modern, Some(person.clone())).await;
        let options = CallOptions {
            without_tasks: true,
            ..CallOptions::default()
        };
        let arguments = object(&json!({"tool": "old.private"}));
        let called = client.call_tool("mcpx_call", arguments, &options).await;
        assert_eq!(called.is_ok(), calls == 2, "{called:?}");
        assert_eq!(person.asked.lock().unwrap().len(), 1);
        assert_eq!(chaos.received().of_method("tools/call").len(), calls);
    }
}
