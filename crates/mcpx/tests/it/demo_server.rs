//! `mcpx demo-server` as clients meet it: a program over stdio, or a port, in both eras.

use std::io::{BufRead as _, BufReader};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use child_process::{Env, Program};
use mcp_client::server::HttpReach;
use mcp_client::{
    Abilities, Ask, Asked, CallOptions, Connection, FailureKind, Reach, ServerSpec, connect,
};
use mcp_wire::{Answer, Era, Implementation, Object, Raw};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcpx");

fn spec(reach: Reach) -> ServerSpec {
    let mut spec = ServerSpec::new("demo", reach, Implementation::new("test", "1"));
    spec.timeouts.start = Duration::from_secs(30);
    spec
}

async fn over_stdio(args: &[&str], ask: Option<Arc<dyn Ask>>) -> Connection {
    let env = Env::allowlisted(&std::env::vars_os().collect());
    let args = std::iter::once("demo-server").chain(args.iter().copied());
    let program = Program::new(PROGRAM).args(args).env(env);
    connect(spec(Reach::Stdio(program)), ask).await.unwrap()
}

fn object(value: impl Into<Value>) -> Object {
    Raw::from(value.into()).object().unwrap()
}

async fn text(connection: &Connection, tool: &str, arguments: impl Into<Value>) -> String {
    connection
        .call_tool(tool, object(arguments), &CallOptions::default())
        .await
        .unwrap()
        .joined_text()
}

struct Ada;

#[async_trait]
impl Ask for Ada {
    fn abilities(&self) -> Abilities {
        Abilities {
            forms: true,
            ..Abilities::default()
        }
    }

    async fn ask(&self, _asked: Asked, _deadline: Duration) -> Answer {
        Answer::Accept(Some(Raw::from(json!({"name": "Ada", "colour": "blue"}))))
    }
}

#[tokio::test]
async fn it_speaks_the_era_that_it_was_told_and_both_when_told_none() {
    for (args, era) in [
        (&["--era", "legacy"][..], Era::Legacy),
        (&["--era", "modern"], Era::Modern),
        (&[], Era::Modern),
    ] {
        let demo = over_stdio(args, Some(Arc::new(Ada))).await;
        assert_eq!(demo.era(), era);
        assert_eq!(text(&demo, "echo", json!({"message": "hi"})).await, "hi");
        assert_eq!(text(&demo, "ask", json!({})).await, "Ada likes blue.");
        assert_eq!(demo.close().await, Vec::<i32>::new());
    }
}

#[tokio::test]
async fn it_begins_with_the_second_schemas_when_it_is_told_to() {
    let demo = over_stdio(&["--changed"], None).await;
    let options = CallOptions::default();
    let failure = demo.call_tool("echo", Object::new(), &options).await;
    let FailureKind::Answered(error) = failure.unwrap_err().kind else {
        panic!("no answer");
    };
    assert_eq!(error.message, "Invalid params: `message` is required");
    demo.close().await;
}

#[tokio::test]
async fn a_crash_ends_the_process_in_the_middle_of_the_call() {
    let demo = over_stdio(&[], None).await;
    let crash = object(json!({"fail": "crash"}));
    let options = CallOptions::default();
    let failure = demo.call_tool("flaky", crash, &options).await.unwrap_err();
    assert!(
        matches!(failure.kind, FailureKind::NoAnswer { .. }),
        "{failure}"
    );
}

/// Ends with the test, however that ends.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[tokio::test]
async fn over_http_it_prints_where_it_listens() {
    #[expect(clippy::disallowed_methods, reason = "the program under test")]
    let process = std::process::Command::new(PROGRAM)
        .args(["demo-server", "--http", "0"])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut process = Running(process);
    let mut url = String::new();
    BufReader::new(process.0.stdout.take().unwrap())
        .read_line(&mut url)
        .unwrap();
    let reach = HttpReach {
        url: url.trim().parse().unwrap(),
        unix_socket: None,
        headers: Vec::new(),
        authorizer: None,
    };
    let demo = connect(spec(Reach::Http(reach)), None).await.unwrap();
    assert_eq!(text(&demo, "echo", json!({"message": "hi"})).await, "hi");
}
