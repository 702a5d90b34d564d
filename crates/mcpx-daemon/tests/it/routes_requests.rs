//! HTTP as clients speak it: methods, places of parameters, bodies of every kind, connections that are used again.

use mcpx_api::{Op, operations};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos, StdioChaos};
use tokio::io::AsyncWriteExt as _;

use crate::front_setup::{Daemon, stdio};
use crate::routes_setup::{ask, connect, exchange, plain, posted, receive};

const JSON: &str = "content-type: application/json\r\n";

async fn daemon() -> (Daemon, StdioChaos) {
    let chaos = Chaos::new()
        .tool("say", Behaviour::Answer)
        .tool("größe/a b%2F", Behaviour::Answer)
        .stdio();
    (Daemon::of(json!({"words": stdio(&chaos)})).await, chaos)
}

#[tokio::test]
async fn head_answers_as_get_does_without_a_body_and_options_say_what_a_path_takes() {
    let (daemon, _chaos) = daemon().await;
    let mut stream = connect(&daemon).await;
    for path in ["/v1/health", "/v1/servers", "/v1/catalog"] {
        let got = exchange(&mut stream, plain("GET", path)).await;
        let head = exchange(&mut stream, plain("HEAD", path)).await;
        assert_eq!((got.status, head.status), (200, 200), "{path}");
        for name in ["content-type", "cache-control"] {
            assert_eq!(got.header(name), head.header(name), "{path}");
        }
    }
    let head = exchange(&mut stream, plain("HEAD", "/v1/tasks/tsk-none")).await;
    assert_eq!(head.status, 404);
    for (path, allowed) in [
        ("/v1/health", "GET, HEAD, OPTIONS"),
        ("/v1/call", "POST, OPTIONS"),
        ("/v1/settings/pool.max", "GET, HEAD, PUT, DELETE, OPTIONS"),
    ] {
        let options = exchange(&mut stream, plain("OPTIONS", path)).await;
        assert_eq!(
            (options.status, options.header("allow")),
            (204, Some(allowed)),
            "{path}"
        );
        let wrong = exchange(&mut stream, plain("PATCH", path)).await;
        assert_eq!(
            (wrong.status, wrong.header("allow")),
            (405, Some(allowed)),
            "{path}"
        );
        assert!(wrong.said().contains(allowed), "{wrong:?}");
    }
    assert_eq!(
        exchange(&mut stream, plain("OPTIONS", "/v1/nope"))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn a_parameter_is_taken_in_its_own_place_alone() {
    let (daemon, _chaos) = daemon().await;
    for (request, expected) in [
        (
            plain("GET", "/v1/tasks/tsk-a?id=tsk-b"),
            "`id` was in the query, and is in the path",
        ),
        (
            posted("/v1/call?tool=words.say", JSON, "{}"),
            "`tool` was in the query, and goes into the body",
        ),
        (
            posted("/v1/call/words/say?args=%7B%7D", JSON, ""),
            "`args` was in the query, and goes into the body",
        ),
        (
            plain("GET", "/v1/search?q=a&limit=1&limit=2"),
            "`limit` was given twice",
        ),
        (
            plain("GET", "/v1/search?q=a&top=1"),
            "`search` has no parameter `top`; it takes `q`, `limit`",
        ),
    ] {
        let refused = ask(&daemon, &request).await;
        assert_eq!(refused.status, 400, "{request}");
        assert!(refused.said().contains(expected), "{request}: {refused:?}");
    }
    // A list may be given piece by piece, and names in other alphabets as they are.
    let types = ask(&daemon, plain("GET", "/v1/types?ns=words.say&ns=words")).await;
    assert_eq!(types.status, 200, "{types:?}");
    let path = "/v1/call/words/gr%C3%B6%C3%9Fe%2Fa%20b%252F";
    let called = ask(&daemon, posted(path, JSON, "{\"wörter\":\"ü\"}")).await;
    assert_eq!(called.status, 200, "{called:?}");
    assert_eq!(called.json()["tool"], "größe/a b%2F");
}

#[tokio::test]
async fn a_path_that_is_wrong_by_a_slash_is_answered_with_the_right_one() {
    let (daemon, _chaos) = daemon().await;
    let refused = ask(&daemon, plain("GET", "/v1/servers/")).await;
    assert_eq!(refused.status, 404);
    assert!(
        refused.said().contains("did you mean `/v1/servers`?"),
        "{refused:?}"
    );
    let refused = ask(&daemon, plain("GET", "/v1/nope")).await;
    assert!(refused.said().contains("/v1/openapi.json"), "{refused:?}");
}

#[tokio::test]
async fn a_body_that_is_not_json_in_plain_is_refused_with_what_to_send() {
    let (daemon, _chaos) = daemon().await;
    let call = "{\"tool\":\"words.say\"}";
    for (headers, status, expected) in [
        ("", 200, "words"),
        (
            "content-type: Application/JSON ; charset=utf-8\r\n",
            200,
            "words",
        ),
        (
            "content-type: application/x-www-form-urlencoded\r\n",
            400,
            "expected `application/json` send the header `content-type: application/json`",
        ),
        (
            "content-type: \u{e4}\r\n",
            400,
            "expected `application/json`",
        ),
        (
            "content-type: text/plain\r\n",
            400,
            "expected `application/json`",
        ),
        (
            "content-type: application/json\r\ncontent-encoding: gzip\r\n",
            400,
            "packed as `gzip`",
        ),
        ("content-encoding: identity\r\n", 200, "words"),
    ] {
        let came = ask(&daemon, posted("/v1/call", headers, call)).await;
        assert_eq!(came.status, status, "{headers}: {came:?}");
        let said = if status == 200 {
            came.body.clone()
        } else {
            came.said()
        };
        assert!(said.contains(expected), "{headers}: {came:?}");
    }
    let pieces = format!(
        "POST /v1/call HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        &call[..3],
        call.len() - 3,
        &call[3..]
    );
    assert_eq!(ask(&daemon, pieces).await.status, 200);
}

#[tokio::test]
async fn a_client_that_is_still_sending_hears_what_is_wrong() {
    let (daemon, _chaos) = daemon().await;
    // More than any socket holds.
    let much = "x".repeat(16 << 20);
    for (path, status) in [("/v1/log", 413), ("/v1/nope", 404), ("/v1/health", 405)] {
        let came = ask(&daemon, posted(path, JSON, &much)).await;
        assert_eq!(came.status, status, "{path}");
    }
    let refused = ask(&daemon, posted("/v1/log", JSON, &much)).await;
    assert!(refused.said().contains("`http.bodyLimit`"), "{refused:?}");
    let pieces = format!(
        "POST /v1/log HTTP/1.1\r\nhost: x\r\n{JSON}transfer-encoding: chunked\r\n\r\n{:x}\r\n{much}\r\n0\r\n\r\n",
        much.len()
    );
    assert_eq!(ask(&daemon, pieces).await.status, 413);
    // Who asks before sending need not send.
    let asks = format!(
        "POST /v1/log HTTP/1.1\r\nhost: x\r\n{JSON}expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        much.len()
    );
    assert_eq!(ask(&daemon, asks).await.status, 413);
}

#[tokio::test]
async fn one_connection_carries_many_requests_also_when_they_are_sent_at_once() {
    let (daemon, _chaos) = daemon().await;
    let mut stream = connect(&daemon).await;
    let wrong = posted("/v1/call", JSON, "{");
    let right = posted("/v1/call", JSON, "{\"tool\":\"words.say\"}");
    let all = [
        (plain("GET", "/v1/health"), 200),
        (wrong, 400),
        (plain("GET", "/v1/nope"), 404),
        (right, 200),
        (plain("HEAD", "/v1/health"), 200),
        (plain("GET", "/v1/servers"), 200),
    ];
    let sent: String = all.iter().map(|(request, _)| request.as_str()).collect();
    stream.write_all(sent.as_bytes()).await.unwrap();
    for (request, status) in &all {
        let came = receive(&mut stream, !request.starts_with("HEAD")).await;
        assert_eq!(came.status, *status, "{request}");
    }
}

#[tokio::test]
async fn every_operation_is_at_its_path_and_refuses_methods_that_it_has_not() {
    let (daemon, _chaos) = daemon().await;
    let mut stream = connect(&daemon).await;
    for operation in operations::all() {
        let path = operation.path.replace('{', "none-").replace('}', "");
        let wrong = exchange(&mut stream, plain("TRACE", &path)).await;
        assert_eq!(wrong.status, 405, "{path}");
        let allowed = wrong.header("allow").unwrap_or_default().to_owned();
        assert!(
            allowed.contains(operation.method.as_str()),
            "{path}: {allowed}"
        );
        let ends = matches!(operation.id, Op::Shutdown | Op::DaemonRestart | Op::Events);
        if ends {
            continue;
        }
        let method = operation.method.as_str();
        let came = exchange(&mut stream, plain(method, &path)).await;
        assert!(came.status < 500, "{method} {path}: {came:?}");
        if came.status >= 400 {
            let document = came.json();
            assert!(
                document["error"].is_string() && document["code"].is_string(),
                "{came:?}"
            );
        }
    }
}
