use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mcp_client::call::Progress;
use mcp_client::server::HttpReach;
use mcp_client::{
    Abilities, Ask, Asked, CallOptions, Connection, Event, FailureKind, Reach, ServerSpec, connect,
};
use mcp_wire::{Answer, CallResult, Implementation, Object, Question, Raw};
use serde_json::{Value, json};

use super::*;

/// A client of a demo server that listens on a port of this process.
async fn connected(era: Era, ask: Option<Arc<dyn Ask>>) -> Connection {
    let options = DemoOptions {
        era: Some(era),
        changed: false,
        http: Some(0),
        now: || Timestamp::UNIX_EPOCH,
        announce: |_| {},
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let http = Http::new(server(&options).unwrap(), HttpConfig::default());
    tokio::spawn(mcp_server::http::serve(
        http,
        Listener::Tcp(listener),
        CancellationToken::new(),
    ));
    let reach = HttpReach {
        url: url.parse().unwrap(),
        unix_socket: None,
        headers: Vec::new(),
        authorizer: None,
    };
    let client = Implementation::new("test", "1");
    let mut spec = ServerSpec::new("demo", Reach::Http(reach), client);
    spec.timeouts.start = Duration::from_secs(30);
    let connection = connect(spec, ask).await.unwrap();
    assert_eq!(connection.era(), era);
    connection
}

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

fn options() -> CallOptions {
    CallOptions::default()
}

fn object(value: impl Into<Value>) -> Object {
    Raw::from(value.into()).object().unwrap()
}

async fn called(connection: &Connection, tool: &str, arguments: impl Into<Value>) -> CallResult {
    connection
        .call_tool(tool, object(arguments), &options())
        .await
        .unwrap()
}

/// The code and the message of an error.
async fn refused(
    connection: &Connection,
    tool: &str,
    arguments: impl Into<Value>,
) -> (i64, String) {
    let called = connection
        .call_tool(tool, object(arguments), &options())
        .await;
    match called.unwrap_err().kind {
        FailureKind::Answered(error) => (error.code, error.message),
        other => panic!("{other:?}"),
    }
}

fn structured(result: &CallResult) -> Value {
    result.structured.as_ref().unwrap().value().unwrap()
}

#[tokio::test]
async fn issues_are_found_created_and_closed_in_both_eras() {
    for era in ERAS {
        let demo = connected(era, None).await;
        assert_eq!(
            called(&demo, "echo", json!({"message": "hi"}))
                .await
                .joined_text(),
            "hi"
        );
        let found = called(&demo, "search", json!({"query": "login", "limit": 1})).await;
        assert_eq!(structured(&found)["total"], 2);
        assert_eq!(structured(&found)["issues"][0]["id"], 5);
        assert_eq!(found.joined_text(), structured(&found).to_string());
        let made = called(
            &demo,
            "create_issue",
            json!({"title": "New", "labels": ["bug"]}),
        )
        .await;
        assert_eq!(structured(&made)["id"], 9);
        let closed = called(&demo, "close_issue", json!({"id": 9})).await;
        assert_eq!(structured(&closed)["state"], "closed");
        let none = called(&demo, "close_issue", json!({"id": 99})).await;
        assert!(none.is_error);
        let text = "Invalid params: `lable` is not an argument of `search`";
        assert_eq!(
            refused(&demo, "search", json!({"lable": 1})).await,
            (-32_602, text.to_owned())
        );
        assert_eq!(
            refused(&demo, "nothing", json!({})).await.1,
            "Unknown tool: nothing"
        );
    }
}

#[tokio::test]
async fn the_schemas_change_while_it_runs_and_clients_are_told() {
    for era in ERAS {
        let demo = connected(era, None).await;
        let mut events = demo.events();
        demo.listen_to_lists().await.unwrap();
        assert_eq!(called(&demo, "echo", json!({})).await.joined_text(), "");
        called(&demo, "change_schema", json!({})).await;
        let told = async { while !matches!(events.recv().await, Ok(Event::ToolsChanged)) {} };
        tokio::time::timeout(Duration::from_secs(20), told)
            .await
            .unwrap();
        let missing = |name: &str| (-32_602, format!("Invalid params: `{name}` is required"));
        assert_eq!(refused(&demo, "echo", json!({})).await, missing("message"));
        assert_eq!(
            refused(&demo, "create_issue", json!({"title": "x"})).await,
            missing("repo")
        );
        let tools = demo.tools(&options()).await.unwrap().elements;
        let echo = tools.iter().find(|tool| tool.name == "echo").unwrap();
        assert_eq!(
            echo.input_schema().value().unwrap()["required"],
            json!(["message"])
        );
        called(&demo, "change_schema", json!({"changed": false})).await;
        assert!(
            !called(&demo, "create_issue", json!({"title": "x"}))
                .await
                .is_error
        );
    }
}

/// Answers a form with a name and a colour, and opens every page.
struct Person(Mutex<Vec<String>>);

#[async_trait]
impl Ask for Person {
    fn abilities(&self) -> Abilities {
        Abilities {
            forms: true,
            urls: true,
            ..Abilities::default()
        }
    }

    async fn ask(&self, asked: Asked, _deadline: Duration) -> Answer {
        let (said, answer) = match asked.question {
            Question::Form { message, .. } => {
                let content = Raw::from(json!({"name": "Ada", "colour": "green"}));
                (message, Answer::Accept(Some(content)))
            }
            Question::Url { url, .. } => (url, Answer::Accept(None)),
            other => panic!("{other:?}"),
        };
        self.0.lock().unwrap().push(said);
        answer
    }
}

#[tokio::test]
async fn a_person_is_asked_and_whoever_has_none_gets_an_error() {
    for era in ERAS {
        let person = Arc::new(Person(Mutex::default()));
        let demo = connected(era, Some(Arc::clone(&person) as Arc<dyn Ask>)).await;
        assert_eq!(
            called(&demo, "ask", json!({})).await.joined_text(),
            "Ada likes green."
        );
        assert_eq!(
            called(&demo, "sign_in", json!({})).await.joined_text(),
            "Signed in."
        );
        let asked = person.0.lock().unwrap().clone();
        assert_eq!(
            asked,
            [
                "What is your name, and which colour do you like?",
                "https://example.com/sign-in?for=mcpx-demo"
            ]
        );
        let alone = connected(era, None).await;
        let (_, message) = refused(&alone, "ask", json!({})).await;
        assert!(message.contains("elicitation.form"), "{message}");
    }
}

#[tokio::test]
async fn what_is_slow_reports_and_can_be_cancelled() {
    for era in ERAS {
        let demo = connected(era, None).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let cancelled = CancellationToken::new();
        let cancel = cancelled.clone();
        let watched = CallOptions {
            on_progress: Some(Arc::new(move |progress: Progress| {
                told.lock().unwrap().push(progress.message);
            })),
            ..options()
        };
        let slow = demo.call_tool("slow", object(json!({"ms": 30, "steps": 3})), &watched);
        assert_eq!(
            slow.await.unwrap().joined_text(),
            "Done after 30 ms in 3 steps."
        );
        assert_eq!(
            seen.lock().unwrap().first(),
            Some(&Some("step 1 of 3".to_owned()))
        );
        let stopped = CallOptions {
            cancelled,
            on_progress: Some(Arc::new(move |_: Progress| cancel.cancel())),
            ..options()
        };
        let long = json!({"ms": 600_000, "steps": 1_000});
        let slow = demo.call_tool("slow", object(long), &stopped);
        let ended = tokio::time::timeout(Duration::from_secs(20), slow)
            .await
            .unwrap();
        assert!(ended.is_err());
    }
}

#[tokio::test]
async fn failures_come_as_they_were_wanted_and_large_results_whole() {
    for era in ERAS {
        let demo = connected(era, None).await;
        assert_eq!(
            refused(&demo, "flaky", json!({})).await.1,
            "the demo failed on purpose"
        );
        assert!(
            called(&demo, "flaky", json!({"fail": "isError"}))
                .await
                .is_error
        );
        assert!(
            called(&demo, "flaky", json!({"fail": "once"}))
                .await
                .is_error
        );
        assert!(
            !called(&demo, "flaky", json!({"fail": "once"}))
                .await
                .is_error
        );
        let text = called(&demo, "big", json!({"bytes": 300_000})).await;
        assert_eq!(text.joined_text().len(), 300_000);
        let rows = called(&demo, "big", json!({"bytes": 10_000, "kind": "json"})).await;
        assert!(structured(&rows)["rows"].as_array().unwrap().len() > 100);
    }
}

#[tokio::test]
async fn resources_and_the_prompt_are_read_and_completed() {
    for era in ERAS {
        let demo = connected(era, None).await;
        let uris: Vec<String> = demo
            .resources(&options())
            .await
            .unwrap()
            .elements
            .into_iter()
            .map(|resource| resource.uri)
            .collect();
        assert_eq!(uris, ["demo://readme", "demo://labels"]);
        let read = demo
            .read_resource("demo://issues/1", &options())
            .await
            .unwrap();
        assert!(format!("{read:?}").contains("Login fails"), "{read:?}");
        assert!(
            demo.read_resource("demo://issues/99", &options())
                .await
                .is_err()
        );
        let arguments = object(json!({"repo": "acme/web"}));
        let prompt = demo
            .get_prompt("triage", arguments, &options())
            .await
            .unwrap();
        assert!(format!("{prompt:?}").contains("#4 Dark mode"), "{prompt:?}");
        let of_prompt = object(json!({"type": "ref/prompt", "name": "triage"}));
        let values = demo
            .complete(of_prompt, ("repo", "acme/d"), Object::new(), &options())
            .await
            .unwrap();
        assert_eq!(values, ["acme/docs"]);
    }
}
