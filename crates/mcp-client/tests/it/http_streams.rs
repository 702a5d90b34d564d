//! Legacy streams that break and are opened again, against a server of a few lines.

use std::sync::{Arc, Mutex};

use mcp_client::{Cause, Delivery, Event, FailureKind, Verdict, connect};
use mcp_wire::Era;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::http_setup::{Arrived, reach, serve, spec_of, text};
use crate::setup::{object, options};

type Seen = Arc<Mutex<Vec<String>>>;

/// A server without sessions that answers each GET with the next of `gets`, whole responses, and a call of a tool with
/// an event that has an id and no answer. `ID` in a response is the id of the last request. Returns its URL and the heads
/// of the GETs.
async fn server(gets: &[&str]) -> (String, Seen) {
    let (seen, id) = (Seen::default(), Arc::new(Mutex::new(Value::Null)));
    let gets: Arc<Vec<String>> = Arc::new(gets.iter().map(ToString::to_string).collect());
    let url = serve({
        let seen = Arc::clone(&seen);
        move |mut stream| {
            let (seen, gets, id) = (Arc::clone(&seen), Arc::clone(&gets), Arc::clone(&id));
            async move {
                let Some(arrived) = Arrived::read(&mut stream).await else {
                    return;
                };
                let reply = if arrived.head.starts_with("get ") {
                    let mut seen = seen.lock().unwrap();
                    seen.push(arrived.head);
                    let refusal = "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n";
                    gets.get(seen.len() - 1)
                        .map_or(refusal, String::as_str)
                        .to_owned()
                } else {
                    let message: Value = serde_json::from_str(&arrived.body).unwrap();
                    *id.lock().unwrap() = message["id"].clone();
                    posted(&message)
                };
                let reply = reply.replace("ID", &id.lock().unwrap().to_string());
                let _gone = stream.write_all(reply.as_bytes()).await;
            }
        }
    })
    .await;
    (url, seen)
}

fn posted(message: &Value) -> String {
    let id = &message["id"];
    let result = match message["method"].as_str() {
        Some("ping") => {
            let told = json!({ "level": "info", "data": "hi" });
            return whole(&json!([
                { "jsonrpc": "2.0", "method": "notifications/message", "params": told },
                { "jsonrpc": "2.0", "id": "another", "result": {} },
                { "jsonrpc": "2.0", "id": id, "result": {} },
                { "jsonrpc": "2.0", "method": "notifications/message", "params": told },
                7,
            ]));
        }
        Some("initialize") => {
            json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "raw", "version": "1" } })
        }
        Some("tools/list") => {
            json!({ "tools": [{ "name": "x", "inputSchema": { "type": "object" } }] })
        }
        Some("tools/call") => return events("id: first\nretry: 30\ndata:\n\n"),
        _ => return "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned(),
    };
    whole(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn whole(body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn events(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{body}")
}

fn spec(url: &str) -> mcp_client::ServerSpec {
    let mut spec = spec_of(reach(url));
    spec.remembered = Some(Verdict {
        era: Era::Legacy,
        old_sse: false,
    });
    spec
}

fn last_event(head: &str) -> Option<&str> {
    head.lines()
        .find_map(|line| line.strip_prefix("last-event-id: "))
}

#[tokio::test]
async fn the_back_channel_goes_on_where_it_broke() {
    let changed = |id: u32| {
        events(&format!(
            "id: {id}\nretry: 20\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}}\n\n"
        ))
    };
    let unwell = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    let (url, seen) = server(&[&changed(1), unwell, &changed(2)]).await;
    let connection = connect(spec(&url), None).await.unwrap();
    let mut told = connection.events();
    let mut changes = 0;
    while changes < 2 {
        // The first may have come before anybody listened.
        match tokio::time::timeout(std::time::Duration::from_secs(10), told.recv()).await {
            Ok(Ok(Event::ToolsChanged)) => changes += 1,
            Ok(_) => {}
            Err(_) => panic!("the back channel was not opened again"),
        }
        if seen.lock().unwrap().len() == 4 {
            break;
        }
    }
    let seen = seen.lock().unwrap();
    let last: Vec<_> = seen.iter().map(|head| last_event(head)).collect();
    assert_eq!(last[..3], [None, Some("1"), Some("1")]);
    assert!(last.get(3).is_none_or(|last| *last == Some("2")));
}

#[tokio::test]
async fn a_call_goes_on_in_another_stream_although_the_server_is_unwell_meanwhile() {
    let no_back_channel = "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n";
    let unwell = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    let progress = events(
        "id: second\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n",
    );
    let answer = events(
        "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}}\n\n",
    );
    let (url, seen) = server(&[no_back_channel, unwell, &progress, &answer]).await;
    let connection = connect(spec(&url), None).await.unwrap();
    while seen.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let result = connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    assert!(text(&result).contains("late"));
    let seen = seen.lock().unwrap();
    let last: Vec<_> = seen.iter().map(|head| last_event(head)).collect();
    assert_eq!(last, [None, Some("first"), Some("first"), Some("second")]);
}

#[tokio::test]
async fn a_call_that_cannot_go_on_says_why() {
    let no_back_channel = "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n";
    let (url, seen) = server(&[no_back_channel]).await;
    let connection = connect(spec(&url), None).await.unwrap();
    while seen.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let failure = connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap_err();
    assert!(matches!(
        failure.kind,
        FailureKind::NoAnswer {
            delivery: Delivery::OutcomeUnknown,
            cause: Cause::Closed,
            ..
        }
    ));
    let said = failure.to_string();
    assert!(
        said.contains(
            "the stream ended without an answer, and it cannot be gone on with: HTTP 405"
        ),
        "{said}"
    );
}

#[tokio::test]
async fn a_batch_is_read_message_by_message() {
    let (url, _) = server(&[]).await;
    let connection = connect(spec(&url), None).await.unwrap();
    let mut told = connection.events();
    connection.ping(&options()).await.unwrap();
    let mut kinds = Vec::new();
    while kinds.len() < 4 {
        match told.recv().await.unwrap() {
            Event::Log { .. } => kinds.push("log"),
            Event::Noise { .. } => kinds.push("noise"),
            _ => {}
        }
    }
    kinds.sort_unstable();
    assert_eq!(kinds, ["log", "log", "noise", "noise"]);
}

#[tokio::test]
async fn an_answer_on_the_back_channel_reaches_its_call() {
    let (called_in, called) = tokio::sync::watch::channel(Value::Null);
    let (called_in, hold) = (Arc::new(called_in), "id: first\nretry: 30\ndata:\n\n");
    let url = serve(move |mut stream| {
        let (called_in, mut called) = (Arc::clone(&called_in), called.clone());
        async move {
            let Some(arrived) = Arrived::read(&mut stream).await else {
                return;
            };
            let reply = if !arrived.head.starts_with("get ") {
                let message: Value = serde_json::from_str(&arrived.body).unwrap();
                if message["method"] == "tools/call" {
                    called_in.send_replace(message["id"].clone());
                }
                posted(&message)
            } else if last_event(&arrived.head) == Some("first") {
                // Who goes on here waits for ever: the server answers on the other stream.
                let _gone = stream.write_all(events(hold).as_bytes()).await;
                return std::future::pending().await;
            } else {
                let id = called.wait_for(|id| !id.is_null()).await.unwrap().clone();
                let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } });
                events(&format!("data: {answer}\n\n"))
            };
            let _gone = stream.write_all(reply.as_bytes()).await;
        }
    })
    .await;
    let connection = connect(spec(&url), None).await.unwrap();
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
}
