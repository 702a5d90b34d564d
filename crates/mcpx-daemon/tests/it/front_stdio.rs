//! Connections of `mcpx serve`: messages as over stdio, over an upgraded connection, for one caller.

mod lists;

use std::time::Duration;

use mcp_client::{CallOptions, Event};
use mcp_wire::{Era, Object};
use mcpx_api::{Caller, Client};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, Lines,
};

use crate::front_setup::{Daemon, ERAS, object, stdio};

/// A client that writes lines and reads lines.
struct Pipe<S> {
    lines: Lines<BufReader<tokio::io::ReadHalf<S>>>,
    out: tokio::io::WriteHalf<S>,
}

async fn serve(
    daemon: &Daemon,
    query: &str,
    caller: Caller,
) -> Pipe<impl AsyncRead + AsyncWrite + Unpin + Send + use<>> {
    let client = Client::unix(&daemon.socket, caller, Duration::from_secs(10));
    let io = client
        .upgrade(&format!("/mcp{query}"), "mcpx-stdio")
        .await
        .unwrap();
    let (input, out) = tokio::io::split(io);
    Pipe {
        lines: BufReader::new(input).lines(),
        out,
    }
}

impl<S: AsyncRead + AsyncWrite> Pipe<S> {
    async fn write(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.out.write_all(line.as_bytes()).await.unwrap();
    }

    async fn read(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(15), self.lines.next_line());
        serde_json::from_str(&line.await.unwrap().unwrap().unwrap()).unwrap()
    }

    /// The answer to a request; what comes before it is left out.
    async fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.write(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        loop {
            let message = self.read().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    async fn begin(&mut self, capabilities: Value) {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}});
        let answer = self.ask(1, "initialize", params).await;
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-11-25",
            "{answer}"
        );
        self.write(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
    }
}

fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

#[tokio::test]
async fn one_connection_speaks_either_era_and_its_session_ends_with_it() {
    let chaos = Chaos::new().tool("who", Behaviour::Answer).stdio();
    let mut own = stdio(&chaos);
    own["mcpx"] = json!({"scope": "session"});
    let daemon = Daemon::of(json!({"own": own})).await;
    let caller = |session: Option<&str>, pid: i32| Caller {
        session: session.map(str::to_owned),
        pid: Some(pid),
        cwd: Some("/".into()),
        ..Caller::default()
    };
    let call = |id: u32| {
        (
            id,
            json!({"name": "mcpx_call", "arguments": {"tool": "own.who"}}),
        )
    };

    let mut first = serve(&daemon, "", caller(None, 11)).await;
    first.begin(json!({})).await;
    let (id, params) = call(2);
    let answer = first.ask(id, "tools/call", params).await;
    let instance = answer["result"]["_meta"]["dev.mcpx/call"]["instance"].clone();
    assert!(instance.is_string(), "{answer}");
    // The same session in the other era.
    let (id, params) = call(3);
    let answer = first.ask(id, "tools/call", modern(params)).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(
        answer["result"]["_meta"]["dev.mcpx/call"]["instance"],
        instance
    );

    // Another process has an instance of its own, and so has a session that is named in a request.
    let mut second = serve(&daemon, "", caller(None, 12)).await;
    second.begin(json!({})).await;
    let (id, params) = call(2);
    let answer = second.ask(id, "tools/call", params).await;
    let other = answer["result"]["_meta"]["dev.mcpx/call"]["instance"].clone();
    assert_ne!(other, instance);
    let named = json!({"name": "mcpx_call", "arguments": {"tool": "own.who"}, "_meta": {"dev.mcpx/session": "s"}});
    let answer = second.ask(3, "tools/call", named).await;
    let third = answer["result"]["_meta"]["dev.mcpx/call"]["instance"].clone();
    assert!(third != instance && third != other, "{answer}");

    let is_over = |process: u32| {
        let received = chaos.received();
        received
            .of_kind("eof")
            .iter()
            .any(|entry| entry.pid == process)
            || received
                .of_kind("sigterm")
                .iter()
                .any(|entry| entry.pid == process)
    };
    let processes = chaos.received().processes();
    drop(first);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(15);
    // What the hub read the tools with is among them, and ended before.
    let alive = |processes: &[u32]| processes.iter().filter(|pid| !is_over(**pid)).count();
    while alive(&processes) > 2 {
        assert!(
            tokio::time::Instant::now() < deadline,
            "{} live on",
            alive(&processes)
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (id, params) = call(4);
    let answer = second.ask(id, "tools/call", params).await;
    assert_eq!(
        answer["result"]["_meta"]["dev.mcpx/call"]["instance"],
        other
    );
}

#[tokio::test]
async fn a_question_comes_as_a_request_in_mid_call_and_a_broken_line_costs_nothing_else() {
    let script = [
        Behaviour::Ask("q", testkit::mcp::Question::confirm("Sure?")),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new().legacy().tool("ask", script).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let mut pipe = serve(&daemon, "?passthrough=s&tools=none", Caller::default()).await;
    pipe.begin(json!({"elicitation": {}})).await;
    pipe.out.write_all(b"this is no message\n").await.unwrap();
    assert_eq!(pipe.read().await["error"]["code"], -32700);
    pipe.write(
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask"}}),
    )
    .await;
    let question = pipe.read().await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Sure?");
    pipe.write(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": true}}})).await;
    let answer = pipe.read().await;
    assert_eq!(answer["id"], 2);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(r#""ok": true"#), "{text}");
    // The client goes away in the middle of a question: the server is told.
    pipe.write(
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "ask"}}),
    )
    .await;
    let question = pipe.read().await;
    assert_eq!(question["method"], "elicitation/create");
    pipe.write(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}),
    )
    .await;
    let answer = pipe.ask(4, "ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(15);
    while chaos
        .received()
        .of_method("notifications/cancelled")
        .is_empty()
    {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the server was not told"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_legacy_session_over_http_has_state_of_its_own_until_it_ends() {
    let chaos = Chaos::new().tool("who", Behaviour::Answer).stdio();
    let mut own = stdio(&chaos);
    own["mcpx"] = json!({"scope": "session"});
    let daemon = Daemon::of(json!({"own": own})).await;
    let mut instances = Vec::new();
    for era in ERAS {
        let client = daemon.client("", era, None).await;
        for _ in 0..2 {
            let result = client
                .call_tool(
                    "mcpx_call",
                    object(&json!({"tool": "own.who"})),
                    &CallOptions::default(),
                )
                .await
                .unwrap();
            let about = result
                .raw()
                .object("_meta")
                .unwrap()
                .object("dev.mcpx/call")
                .unwrap();
            instances.push(about.string("instance").unwrap());
        }
        client.close().await;
    }
    // A legacy session is one caller; two modern requests that say nothing are two.
    assert_eq!(instances[0], instances[1]);
    assert_ne!(instances[2], instances[3]);
    assert_ne!(instances[0], instances[2]);
}

#[tokio::test]
async fn a_client_hears_when_a_person_is_done_at_a_page() {
    let script = [
        Behaviour::Ask(
            "q",
            testkit::mcp::Question::url("Sign in", "https://example.com/in", Some("e1")),
        ),
        Behaviour::Announce(
            "notifications/elicitation/complete",
            json!({"elicitationId": "e1"}),
        ),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new().legacy().tool("ask", script).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let mut pipe = serve(&daemon, "", Caller::default()).await;
    pipe.begin(json!({"elicitation": {"url": {}}})).await;
    let params = json!({"name": "mcpx_call", "arguments": {"tool": "s.ask"}});
    pipe.write(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}))
        .await;
    let question = pipe.read().await;
    assert_eq!(question["params"]["elicitationId"], "e1", "{question}");
    assert_eq!(question["params"]["message"], "s: Sign in");
    pipe.write(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}))
        .await;
    let (mut done, mut answered) = (false, false);
    while !(done && answered) {
        let message = pipe.read().await;
        done |= message["method"] == "notifications/elicitation/complete"
            && message["params"]["elicitationId"] == "e1";
        answered |= message["id"] == 2;
    }
}

