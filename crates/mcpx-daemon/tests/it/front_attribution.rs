//! What a server says in one call reaches the client of that call, and no other.

mod logs;

use std::time::Duration;

use mcp_client::{CallOptions, Connection};
use mcp_wire::{Answer, Raw};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, Question};

use crate::front_setup::{Daemon, ERAS, Person, object, stdio};

async fn call(client: &Connection, arguments: Value) -> String {
    let options = CallOptions {
        without_tasks: true,
        ..CallOptions::default()
    };
    let called = client
        .call_tool("mcpx_call", object(&arguments), &options)
        .await;
    called.map_or_else(|failure| failure.to_string(), |result| result.joined_text())
}

#[tokio::test]
async fn a_question_among_several_callers_is_put_to_nobody_else_and_from_then_on_one_is_served_at_a_time()
 {
    let script = [
        Behaviour::Delay(Duration::from_millis(300)),
        Behaviour::Ask(
            "q",
            Question::form(
                "Who?",
                &json!({"type": "object", "properties": {"who": {"type": "string"}}}),
            ),
        ),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new().legacy().tool("ask", script).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let mut clients = Vec::new();
    for (number, era) in ERAS.into_iter().chain(ERAS).enumerate() {
        let name = format!("person-{number}");
        let content = Raw::of(&json!({"who": name}));
        let person = Person::who(vec![Answer::Accept(Some(content))]);
        let client = daemon.client("", era, Some(person)).await;
        clients.push((name, client));
    }
    let mut served = 0;
    // The first round may teach that the server asks; in the last all are served.
    for round in 0..3 {
        let calls = clients
            .iter()
            .map(|(_, client)| call(client, json!({"tool": "s.ask", "args": {"round": round}})));
        let texts = futures::future::join_all(calls).await;
        served = 0;
        for ((name, _), text) in clients.iter().zip(&texts) {
            let others = clients.iter().filter(|(other, _)| other != name);
            for (other, _) in others {
                assert!(
                    !text.contains(other.as_str()),
                    "{name} got the answer of {other}: {text}"
                );
            }
            served += usize::from(text.contains(name.as_str()));
        }
        if served == clients.len() {
            return;
        }
    }
    panic!("{served} of {} were served", clients.len());
}

#[tokio::test]
async fn the_same_progress_token_and_the_same_ids_of_two_clients_are_kept_apart() {
    let script = |text: &'static str| {
        vec![
            Behaviour::Delay(Duration::from_millis(50)),
            Behaviour::Progress(4, Duration::from_millis(20)),
            Behaviour::Result(json!({"content": [{"type": "text", "text": text}]})),
        ]
    };
    let chaos = Chaos::new()
        .legacy()
        .tool("left", script("from left"))
        .tool("right", script("from right"))
        .stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let session = |tool: &'static str| {
        let url = daemon.socket.clone();
        async move {
            use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
            let client =
                mcpx_api::Client::unix(&url, mcpx_api::Caller::default(), Duration::from_secs(10));
            let io = client
                .upgrade("/mcp?passthrough=s&tools=none", "mcpx-stdio")
                .await
                .unwrap();
            let (input, mut out) = tokio::io::split(io);
            let mut lines = tokio::io::BufReader::new(input).lines();
            let messages = [
                json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
                json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": {}, "_meta": {"progressToken": "same"}}}),
            ];
            for message in messages {
                out.write_all(format!("{message}\n").as_bytes())
                    .await
                    .unwrap();
            }
            let (mut progress, mut answer) = (Vec::new(), String::new());
            while answer.is_empty() {
                let line = lines.next_line().await.unwrap().unwrap();
                let message: Value = serde_json::from_str(&line).unwrap();
                if message["method"] == "notifications/progress" {
                    assert_eq!(message["params"]["progressToken"], "same");
                    progress.push(message["params"]["progress"].as_f64().unwrap());
                }
                if message["id"] == 2 {
                    answer = message["result"]["content"][0]["text"]
                        .as_str()
                        .unwrap()
                        .to_owned();
                }
            }
            (progress, answer)
        }
    };
    let (left, right) = tokio::join!(session("left"), session("right"));
    let expected = vec![1.0, 2.0, 3.0, 4.0];
    assert_eq!(left, (expected.clone(), "from left".to_owned()));
    assert_eq!(right, (expected, "from right".to_owned()));
}
