//! What a modern request over HTTP looks like, and what becomes of it when the server misbehaves.

use std::time::Duration;

use mcp_client::{Cause, Delivery, Failure, FailureKind, connect};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, Reply};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::http_setup::{connected, http_received, http_spec, reach, serve_bytes, spec_of, text};
use crate::setup::{object, options};

/// How a call of the tool `x` ends.
async fn call(chaos: Chaos) -> Result<String, Failure> {
    let server = chaos.http();
    let mut spec = http_spec(&server);
    spec.limits.message = 100_000;
    let connection = connect(spec, None).await.unwrap();
    let result = connection.call_tool("x", object("{}"), &options()).await?;
    Ok(text(&result))
}

fn tool(script: impl Into<testkit::mcp::Script>) -> Chaos {
    Chaos::new().modern().tool("x", script)
}

fn broken(failure: &Failure) -> (Delivery, Cause) {
    match &failure.kind {
        FailureKind::NoAnswer {
            delivery, cause, ..
        } => (*delivery, cause.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_request_says_in_headers_what_it_is() {
    let server = Chaos::new().modern().tool("x", Behaviour::Answer).http();
    let mut spec = http_spec(&server);
    let mut reach = reach(server.url());
    reach.headers = vec![("X-Key".to_owned(), "secret".to_owned())];
    spec.reach = mcp_client::Reach::Http(reach);
    let connection = connect(spec, None).await.unwrap();
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    let received = server.received();
    for entry in received.of_kind("message") {
        let header = |name: &str| entry.headers.get(name).map(String::as_str);
        assert_eq!(header("mcp-method"), entry.message["method"].as_str());
        assert_eq!(header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(
            header("accept"),
            Some("application/json, text/event-stream")
        );
        assert_eq!(header("content-type"), Some("application/json"));
        assert_eq!(header("x-key"), Some("secret"));
        assert_eq!(header("mcp-session-id"), None);
    }
    assert_eq!(received.of_method("tools/call")[0].headers["mcp-name"], "x");
}

#[tokio::test]
async fn name_base64() {
    let server = Chaos::new()
        .modern()
        .tool("Grüße", Behaviour::Answer)
        .http();
    let connection = connected(&server).await;
    connection
        .call_tool("Grüße", object("{}"), &options())
        .await
        .unwrap();
    let received = server.received();
    assert_eq!(
        received.of_method("tools/call")[0].headers["mcp-name"],
        "=?base64?R3LDvMOfZQ==?="
    );
}

#[tokio::test]
async fn param_header_null_omitted() {
    let schema = json!({ "type": "object", "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
        "count": { "type": "integer", "x-mcp-header": "Count" },
        "none": { "type": "string", "x-mcp-header": "None" },
        "empty": { "type": "string", "x-mcp-header": "Empty" } } });
    let tool = json!({ "name": "x", "inputSchema": schema });
    let server = Chaos::new()
        .modern()
        .tool_with(tool, Behaviour::Answer)
        .http();
    let connection = connected(&server).await;
    let arguments = object(r#"{"region":" eu ","count":3,"none":null,"empty":""}"#);
    // Without a list before: the tools are read first.
    connection
        .call_tool("x", arguments, &options())
        .await
        .unwrap();
    let received = server.received();
    let headers = &received.of_method("tools/call")[0].headers;
    let header = |name: &str| headers.get(name).map(String::as_str);
    assert_eq!(header("mcp-param-region"), Some("=?base64?IGV1IA==?="));
    assert_eq!(header("mcp-param-count"), Some("3"));
    assert_eq!(header("mcp-param-none"), None);
    assert_eq!(header("mcp-param-empty"), Some(""));
}

#[tokio::test]
async fn param_header_invalid_tool_dropped() {
    let bad = json!({ "name": "bad", "inputSchema": { "type": "object",
        "properties": { "a": { "type": "number", "x-mcp-header": "A" } } } });
    let server = tool(Behaviour::Answer).listed(bad).http();
    let connection = connected(&server).await;
    let listed = connection.tools(&options()).await.unwrap();
    let names: Vec<_> = listed
        .elements
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["x"]);
    assert_eq!(listed.set_aside[0].name.as_deref(), Some("bad"));
}

#[tokio::test]
async fn http_close_cancels_upstream() {
    let server = tool(Behaviour::UntilCancelled(Duration::from_secs(20))).http();
    let connection = connected(&server).await;
    let options = options();
    let cancelled = options.cancelled.clone();
    let arguments = object("{}");
    let calling = connection.call_tool("x", arguments, &options);
    let cancelling = async {
        http_received(&server, "the call", |received| {
            !received.of_method("tools/call").is_empty()
        })
        .await;
        cancelled.cancel();
    };
    let (failure, ()) = tokio::join!(calling, cancelling);
    assert_eq!(broken(&failure.unwrap_err()).1, Cause::Cancelled);
    let received = http_received(&server, "the end of the stream", |received| {
        !received.of_kind("closed").is_empty()
    })
    .await;
    assert!(received.of_method("notifications/cancelled").is_empty());
}

#[tokio::test]
async fn an_answer_may_be_json_or_a_stream_with_progress_before_it() {
    assert!(call(tool(Behaviour::Answer)).await.is_ok());
    assert!(call(tool(Behaviour::Answer).events()).await.is_ok());
    assert!(
        call(tool([
            Behaviour::Progress(500, Duration::ZERO),
            Behaviour::Answer
        ]))
        .await
        .is_ok()
    );
    let split = tool([Behaviour::Progress(2, Duration::ZERO), Behaviour::Answer])
        .slow(7, Duration::from_micros(100));
    assert!(call(split).await.is_ok());
}

#[tokio::test]
async fn foreign_answers_on_the_stream_are_noise() {
    let answers = [Behaviour::OtherId(json!(4711)), Behaviour::Answer];
    assert!(call(tool(answers).events()).await.is_ok());
    assert!(call(tool(Behaviour::Twice).events()).await.is_ok());
    let junk = [
        Behaviour::Raw(b"data: no json\n\ndata: [1]\n\nevent: ping\ndata: {}\n\n".to_vec()),
        Behaviour::Answer,
    ];
    assert!(call(tool(junk).events()).await.is_ok());
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_alone() {
    for chaos in [
        tool(Behaviour::Big(200_000)),
        tool(Behaviour::Big(200_000)).events(),
    ] {
        let server = chaos.tool("y", Behaviour::Answer).http();
        let mut spec = http_spec(&server);
        spec.limits.message = 100_000;
        let connection = connect(spec, None).await.unwrap();
        let (arguments, options) = (object("{}"), options());
        let (big, small) = tokio::join!(
            connection.call_tool("x", arguments.clone(), &options),
            connection.call_tool("y", arguments.clone(), &options)
        );
        let failure = big.unwrap_err();
        assert_eq!(
            broken(&failure),
            (Delivery::OutcomeUnknown, Cause::Unreadable)
        );
        assert!(failure.to_string().contains("limit"), "{failure}");
        small.unwrap();
    }
}

#[tokio::test]
async fn what_the_status_says_about_delivery() {
    for (status, delivery) in [
        (413, Delivery::NotSent),
        (429, Delivery::NotSent),
        (404, Delivery::NotSent),
        (400, Delivery::OutcomeUnknown),
        (500, Delivery::OutcomeUnknown),
        (503, Delivery::OutcomeUnknown),
    ] {
        let failure = call(tool(Behaviour::Http(Reply::status(status))))
            .await
            .unwrap_err();
        assert_eq!(
            broken(&failure),
            (delivery, Cause::Status(status)),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn when_it_may_be_asked_again_is_said() {
    let reply = Reply::status(429).header("Retry-After", "30");
    let failure = call(tool(Behaviour::Http(reply))).await.unwrap_err();
    let text = failure.to_string();
    assert!(text.contains("it may be asked again after 30 s"), "{text}");
}

#[tokio::test]
async fn an_error_in_the_body_is_an_answer_whatever_the_status_is() {
    for code in [-32601, -32602, -32020, -32603] {
        let failure = call(tool(Behaviour::Error(code))).await.unwrap_err();
        assert_eq!(failure.answered().unwrap().code, code);
    }
    let body = r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"no"},"id":"server-error"}"#;
    let reply = Reply::status(500).body("application/json", body);
    let failure = call(tool(Behaviour::Http(reply))).await.unwrap_err();
    assert_eq!(failure.answered().unwrap().code, -1);
}

#[tokio::test]
async fn a_stream_that_ends_without_the_answer_leaves_the_outcome_unknown() {
    let progress = Behaviour::Progress(1, Duration::ZERO);
    let scripts: [Vec<Behaviour>; 3] = [
        vec![Behaviour::Drop],
        vec![progress, Behaviour::Drop],
        vec![Behaviour::Http(Reply::status(200).body(
            "text/event-stream",
            "data: {\"jsonrpc\":\"2.0\"}\n\n",
        ))],
    ];
    for script in scripts {
        let failure = call(tool(script)).await.unwrap_err();
        assert_eq!(
            broken(&failure),
            (Delivery::OutcomeUnknown, Cause::Closed),
            "{failure}"
        );
        assert!(failure.to_string().contains("verify before you repeat it"));
    }
}

#[tokio::test]
async fn what_is_no_answer_is_quoted() {
    for (reply, quoted) in [
        (
            Reply::status(200).body("text/html", "<h1>Sign in</h1>"),
            "200 OK with text/html: <h1>Sign in</h1>",
        ),
        (Reply::status(202), "202 Accepted without a body"),
        (
            Reply::status(200).body(
                "application/json",
                "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}",
            ),
            "\"result\":{}}; expected the answer to the request ",
        ),
        (
            Reply::status(200).body("application/json", "{} trailing"),
            "{} trailing; trailing characters",
        ),
        (
            Reply::status(200)
                .header("Content-Encoding", "br")
                .body("application/json", "\u{1}\u{2}"),
            "a body encoded as `br`, which was not asked for",
        ),
        (Reply::status(200).body("", "\u{feff}oops"), "oops"),
        (
            Reply::status(200).body("application/json", "[]"),
            "application/json: []",
        ),
    ] {
        let failure = call(tool(Behaviour::Http(reply))).await.unwrap_err();
        assert_eq!(
            broken(&failure),
            (Delivery::OutcomeUnknown, Cause::Unreadable)
        );
        assert!(failure.to_string().contains(quoted), "{failure}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_and_headers_without_end_fail_the_call_and_nothing_else() {
    let failure = call(tool(Behaviour::InvalidUtf8)).await.unwrap_err();
    assert_eq!(broken(&failure).0, Delivery::OutcomeUnknown);
    let reply = Reply::status(200).huge_header(5_000_000);
    let failure = call(tool(Behaviour::Http(reply))).await.unwrap_err();
    assert_eq!(
        broken(&failure),
        (Delivery::OutcomeUnknown, Cause::Closed),
        "{failure}"
    );
    let deep = call(tool(Behaviour::Deep(5_000))).await;
    assert!(deep.is_ok() || broken(&deep.unwrap_err()).1 == Cause::Unreadable);
}

#[tokio::test]
async fn a_body_without_end_is_not_read_to_its_end() {
    let mut endless = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ".to_vec();
    endless.extend(vec![b'x'; 3_000_000]);
    let url = serve_bytes(endless).await;
    let mut spec = spec_of(reach(&url));
    spec.limits.message = 1_000;
    let failure = connect(spec, None).await.err().unwrap();
    assert!(failure.is_safe_to_repeat());
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_with_its_method_and_body() {
    for status in [307, 308] {
        let server = tool(Behaviour::Answer)
            .on_nth(
                "tools/call",
                1,
                Behaviour::Http(Reply::redirect(status, "/other?x=1")),
            )
            .http();
        let connection = connected(&server).await;
        connection
            .call_tool("x", object("{}"), &options())
            .await
            .unwrap();
        let received = server.received();
        let calls = received.of_method("tools/call");
        assert_eq!(
            (calls.len(), calls[1].raw["path"].as_str()),
            (2, Some("/other?x=1"))
        );
        assert_eq!(calls[0].message, calls[1].message);
    }
}

#[tokio::test]
async fn a_redirect_to_another_origin_or_in_circles_is_not_followed() {
    let other = Chaos::new().modern().http();
    let place = other.url().replace("127.0.0.1", "localhost");
    let failure = call(tool(Behaviour::Http(Reply::redirect(307, &place))))
        .await
        .unwrap_err();
    assert_eq!(broken(&failure), (Delivery::NotSent, Cause::Status(307)));
    assert!(failure.to_string().contains("another origin"), "{failure}");
    assert!(other.received().of_kind("message").is_empty());
    let failure = call(tool(Behaviour::Http(Reply::redirect(307, "/mcp"))))
        .await
        .unwrap_err();
    assert!(
        failure.to_string().contains("redirects more than 5 times"),
        "{failure}"
    );
    // It would lose the body.
    let page = Reply::redirect(302, "https://example.com/login?token=secret");
    let failure = call(tool(Behaviour::Http(page))).await.unwrap_err();
    assert_eq!(broken(&failure), (Delivery::NotSent, Cause::Status(302)));
    let said = failure.to_string();
    assert!(
        said.contains("redirects to https://example.com/login, which is not followed"),
        "{said}"
    );
}

#[tokio::test]
async fn a_server_behind_a_unix_socket_is_reached() {
    let server = tool(Behaviour::Answer).http();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let address = server
        .url()
        .trim_start_matches("http://")
        .trim_end_matches("/mcp")
        .to_owned();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let mut far = tokio::net::TcpStream::connect(&address).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
        }
    });
    let mut reach = reach("http://daemon.invalid/mcp");
    reach.unix_socket = Some(path);
    let connection = connect(spec_of(reach.clone()), None).await.unwrap();
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    assert_eq!(
        server.received().of_method("tools/call")[0].headers["host"],
        "daemon.invalid"
    );
    reach.unix_socket = Some(folder.path().join("missing"));
    let failure = connect(spec_of(reach), None).await.err().unwrap();
    assert!(failure.is_safe_to_repeat(), "{failure}");
}

#[tokio::test]
async fn a_header_that_cannot_be_sent_is_named_without_its_value() {
    for (name, value) in [
        ("X-Key", "sec\nret"),
        ("no name", "secret"),
        ("Mcp-Session-Id", "secret"),
    ] {
        let mut reach = reach("http://127.0.0.1:1/mcp");
        reach.headers = vec![(name.to_owned(), value.to_owned())];
        let text = connect(spec_of(reach), None)
            .await
            .err()
            .unwrap()
            .to_string();
        assert!(text.contains(name) && !text.contains("ret"), "{text}");
    }
}

#[tokio::test]
async fn questions_come_in_rounds_and_closing_the_stream_behind_one_cancels_nothing() {
    let server = tool([
        Behaviour::Ask("q", testkit::mcp::Question::confirm("Sure?")),
        Behaviour::Answer,
    ])
    .http();
    let person = crate::setup::Person::accepting(r#"{"ok":true}"#);
    let connection = connect(http_spec(&server), Some(person.clone()))
        .await
        .unwrap();
    let result = connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    assert!(text(&result).contains("accept"), "{}", text(&result));
    let received = server.received();
    assert_eq!(
        (person.questions(), received.of_method("tools/call").len()),
        (1, 2)
    );
    assert!(received.of_kind("closed").is_empty());
    let second: &Value = &received.of_method("tools/call")[1].message;
    assert!(second["params"]["requestState"].is_string());
}

#[tokio::test]
async fn a_server_without_tls_behind_https_is_not_sent_anything() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        // The greeting of TLS is no request, and has no end that a server of plain HTTP would wait for.
        while let Ok((mut stream, _)) = listener.accept().await {
            let _greeting = stream.read(&mut [0; 1_024]).await;
            let _answered = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let failure = connect(spec_of(reach(&url)), None).await.err().unwrap();
    assert_eq!(broken(&failure), (Delivery::NotSent, Cause::Start));
    assert!(
        failure.to_string().contains("it cannot be connected to"),
        "{failure}"
    );
}