#[tokio::test]
async fn a_legacy_client_may_have_its_call_as_a_task() {
    let chaos = Chaos::new()
        .tool(
            "slow",
            [
                Behaviour::Delay(Duration::from_millis(200)),
                Behaviour::Answer,
            ],
        )
        .stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let mut pipe = serve(&daemon, "", Caller::default()).await;
    pipe.begin(json!({})).await;
    let params =
        json!({"name": "mcpx_call", "arguments": {"tool": "s.slow"}, "task": {"ttl": 60_000}});
    let made = pipe.ask(2, "tools/call", params).await;
    let task = made["result"]["task"]["taskId"].clone();
    assert!(task.is_string(), "{made}");
    let result = pipe.ask(3, "tasks/result", json!({"taskId": task})).await;
    assert_eq!(
        result["result"]["_meta"]["dev.mcpx/call"]["tool"], "slow",
        "{result}"
    );
}

#[tokio::test]
async fn a_daemon_that_ends_says_what_it_took_and_lets_that_be_finished() {
    let script = [
        Behaviour::Delay(Duration::from_millis(300)),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new().tool("slow", script).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let mut pipe = serve(&daemon, "?passthrough=s", Caller::default()).await;
    pipe.begin(json!({})).await;
    pipe.ask(2, "tools/list", json!({})).await;
    let call =
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "slow"}});
    pipe.write(call).await;
    let deadline = tokio::time::Instant::now() + Duration::from_secs(15);
    while chaos.received().of_method("tools/call").is_empty() {
        assert!(tokio::time::Instant::now() < deadline, "it was not called");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let client = Client::unix(&daemon.socket, Caller::default(), Duration::from_secs(10));
    let shutdown = mcpx_api::operation(mcpx_api::Op::Shutdown);
    client.send(shutdown, &Object::new()).await.unwrap();
    let said = pipe.read().await;
    assert_eq!(said["method"], "notifications/dev.mcpx/ending", "{said}");
    assert_eq!(said["params"], json!({"taken": 4, "restart": false}));
    // Nobody looks at what comes now; what runs is finished.
    drop(
        pipe.out
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}\n")
            .await,
    );
    assert_eq!(pipe.read().await["id"], 3);
    let end = tokio::time::timeout(Duration::from_secs(15), pipe.lines.next_line());
    assert!(matches!(end.await.unwrap(), Ok(None) | Err(_)));
    assert_eq!(chaos.received().of_method("tools/call").len(), 1);
}
