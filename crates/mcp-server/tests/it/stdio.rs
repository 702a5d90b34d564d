//! Both eras over a pair of pipes, line by line.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_server::stdio::{StdioError, serve, serve_until};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::served::{Probe, Setup, server};
use crate::wire::{WAIT, envelope};

struct Pipe {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    served: JoinHandle<Result<(), StdioError>>,
    probe: Arc<Probe>,
    notifier: mcp_server::Notifier,
    server: mcp_server::Server,
}

impl Pipe {
    fn open() -> Self {
        Self::with(Setup::default(), 1 << 20)
    }

    fn with(setup: Setup, room: usize) -> Self {
        let (server, probe, notifier) = server(setup.config);
        let (input, their_input) = tokio::io::duplex(1 << 20);
        let (their_output, output) = tokio::io::duplex(room);
        let serving = server.clone();
        Self {
            input: Some(input),
            output: BufReader::new(output).lines(),
            served: tokio::spawn(async move { serve(&serving, their_input, their_output).await }),
            probe,
            notifier,
            server,
        }
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    async fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    async fn request(&mut self, id: i64, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
    }

    async fn next(&mut self) -> Value {
        let line = timeout(WAIT, self.output.next_line())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    async fn ask(&mut self, id: i64, method: &str, params: Value) -> Value {
        self.request(id, method, params).await;
        self.next().await
    }

    async fn initialize(&mut self, revision: &str) -> Value {
        let params = json!({"protocolVersion": revision, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "x"}});
        let answer = self.ask(0, "initialize", params).await;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        answer
    }

    /// Ends the input; the lines that still come, and how the server ended.
    async fn end(mut self) -> (Vec<Value>, Result<(), StdioError>) {
        self.input = None;
        let mut lines = Vec::new();
        while let Some(line) = timeout(WAIT, self.output.next_line())
            .await
            .unwrap()
            .unwrap()
        {
            lines.push(serde_json::from_str(&line).unwrap());
        }
        (lines, timeout(WAIT, self.served).await.unwrap().unwrap())
    }
}

fn modern(params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = envelope(&json!({"elicitation": {}}));
    params
}

#[tokio::test]
async fn one_connection_may_speak_both_eras() {
    let mut pipe = Pipe::open();
    let answer = pipe.ask(1, "server/discover", modern(&json!({}))).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    let answer = pipe
        .ask(2, "tools/call", modern(&json!({"name": "hold"})))
        .await;
    assert_eq!(answer["result"]["resultType"], "input_required");
    let answer = pipe.initialize("2026-07-28").await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    let answer = pipe.ask(3, "ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
    let answer = pipe.ask(4, "ping", modern(&json!({}))).await;
    assert_eq!(answer["error"]["code"], -32601);
    let answer = pipe.ask(5, "tools/list", modern(&json!({}))).await;
    assert_eq!(answer["result"]["cacheScope"], "public");
    let (rest, ended) = pipe.end().await;
    assert!(rest.is_empty() && ended.is_ok());
}

#[tokio::test]
async fn before_the_handshake_only_a_ping_is_answered() {
    let mut pipe = Pipe::open();
    assert_eq!(pipe.ask(1, "ping", json!({})).await["result"], json!({}));
    for method in ["tools/list", "logging/setLevel", "unknown"] {
        let answer = pipe.ask(2, method, json!({})).await;
        assert_eq!(answer["error"]["code"], -32600);
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("send `initialize` first")
        );
    }
    for method in ["server/discover", "subscriptions/listen"] {
        assert_eq!(
            pipe.ask(3, method, json!({})).await["error"]["code"],
            -32602
        );
    }
    pipe.initialize("2025-11-25").await;
    let again = pipe.initialize("2025-11-25").await;
    assert_eq!(
        again["error"]["message"],
        "`initialize` came before on this connection"
    );
}

#[tokio::test]
async fn a_request_right_behind_the_handshake_is_answered() {
    let mut pipe = Pipe::open();
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    pipe.write(format!("{initialize}\n{list}\n").as_bytes())
        .await;
    let mut answers = [pipe.next().await, pipe.next().await];
    answers.sort_by_key(|answer| answer["id"].as_i64());
    assert!(answers[1]["result"]["tools"].is_array());
}

#[tokio::test]
async fn a_line_that_is_no_message_costs_nothing_but_an_error() {
    let mut setup = Setup::default();
    setup.config.limits.message_bytes = 10_000;
    let mut pipe = Pipe::with(setup, 1 << 20);
    for (line, code, id) in [
        ("hello", -32700, None),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":9}",
            -32600,
            Some(json!(7)),
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}",
            -32600,
            None,
        ),
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}]",
            -32600,
            None,
        ),
        (
            &format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\",\"x\":\"{}\"}}",
                "y".repeat(20_000)
            ),
            -32600,
            Some(json!(8)),
        ),
    ] {
        pipe.write(format!("{line}\n").as_bytes()).await;
        let answer = pipe.next().await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer.get("id").cloned(), id, "{answer}");
    }
    pipe.write(b"\xff\xfe\n\n  \n").await;
    assert_eq!(pipe.next().await["error"]["code"], -32700);
    pipe.write(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{},\"error\":{}}\n")
        .await;
    assert_eq!(
        pipe.ask(9, "ping", json!({})).await["id"],
        9,
        "a broken response gets no answer"
    );
    pipe.initialize("2025-06-18").await;
    pipe.write(b"hello\n").await;
    let answer = pipe.next().await;
    assert_eq!(
        answer.get("id"),
        Some(&Value::Null),
        "this revision has an id in any case"
    );
}

