//! Servers that answer wrongly, too much, to nobody, or not at all: one classed failure each, and the others go on.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::{CallOptions, Cause, Delivery, FailureKind, connect};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos};

use crate::setup::{Person, connected, object, options, program_spec, spec};

async fn failure_of(script: impl Into<testkit::mcp::Script>) -> (Delivery, Cause, String) {
    let server = Chaos::new()
        .legacy()
        .tool("bad", script)
        .tool("echo", Behaviour::Answer)
        .stdio();
    let mut spec = spec(&server);
    spec.limits.message = 100_000;
    spec.timeouts.idle = Duration::from_secs(3);
    let connection = connect(spec, None).await.unwrap();
    let failure = connection
        .call_tool("bad", object("{}"), &options())
        .await
        .unwrap_err();
    let text = failure.to_string();
    match failure.kind {
        FailureKind::NoAnswer {
            delivery, cause, ..
        } => {
            if !matches!(cause, Cause::Closed) {
                let echo = connection.call_tool("echo", object("{}"), &options()).await;
                assert!(echo.is_ok(), "{echo:?}");
            }
            (delivery, cause, text)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn outcome_unknown_message() {
    let (delivery, cause, text) = failure_of([Behaviour::Stderr(3), Behaviour::Exit(7)]).await;
    assert_eq!((delivery, cause), (Delivery::OutcomeUnknown, Cause::Closed));
    assert!(
        text.contains("its process ended (exit status: 7); its outcome is unknown"),
        "{text}"
    );
    assert!(text.contains("last lines of its stderr:"), "{text}");
}

#[tokio::test]
async fn line_over_limit_only_that_call() {
    let (delivery, cause, text) = failure_of(Behaviour::Big(1_000_000)).await;
    assert_eq!(
        (delivery, cause),
        (Delivery::OutcomeUnknown, Cause::Unreadable)
    );
    assert!(text.contains("more than the limit"), "{text}");
}

#[tokio::test]
async fn an_answer_under_another_id_is_no_answer_and_is_quoted() {
    let (_, cause, text) = failure_of([Behaviour::OtherId(json!("7")), Behaviour::Never]).await;
    assert!(matches!(cause, Cause::Timeout(_)), "{cause:?}");
    assert!(
        text.contains("1 message that belongs to nothing: an answer to \"7\""),
        "{text}"
    );
}

#[tokio::test]
async fn a_closed_stdout_ends_the_call_although_the_process_lives() {
    let (delivery, cause, text) = failure_of(Behaviour::Drop).await;
    assert_eq!((delivery, cause), (Delivery::OutcomeUnknown, Cause::Closed));
    assert!(text.contains("it closed its stdout"), "{text}");
}

#[tokio::test]
async fn a_call_after_the_end_was_not_sent() {
    let server = Chaos::new().tool("bad", Behaviour::Exit(1)).stdio();
    let connection = connected(&server).await;
    connection
        .call_tool("bad", object("{}"), &options())
        .await
        .unwrap_err();
    let failure = connection
        .call_tool("bad", object("{}"), &options())
        .await
        .unwrap_err();
    assert!(failure.is_safe_to_repeat(), "{failure:?}");
    assert!(failure.to_string().contains("it was not sent"), "{failure}");
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_fails_its_own_request_at_once() {
    let (delivery, cause, text) = failure_of(Behaviour::InvalidUtf8).await;
    assert_eq!(
        (delivery, cause),
        (Delivery::OutcomeUnknown, Cause::Unreadable)
    );
    assert!(text.contains("not UTF-8 after byte"), "{text}");
    for (line, reason) in [
        (r#"{"jsonrpc":"2.0","id":ID}"#, "neither `method`, `result`"),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\":\"\0\"}}",
            "control character",
        ),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{}} {}"#, "trailing"),
    ] {
        let text = failure_of_line(line).await;
        assert!(text.contains("its answer cannot be read"), "{line}: {text}");
        assert!(text.contains(reason), "{line}: {text}");
    }
}

#[tokio::test]
async fn a_line_that_quotes_an_answer_or_a_request_fails_nothing() {
    for line in [
        r#"sent {"jsonrpc":"2.0","id":ID,"result":}"#,
        r#"{"jsonrpc":"2.0","id":ID,"method":"ping","params":3}"#,
        r#"{'jsonrpc': '2.0', 'id': ID, 'result': {}}"#,
    ] {
        let text = failure_of_line(line).await;
        assert!(text.contains("no sign of life"), "{line}: {text}");
    }
}

/// The failure of a call that is answered with this line and with nothing else.
async fn failure_of_line(line: &str) -> String {
    let connection = answered_by("send(line.replace('ID', str(m['id'])))", line).await;
    let mut options = options();
    options.idle = Some(Duration::from_secs(2));
    let failure = connection.call_tool("t", object("{}"), &options).await;
    failure.unwrap_err().to_string()
}

/// A legacy server in Python that does this when a tool is called; `line` is at hand there, and `m`, the request.
async fn answered_by(on_call: &str, line: &str) -> mcp_client::Connection {
    let script = format!(
        r#"
import json, sys
line = {line:?}
def send(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
for m in map(json.loads, sys.stdin):
    if m.get("method") == "tools/call":
        {on_call}
    elif m.get("method") == "initialize":
        send(json.dumps({{"jsonrpc": "2.0", "id": m["id"], "result": {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}}, "serverInfo": {{"name": "p", "version": "1"}}}}}}))
    elif "method" in m and "id" in m:
        send(json.dumps({{"jsonrpc": "2.0", "id": m["id"], "error": {{"code": -32601, "message": "no"}}}}))
"#
    );
    let spec = program_spec("python3", &["-c".to_owned(), script]);
    connect(spec, None).await.unwrap()
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_not_listened_to() {
    let script = r#"
        for n in range(3000):
            send(json.dumps({"jsonrpc": "2.0", "id": "q%d" % n, "method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}))
        send(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"content": [{"type": "text", "text": "ok"}]}}))"#;
    let connection = answered_by(script, "").await;
    let person = Person::slow("{}", Duration::from_secs(60));
    let mut options = options();
    options.ask = Some(Arc::<Person>::clone(&person));
    let result = connection.call_tool("t", object("{}"), &options).await;
    assert_eq!(result.unwrap().joined_text(), "ok");
    assert!(person.questions() <= 256, "{}", person.questions());
}

#[tokio::test]
async fn deep_nesting_is_kept_and_harms_nobody() {
    let server = Chaos::new().tool("deep", Behaviour::Deep(50_000)).stdio();
    let connection = connected(&server).await;
    let result = connection
        .call_tool("deep", object("{}"), &options())
        .await
        .unwrap();
    assert!(result.structured.unwrap().depth() >= 50_000);
}

#[tokio::test]
async fn stdout_banner() {
    let script = [Behaviour::Junk(50), Behaviour::Answer];
    let server = Chaos::new()
        .banner("Welcome!")
        .banner("{not json")
        .tool("chatty", script)
        .stdio();
    let connection = connected(&server).await;
    assert!(
        connection
            .call_tool("chatty", object("{}"), &options())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_run_of_junk_ends_the_connection_and_its_first_line_is_quoted() {
    let server = Chaos::new()
        .legacy()
        .tool("flood", [Behaviour::Junk(5_000), Behaviour::Never])
        .stdio();
    let connection = connected(&server).await;
    let failure = connection
        .call_tool("flood", object("{}"), &options())
        .await
        .unwrap_err();
    assert!(
        failure
            .to_string()
            .contains("more than 1000 lines in a row"),
        "{failure}"
    );
}

#[tokio::test]
async fn answers_that_are_early_or_doubled_are_dropped() {
    let server = Chaos::new()
        .answers_early(&[json!(1), json!(2), json!(3), json!(4)])
        .tool("twice", Behaviour::Twice)
        .stdio();
    // What comes before the first request is junk from a server that is not to be trusted about anything; the calls
    // still end in the answers that were made for them.
    let connection = connected(&server).await;
    for _ in 0..3 {
        let result = connection
            .call_tool("twice", object("{}"), &options())
            .await
            .unwrap();
        assert!(result.joined_text().contains("twice"));
    }
}

#[tokio::test]
async fn line_64kib_boundaries() {
    for piece in [1, 7, 65_536] {
        let script = [
            Behaviour::Split(piece, Duration::ZERO),
            Behaviour::Big(if piece == 1 { 3_000 } else { 200_000 }),
        ];
        let server = Chaos::new().tool("big", script).stdio();
        let connection = connected(&server).await;
        let result = connection
            .call_tool("big", object("{}"), &options())
            .await
            .unwrap();
        assert!(result.joined_text().len() >= 3_000);
    }
}

#[tokio::test]
async fn ten_thousand_calls_from_64_callers_have_one_outcome_each() {
    let server = Chaos::new().tool("echo", Behaviour::Answer).stdio();
    let connection = connected(&server).await;
    let callers = (0..64).map(|caller| {
        let connection = connection.clone();
        tokio::spawn(async move {
            for number in 0..157 {
                let arguments = object(&format!(r#"{{"mine":"{caller}-{number}"}}"#));
                let result = connection
                    .call_tool("echo", arguments, &options())
                    .await
                    .unwrap();
                assert!(
                    result
                        .joined_text()
                        .contains(&format!("\"{caller}-{number}\""))
                );
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
}

#[tokio::test]
async fn what_a_program_never_read_was_not_sent_and_is_not_kept() {
    // The probe ends in a process that reads one line more and then no longer.
    let script = "import sys, json, time\n\
        for line in sys.stdin:\n    \
            message = json.loads(line)\n    \
            if message['method'] == 'notifications/initialized': time.sleep(600)\n    \
            error = {'code': -32601, 'message': 'no'}\n    \
            result = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': {'name': 'x', 'version': '1'}}\n    \
            answer = {'result': result} if message['method'] == 'initialize' else {'error': error}\n    \
            print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], **answer}), flush=True)\n";
    let args = ["-S", "-E", "-c", script].map(str::to_owned);
    let connection = connect(crate::setup::program_spec("python3", &args), None)
        .await
        .unwrap();
    let soon = CallOptions {
        idle: Some(Duration::from_millis(700)),
        ..options()
    };
    // More than a pipe and a reader's buffer hold, so that the second call waits behind the first.
    let big = object(&format!(r#"{{"text":"{}"}}"#, "x".repeat(1_000_000)));
    let first = connection.call_tool("a", big.clone(), &soon);
    let second = async {
        tokio::task::yield_now().await;
        connection.call_tool("b", big.clone(), &soon).await
    };
    let (first, second) = tokio::join!(first, second);
    let (first, second) = (first.unwrap_err(), second.unwrap_err());
    assert!(!first.is_safe_to_repeat(), "{first}");
    assert!(second.is_safe_to_repeat(), "{second}");
    assert!(
        second
            .to_string()
            .contains("no sign of life within 0.7 s; it was not sent"),
        "{second}"
    );
}
