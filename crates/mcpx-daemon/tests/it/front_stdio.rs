//! Connections of `mcpx serve`: messages as over stdio, over an upgraded connection, for one caller.

mod calls;

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
async fn the_first_answers_wait_for_no_server() {
    let slow = Chaos::new()
        .starts_after(Duration::from_secs(60))
        .tool("a", Behaviour::Answer)
        .stdio();
    let daemon = Daemon::of(json!({"slow": stdio(&slow)})).await;
    let asked = async {
        let mut pipe = serve(&daemon, "", Caller::default()).await;
        pipe.begin(json!({})).await;
        let tools = pipe.ask(2, "tools/list", json!({})).await;
        assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 9);
        for method in ["prompts/list", "resources/list", "resources/templates/list"] {
            pipe.ask(3, method, json!({})).await;
        }
        let discovered = pipe.ask(4, "server/discover", modern(json!({}))).await;
        assert!(
            discovered["result"]["instructions"]
                .as_str()
                .unwrap()
                .contains("slow")
        );
    };
    tokio::time::timeout(Duration::from_secs(10), asked)
        .await
        .unwrap();
    assert!(slow.received().processes().is_empty());
}

#[tokio::test]
async fn lists_that_change_are_announced_to_those_who_see_them() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let changed = json!({"tools": [tool("first"), tool("second")]});
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let announce = Behaviour::Announce("notifications/tools/list_changed", json!({}));
        let chaos = chaos
            .tool("first", [announce, Behaviour::Answer])
            .on_nth("tools/list", 1, Behaviour::Answer)
            .on_nth("tools/list", 2, Behaviour::Result(changed.clone()))
            .stdio();
        let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
        let passed = daemon.client("?passthrough=s", Era::Modern, None).await;
        passed.listen_to_lists().await.unwrap();
        let mut events = passed.events();
        let mut old = serve(&daemon, "?passthrough=s&tools=none", Caller::default()).await;
        old.begin(json!({})).await;
        let before = passed
            .tools(&CallOptions::default())
            .await
            .unwrap()
            .elements
            .len();
        passed
            .call_tool("first", Object::new(), &CallOptions::default())
            .await
            .unwrap();
        loop {
            let event = tokio::time::timeout(Duration::from_secs(15), events.recv()).await;
            if matches!(
                event.expect("an announcement").unwrap(),
                Event::ToolsChanged
            ) {
                break;
            }
        }
        assert_eq!(
            old.read().await["method"],
            "notifications/tools/list_changed"
        );
        let after = passed
            .tools(&CallOptions::default())
            .await
            .unwrap()
            .elements
            .len();
        assert_eq!(after, before + 1);
        passed
            .call_tool("second", Object::new(), &CallOptions::default())
            .await
            .ok();
    }
}

#[tokio::test]
async fn prompts_that_would_have_one_name_are_told_apart() {
    let one = Chaos::new().prompt("b_c", "of a").stdio();
    let two = Chaos::new().prompt("c", "of a_b").stdio();
    let daemon = Daemon::of(json!({"a": stdio(&one), "a_b": stdio(&two)})).await;
    let mut pipe = serve(&daemon, "", Caller::default()).await;
    pipe.begin(json!({})).await;
    for (id, server) in [(2, "a"), (3, "a_b")] {
        pipe.ask(
            id,
            "tools/call",
            json!({"name": "mcpx_types", "arguments": {"ns": [server]}}),
        )
        .await;
    }
    let listed = pipe.ask(4, "prompts/list", json!({})).await;
    let names: Vec<&str> = listed["result"]["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prompt| prompt["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 2);
    assert!(
        names[0] != names[1] && names.iter().all(|name| name.starts_with("a_b_c_")),
        "{names:?}"
    );
    let mut texts = Vec::new();
    for name in names {
        let got = pipe.ask(5, "prompts/get", json!({"name": name})).await;
        texts.push(
            got["result"]["messages"][0]["content"]["text"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    texts.sort();
    assert_eq!(texts, ["of a", "of a_b"]);
}