#[tokio::test]
async fn a_cancelled_request_gets_no_answer() {
    let mut pipe = Pipe::open();
    let mut params = modern(&json!({"name": "until_cancelled"}));
    params["_meta"]["progressToken"] = json!("p");
    pipe.request(1, "tools/call", params).await;
    assert_eq!(pipe.next().await["params"]["progressToken"], "p");
    let answer = pipe.ask(1, "tools/list", modern(&json!({}))).await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("is in use"),
        "{answer}"
    );
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "enough"}})).await;
    let answer = pipe.ask(2, "tools/list", modern(&json!({}))).await;
    assert_eq!(answer["id"], 2);
    let probe = Arc::clone(&pipe.probe);
    let (rest, _) = pipe.end().await;
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(probe.cancelled.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_question_and_its_answer_cross_the_same_pipe_while_others_are_answered() {
    let mut pipe = Pipe::open();
    pipe.initialize("2025-11-25").await;
    pipe.request(
        1,
        "tools/call",
        json!({"name": "test_elicitation", "arguments": {"message": "?"}}),
    )
    .await;
    let question = pipe.next().await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(pipe.ask(2, "ping", json!({})).await["id"], 2);
    pipe.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}}))
        .await;
    let answer = pipe.next().await;
    assert_eq!(answer["id"], 1);
    assert!(
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("action=cancel")
    );
}

