//! What every operation refuses, and as whose fault.

use mcpx_api::{Caller, Op};
use serde_json::json;

use crate::front_setup::Daemon;
use crate::ops_answers::daemon;

/// A request as it stands, and the status that it gets.
async fn status(daemon: &Daemon, request: &[u8]) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::UnixStream::connect(&daemon.socket)
        .await
        .expect("a daemon");
    stream.write_all(request).await.expect("sent");
    let mut head = [0_u8; 12];
    tokio::time::timeout(
        std::time::Duration::from_secs(30),
        stream.read_exact(&mut head),
    )
    .await
    .expect("in time")
    .expect("a head");
    String::from_utf8_lossy(&head[9..])
        .parse()
        .expect("a status")
}

fn post(path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").into_bytes()
}

#[tokio::test]
async fn whatever_is_sent_the_daemon_refuses_it_as_the_requests_fault_and_goes_on() {
    let (daemon, _chaos) = daemon().await;
    let deep = "[".repeat(50_000) + &"]".repeat(50_000);
    let deep_object = format!(
        "{{\"tool\":\"words.say\",\"args\":{}{}}}",
        "{\"a\":".repeat(5_000),
        "1".to_owned() + &"}".repeat(5_000)
    );
    let cases: Vec<(Vec<u8>, u16)> = vec![
        (get("/v1/health?x=1"), 400),
        (get("/v1/search"), 400),
        (get("/v1/search?q="), 400),
        (get("/v1/search?q=a&limit=-1"), 400),
        (get("/v1/search?q=a&limit=99999999999999999999"), 400),
        (get("/v1/search?q=a&limit=1.5"), 400),
        (get("/v1/search?q=a&q=b"), 400),
        (get("/v1/search?q=a&profile=nope"), 400),
        (get("/v1/search?q=%00"), 200),
        (get("/v1/types?ns=%00"), 400),
        (get("/v1/types?ns="), 400),
        (get("/v1/log?since=%00"), 400),
        (get("/v1/log?since=99999999999999d"), 200),
        (get("/v1/log?level=loud"), 400),
        (get("/v1/log?after=%2e"), 400),
        (get("/v1/log?chain=x"), 404),
        (get("/v1/log?chain=x&limit=1"), 400),
        (get("/v1/log?grep=%25%00"), 200),
        (get("/v1/log?event=%5B"), 200),
        (get("/v1/stats?by=luck"), 400),
        (get("/v1/tasks/%00"), 400),
        (get("/v1/tasks/tsk-1/result?waitMs=9007199254740992"), 400),
        (get("/v1/results/..%2f..%2fetc"), 404),
        (get("/v1/results/x?offset=9007199254740991&length=0"), 404),
        (get("/v1/settings/nope"), 404),
        (get("/v1/settings?scope=x"), 400),
        (get("/v1/events?since=x"), 400),
        (get("/v1/catalog/history?tool=%00"), 400),
        (get("/v1/schema?format=yaml"), 400),
        (get("/v1/status?server=nope"), 400),
        (get("/v1/nope"), 404),
        (post("/v1/health", "{}"), 405),
        (post("/v1/call", ""), 400),
        (post("/v1/call", "[]"), 400),
        (post("/v1/call", "{"), 400),
        (post("/v1/call", &deep), 400),
        (post("/v1/call", &deep_object), 400),
        (
            post("/v1/call", "{\"tool\":\"words.say\",\"tool\":\"b\"}"),
            400,
        ),
        (post("/v1/call", "{\"tool\":5}"), 400),
        (
            post("/v1/call", "{\"tool\":\"words.say\",\"args\":[]}"),
            400,
        ),
        (
            post("/v1/call", "{\"tool\":\"words.say\",\"timeoutMs\":1e300}"),
            400,
        ),
        (
            post("/v1/call", "{\"tool\":\"words.say\",\"timeoutMs\":-1}"),
            400,
        ),
        (post("/v1/call", "{\"tool\":\"words.nope\"}"), 400),
        (post("/v1/call", "{\"tool\":\"broken.x\"}"), 502),
        (post("/v1/call", "{\"tool\":\"\\u0000\"}"), 400),
        (
            post(
                "/v1/call",
                "{\"tool\":\"words.say\",\"context\":{\"pid\":-1}}",
            ),
            400,
        ),
        (
            post("/v1/call", "{\"tool\":\"words.say\",\"context\":{\"x\":1}}"),
            400,
        ),
        (post("/v1/call/words/nope", "{}"), 400),
        (post("/v1/call/words/say", "7"), 400),
        (post("/v1/batch", "{\"calls\":[1]}"), 400),
        (post("/v1/batch", "{\"calls\":[{}]}"), 400),
        (post("/v1/tools/mcpx_nope", "{}"), 404),
        (post("/v1/log", "{\"msg\":\"\"}"), 400),
        (
            post(
                "/v1/log",
                &format!("{{\"msg\":\"x\",\"attributes\":{deep}}}"),
            ),
            400,
        ),
        (post("/v1/servers", "{\"name\":\"x\"}"), 400),
        (
            post(
                "/v1/servers",
                "{\"name\":\"x\",\"command\":\"a\",\"url\":\"b\"}",
            ),
            400,
        ),
        (
            post("/v1/servers", "{\"name\":\"x\",\"command\":\"a\\u0000\"}"),
            400,
        ),
        (
            post(
                "/v1/servers",
                "{\"name\":\"x\",\"command\":\"a\",\"env\":{\"A\":1}}",
            ),
            400,
        ),
        (
            post(
                "/v1/servers",
                "{\"name\":\"x\",\"command\":\"a\",\"headers\":{}}",
            ),
            400,
        ),
        (
            post(
                "/v1/servers",
                "{\"name\":\"x\",\"command\":\"a\",\"mcpx\":{\"nope\":1}}",
            ),
            400,
        ),
        (
            post(
                "/v1/servers",
                "{\"name\":\"x\",\"command\":\"a\",\"scope\":\"all\"}",
            ),
            400,
        ),
        (
            post("/v1/session/release", "{\"session\":\"s\",\"pid\":0}"),
            400,
        ),
        (post("/v1/session/release", "{\"session\":\" \"}"), 400),
        (
            b"DELETE /v1/servers/nope HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(),
            404,
        ),
        (
            b"PUT /v1/settings/pool.max HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n".to_vec(),
            400,
        ),
        (b"nonsense\r\n\r\n".to_vec(), 400),
    ];
    for (request, expected) in cases {
        let got = status(&daemon, &request).await;
        let shown = String::from_utf8_lossy(&request);
        assert_eq!(
            got,
            expected,
            "{}",
            shown.chars().take(200).collect::<String>()
        );
    }
    daemon.checked(Op::Health, json!({})).await;
}

#[tokio::test]
async fn headers_that_say_nonsense_say_nothing() {
    let (daemon, _chaos) = daemon().await;
    let wrong = Caller {
        settings: Some("{\"search.limit\": 1, \"pool.max\"".to_owned()),
        session: Some(String::new()),
        ..Caller::default()
    };
    let found = daemon
        .ask_as(wrong, Op::Namespaces, json!({}))
        .await
        .expect("an answer");
    assert_eq!(found.as_array().map(Vec::len), Some(2));
    daemon
        .ask(Op::Call, json!({"tool": "words.say"}))
        .await
        .expect("an answer");
    let one = Caller {
        settings: Some("{\"search.limit\": \"1\", \"pool.max\": \"9\"}".to_owned()),
        ..Caller::default()
    };
    let found = daemon
        .ask_as(one, Op::Search, json!({"q": "say fails big"}))
        .await
        .expect("found");
    assert_eq!(
        found.as_array().map(Vec::len),
        Some(1),
        "a caller's own setting: {found}"
    );
}
