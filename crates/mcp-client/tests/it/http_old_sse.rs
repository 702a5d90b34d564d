//! The HTTP+SSE of 2024-11-05, against a server of a few lines.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::{Cause, Delivery, FailureKind, Verdict, connect};
use mcp_wire::Era;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::broadcast;

use crate::http_setup::{Arrived, reach, serve, spec_of, text};
use crate::setup::{object, options};

const OLD: Option<Verdict> = Some(Verdict {
    era: Era::Legacy,
    old_sse: true,
});

/// What it says where messages go; what it does with the tool `drop` is to end the stream.
async fn old_server(endpoint: &'static str) -> String {
    let said: Arc<broadcast::Sender<String>> = Arc::new(broadcast::Sender::new(64));
    serve(move |mut stream| {
        let said = Arc::clone(&said);
        async move {
            let Some(arrived) = Arrived::read(&mut stream).await else { return };
            if arrived.head.starts_with("get /mcp ") {
                let mut events = said.subscribe();
                let begin = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\nevent: endpoint\ndata: {endpoint}\n\n");
                stream.write_all(begin.as_bytes()).await.unwrap();
                while let Ok(event) = events.recv().await {
                    if event == "drop" || stream.write_all(event.as_bytes()).await.is_err() {
                        return;
                    }
                }
            } else if arrived.head.starts_with("post /messages?session=1 ") {
                let message: Value = serde_json::from_str(&arrived.body).unwrap();
                let reply = "HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\nConnection: close\r\n\r\nAccepted";
                stream.write_all(reply.as_bytes()).await.unwrap();
                if let Some(event) = answer(&message) {
                    said.send(event).unwrap();
                }
            } else {
                let reply = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                stream.write_all(reply.as_bytes()).await.unwrap();
            }
        }
    })
    .await
}

fn answer(message: &Value) -> Option<String> {
    let result = match message["method"].as_str()? {
        "initialize" => json!({ "protocolVersion": "2024-11-05", "capabilities": { "tools": {} },
            "serverInfo": { "name": "old", "version": "1" } }),
        "tools/list" => json!({ "tools": [
            { "name": "echo", "inputSchema": { "type": "object" } },
            { "name": "drop", "inputSchema": { "type": "object" } }] }),
        "tools/call" if message["params"]["name"] == "drop" => return Some("drop".to_owned()),
        "tools/call" => {
            json!({ "content": [{ "type": "text", "text": message["params"]["arguments"].to_string() }] })
        }
        _ => return None,
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    Some(format!("event: message\r\ndata: {answer}\r\n\r\n"))
}

#[tokio::test]
async fn http_404_no_body_sse() {
    let url = old_server("/messages?session=1").await;
    let connection = connect(spec_of(reach(&url)), None).await.unwrap();
    assert_eq!(connection.verdict(), OLD);
    let (one, two, options) = (object(r#"{"n":1}"#), object(r#"{"n":2}"#), options());
    let (one, two) = tokio::join!(
        connection.call_tool("echo", one, &options),
        connection.call_tool("echo", two, &options)
    );
    assert!(text(&one.unwrap()).contains(r#"{\"n\":1}"#));
    assert!(text(&two.unwrap()).contains(r#"{\"n\":2}"#));
    // With what was remembered the stream is opened at once.
    let mut spec = spec_of(reach(&url));
    spec.remembered = OLD;
    assert_eq!(connect(spec, None).await.unwrap().verdict(), OLD);
}

#[tokio::test]
async fn a_stream_that_ends_leaves_the_outcome_unknown_and_the_next_call_begins_another() {
    let url = old_server("messages?session=1").await;
    let connection = connect(spec_of(reach(&url)), None).await.unwrap();
    let failure = connection
        .call_tool("drop", object("{}"), &options())
        .await
        .unwrap_err();
    assert!(
        matches!(
            failure.kind,
            FailureKind::NoAnswer {
                delivery: Delivery::OutcomeUnknown,
                cause: Cause::Closed,
                ..
            }
        ),
        "{failure:?}"
    );
    connection
        .call_tool("echo", object("{}"), &options())
        .await
        .unwrap();
}

#[tokio::test]
async fn messages_go_to_no_other_origin() {
    let url = old_server("http://evil.example/messages?session=1").await;
    let mut spec = spec_of(reach(&url));
    spec.timeouts.probe = Duration::from_secs(2);
    let text = connect(spec, None).await.err().unwrap().to_string();
    assert!(
        text.contains("http://evil.example is another origin"),
        "{text}"
    );
}