#[tokio::test]
async fn at_the_end_of_the_input_what_runs_is_finished_and_what_cannot_finish_is_dropped() {
    let mut setup = Setup::default();
    setup.config.limits.grace = Duration::from_millis(700);
    let mut pipe = Pipe::with(setup, 1 << 20);
    pipe.initialize("2025-11-25").await;
    pipe.request(
        1,
        "tools/call",
        json!({"name": "slow_compute", "arguments": {"seconds": 0.2}}),
    )
    .await;
    pipe.request(
        2,
        "tools/call",
        json!({"name": "test_elicitation", "arguments": {"message": "?"}}),
    )
    .await;
    pipe.request(3, "tools/call", json!({"name": "until_cancelled"}))
        .await;
    assert_eq!(pipe.next().await["method"], "elicitation/create");
    let server = pipe.server.clone();
    let (mut rest, ended) = pipe.end().await;
    rest.sort_by_key(|answer| answer["id"].as_i64());
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert!(
        rest[0]["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("took")
    );
    assert!(
        rest[1]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("the client is gone")
    );
    assert!(ended.is_ok());
    assert_eq!(server.running(), 0);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_given_up() {
    let mut setup = Setup::default();
    setup.config.limits.write = Duration::from_millis(200);
    setup.config.limits.grace = Duration::from_millis(200);
    let mut pipe = Pipe::with(setup, 64);
    pipe.request(1, "tools/list", modern(&json!({}))).await;
    let ended = timeout(WAIT, &mut pipe.served).await.unwrap().unwrap();
    assert!(matches!(ended, Err(StdioError::Stuck)), "{ended:?}");
}

#[tokio::test]
async fn subscriptions_and_sessions_hear_what_changed() {
    let mut pipe = Pipe::open();
    let listen = modern(&json!({"notifications": {"toolsListChanged": true}}));
    pipe.request(1, "subscriptions/listen", listen).await;
    assert_eq!(
        pipe.next().await["method"],
        "notifications/subscriptions/acknowledged"
    );
    pipe.notifier.tools_changed();
    let told = pipe.next().await;
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        1
    );
    pipe.initialize("2025-06-18").await;
    pipe.notifier.prompts_changed();
    assert_eq!(
        pipe.next().await,
        json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"})
    );
    let (rest, ended) = pipe.end().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(
        rest[0]["result"]["resultType"], "complete",
        "the end of the input ends a subscription"
    );
    assert!(ended.is_ok());
}

#[tokio::test]
async fn a_batch_is_answered_as_one_where_the_revision_has_that() {
    let mut pipe = Pipe::open();
    pipe.initialize("2025-03-26").await;
    pipe.write(b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},7,{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]\n").await;
    let answers = pipe.next().await;
    assert_eq!(answers.as_array().unwrap().len(), 2);
    assert_eq!(answers[0]["error"]["code"], -32600);
    assert_eq!(answers[1], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    pipe.write(b"[]\n").await;
    assert_eq!(pipe.next().await["error"]["code"], -32600);
}

#[tokio::test]
async fn the_end_of_the_server_ends_the_connection() {
    let mut pipe = Pipe::open();
    pipe.request(
        1,
        "subscriptions/listen",
        modern(&json!({"notifications": {}})),
    )
    .await;
    pipe.next().await;
    pipe.server.shut_down().await;
    assert_eq!(pipe.next().await["id"], 1);
    assert!(
        timeout(WAIT, &mut pipe.served)
            .await
            .unwrap()
            .unwrap()
            .is_ok()
    );
}

#[tokio::test]
async fn a_message_with_line_ends_inside_is_answered_on_one_line() {
    let mut pipe = Pipe::open();
    let params = modern(&json!({"name": "give", "arguments": {}}));
    let text =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{params}}}")
            .replace("\"arguments\":{}", "\"arguments\":{\"a\":\r{\"b\":\t1}}");
    pipe.write(format!("{text}\n").as_bytes()).await;
    assert_eq!(pipe.next().await["result"]["a"], json!({"b": 1}));
}

#[tokio::test]
async fn a_server_that_ends_says_how_many_messages_it_took_and_takes_no_more() {
    let (server, _probe, _notifier) = server(Setup::default().config);
    let (mut input, their_input) = tokio::io::duplex(1 << 20);
    let (their_output, output) = tokio::io::duplex(1 << 20);
    let over = tokio_util::sync::CancellationToken::new();
    let told = over.clone();
    let served = tokio::spawn(async move {
        let over = async move { told.cancelled().await };
        serve_until(&server, their_input, their_output, over, |taken| {
            let params = mcp_wire::Object::new().with("taken", mcp_wire::Raw::of(&taken));
            Some(mcp_wire::Notification::new("farewell", params))
        })
        .await
    });
    let mut output = BufReader::new(output).lines();
    let ping = |id: u32| {
        format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
        )
    };
    input.write_all(ping(1).as_bytes()).await.unwrap();
    input.write_all(b"\n  \nno message\n").await.unwrap();
    let mut lines = Vec::new();
    while lines.len() < 2 {
        let line = timeout(WAIT, output.next_line()).await.unwrap().unwrap();
        lines.push(line.unwrap());
    }
    over.cancel();
    let farewell = timeout(WAIT, output.next_line()).await.unwrap().unwrap();
    let farewell: Value = serde_json::from_str(&farewell.unwrap()).unwrap();
    assert_eq!(farewell["method"], "farewell");
    assert_eq!(
        farewell["params"]["taken"], 2,
        "empty lines are no messages"
    );
    // What comes behind it is nobody's, if it can be written at all.
    drop(input.write_all(ping(2).as_bytes()).await);
    let end = timeout(WAIT, output.next_line()).await.unwrap().unwrap();
    assert_eq!(end, None);
    timeout(WAIT, served).await.unwrap().unwrap().unwrap();
}
