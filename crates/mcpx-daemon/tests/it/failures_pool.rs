//! Failures that others reported of pools: a process per request, a pool that is full, one that waits for the slowest.

mod starts;

use std::time::Duration;

use mcp_client::CallOptions;
use mcp_wire::{Era, Object};
use mcpx_api::{Code, Op};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, StdioChaos};

use crate::failures_setup::until;
use crate::front_setup::{Daemon, ERAS, object, stdio};
use crate::routes_setup::{connect, exchange, posted};

fn options() -> CallOptions {
    CallOptions::default()
}

fn alone(server: &StdioChaos) -> Value {
    let mut entry = stdio(server);
    entry["mcpx"] = json!({"sharing": "exclusive", "max": 1});
    entry
}

#[tokio::test]
async fn requests_of_clients_without_a_session_start_no_process_each() {
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let chaos = chaos.tool("say", Behaviour::Answer).stdio();
        let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
        for era in ERAS {
            for _ in 0..10 {
                // A connection and, in the older era, a session for each call.
                let client = daemon.client("?passthrough=s", era, None).await;
                let called = client.call_tool("say", Object::new(), &options()).await;
                called.unwrap();
                client.close().await;
            }
        }
        for _ in 0..10 {
            let called = daemon.ask(Op::Call, json!({"tool": "s.say"})).await;
            called.unwrap();
        }
        assert_eq!(chaos.received().processes().len(), 1);
        assert!(chaos.received().of_kind("eof").is_empty());
    }
}

#[tokio::test]
async fn a_call_whose_client_breaks_off_gives_the_only_instance_back() {
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let stuck = [
            Behaviour::UntilCancelled(Duration::from_secs(60)),
            Behaviour::Answer,
        ];
        let chaos = chaos
            .tool("stuck", stuck)
            .tool("say", Behaviour::Answer)
            .stdio();
        let daemon = Daemon::of(json!({"s": alone(&chaos)})).await;
        let arrived = || {
            let received = chaos.received();
            let calls = received.of_method("tools/call").into_iter();
            calls
                .filter(|call| call.message["params"]["name"] == "stuck")
                .count()
        };
        let mut expected = 0;
        for round in 0..6 {
            expected += 1;
            let broken_off = until("it arrives", || arrived() >= expected);
            match round % 3 {
                0 => {
                    let call = daemon.ask(Op::Call, json!({"tool": "s.stuck"}));
                    tokio::select! {
                        ended = call => panic!("{ended:?}"),
                        () = broken_off => {}
                    }
                }
                1 => {
                    let client = daemon.client("", Era::Modern, None).await;
                    let args = object(&json!({"tool": "s.stuck"}));
                    let options = options();
                    let call = client.call_tool("mcpx_call", args, &options);
                    tokio::select! {
                        ended = call => panic!("{ended:?}"),
                        () = broken_off => {}
                    }
                }
                _ => {
                    let mut stream = connect(&daemon).await;
                    let body = r#"{"tool": "s.stuck"}"#;
                    let request = posted("/v1/call", "content-type: application/json\r\n", body);
                    tokio::select! {
                        came = exchange(&mut stream, request) => panic!("{came:?}"),
                        () = broken_off => {}
                    }
                }
            }
            let after = tokio::time::timeout(
                Duration::from_secs(20),
                daemon.ask(Op::Call, json!({"tool": "s.say"})),
            );
            after.await.expect("a free instance").expect("an answer");
        }
        assert_eq!(chaos.received().processes().len(), 1);
        let cancelled = chaos.received().of_method("notifications/cancelled").len();
        assert_eq!(cancelled, expected, "each once");
    }
}

#[tokio::test]
async fn what_clients_open_and_close_never_touches_the_server_behind() {
    let chaos = Chaos::new().legacy().tool("say", Behaviour::Answer).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let json_type =
        "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    for _ in 0..5 {
        let mut posts = connect(&daemon).await;
        let request = posted("/mcp?passthrough=s", json_type, &initialize.to_string());
        let begun = exchange(&mut posts, request).await;
        let session = begun
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        let listen = format!(
            "GET /mcp?passthrough=s HTTP/1.1\r\nhost: mcpx\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n"
        );
        // A second listener of the same session beside the first, and both break off.
        let mut listeners = Vec::new();
        for _ in 0..3 {
            let mut stream = connect(&daemon).await;
            let came = exchange(&mut stream, &listen).await;
            assert!(came.status < 500, "{came:?}");
            listeners.push(stream);
        }
        drop(listeners);
        let end = format!(
            "DELETE /mcp?passthrough=s HTTP/1.1\r\nhost: mcpx\r\nmcp-session-id: {session}\r\n\r\n"
        );
        let ended = exchange(&mut connect(&daemon).await, end).await;
        assert!(ended.status < 300, "{ended:?}");
        let called = daemon.ask(Op::Call, json!({"tool": "s.say"})).await;
        called.unwrap();
    }
    assert_eq!(chaos.received().processes().len(), 1);
    assert!(chaos.received().of_kind("eof").is_empty());
}

/// What says that there is no room, and nothing else.
#[track_caller]
fn is_exhausted(surface: &str, said: &str) {
    assert!(said.contains("no free instance"), "{surface}: {said}");
    let said = said.to_lowercase();
    for wrong in ["unknown tool", "no tool", "not found", "no server"] {
        assert!(!said.contains(wrong), "{surface}: {said}");
    }
}

#[tokio::test]
async fn an_exhausted_pool_says_so_on_every_surface() {
    let hold = [
        Behaviour::UntilCancelled(Duration::from_secs(60)),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new()
        .tool("hold", hold)
        .tool("say", Behaviour::Answer)
        .resource("file:///a", "text")
        .prompt("greet", "Hello")
        .stdio();
    let settings = [("pool.queueTimeout", "50ms"), ("daemon.warm", "false")];
    let daemon = Daemon::with(json!({"s": alone(&chaos)}), &settings).await;
    daemon
        .ask(Op::Call, json!({"tool": "s.say"}))
        .await
        .unwrap();
    let holder = daemon.api();
    let held = tokio::spawn(async move {
        let params = object(&json!({"tool": "s.hold"}));
        holder.send(mcpx_api::operation(Op::Call), &params).await
    });
    until("it is held", || {
        chaos.received().of_method("tools/call").len() == 2
    })
    .await;

    let refused = daemon.ask(Op::Call, json!({"tool": "s.say"})).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, Code::Exhausted);
    is_exhausted("call", &refused.message);
    let bare = daemon.ask(Op::Call, json!({"tool": "say"})).await;
    is_exhausted("a bare name", &bare.unwrap_err().message);
    let calls = json!({"calls": [{"tool": "s.say"}], "stopOnError": false});
    let batch = daemon.ask(Op::Batch, calls.clone()).await.unwrap();
    is_exhausted("batch", &batch.to_string());
    let read = daemon
        .ask(Op::ResourceRead, json!({"server": "s", "uri": "file:///a"}))
        .await;
    is_exhausted("resource", &read.unwrap_err().message);
    let path = daemon
        .ask(Op::CallPath, json!({"server": "s", "tool": "say"}))
        .await;
    is_exhausted("path", &path.unwrap_err().message);
    let task = daemon
        .ask(Op::Call, json!({"tool": "s.say", "task": {}}))
        .await
        .unwrap();
    let result = json!({"id": task["task"]["id"], "waitMs": 20_000});
    let result = daemon.ask(Op::TaskResult, result).await;
    is_exhausted("task", &result.unwrap_err().message);

    for era in ERAS {
        let client = daemon.client("", era, None).await;
        for (tool, arguments) in [
            ("mcpx_call", json!({"tool": "s.say"})),
            ("mcpx_batch", calls.clone()),
        ] {
            let called = client
                .call_tool(tool, object(&arguments), &options())
                .await
                .unwrap();
            is_exhausted(tool, &called.joined_text());
        }
        let passed = daemon.client("?passthrough=s", era, None).await;
        let names: Vec<String> = passed
            .tools(&options())
            .await
            .unwrap()
            .elements
            .into_iter()
            .map(|tool| tool.name)
            .collect();
        assert!(names.contains(&"say".to_owned()), "{names:?}");
        let called = passed.call_tool("say", Object::new(), &options()).await;
        is_exhausted("passed call", &format!("{called:?}"));
        let prompt = passed
            .get_prompt("greet", Object::new(), &options())
            .await
            .unwrap_err();
        is_exhausted("passed prompt", &prompt.to_string());
        let read = passed
            .read_resource("file:///a", &options())
            .await
            .unwrap_err();
        is_exhausted("passed resource", &read.to_string());
    }
    assert_eq!(chaos.received().processes().len(), 1);
    held.abort();
}

#[tokio::test]
async fn a_server_that_nobody_could_read_for_want_of_room_is_not_unknown() {
    let hold = [
        Behaviour::UntilCancelled(Duration::from_secs(60)),
        Behaviour::Answer,
    ];
    let first = Chaos::new().tool("hold", hold).stdio();
    let second = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let settings = [
        ("pool.globalMax", "1"),
        ("pool.queueTimeout", "50ms"),
        ("daemon.warm", "false"),
    ];
    let servers = json!({"first": stdio(&first), "second": stdio(&second)});
    let daemon = Daemon::with(servers, &settings).await;
    let holder = daemon.api();
    let held = tokio::spawn(async move {
        let params = object(&json!({"tool": "first.hold"}));
        holder.send(mcpx_api::operation(Op::Call), &params).await
    });
    until("it is held", || {
        !first.received().of_method("tools/call").is_empty()
    })
    .await;
    let named = daemon.ask(Op::Call, json!({"tool": "second.say"})).await;
    is_exhausted("its name", &named.unwrap_err().message);
    let types = daemon.ask(Op::Types, json!({"ns": ["second"]})).await;
    let types = types.map_or_else(|error| error.message, |text| text.to_string());
    is_exhausted("types", &types);
    // Nobody knows whose tool a bare name is; that one of two could not be asked is said.
    let bare = daemon.ask(Op::Call, json!({"tool": "say"})).await;
    let bare = bare.unwrap_err();
    let said = format!("{} {:?}", bare.message, bare.hint);
    assert!(
        said.contains("second") && said.contains("no free instance"),
        "{said}"
    );
    for era in ERAS {
        let passed = daemon.client("?passthrough=first,second", era, None).await;
        let called = passed.call_tool("say", Object::new(), &options()).await;
        let said = format!("{called:?}");
        assert!(said.contains("no free instance"), "{era:?}: {said}");
    }
    assert!(second.received().processes().is_empty());
    held.abort();
}

#[tokio::test]
async fn a_server_that_fails_all_the_time_costs_the_others_nothing() {
    let broken = Chaos::new()
        .on("initialize", Behaviour::Exit(3))
        .on("server/discover", Behaviour::Exit(3))
        .stdio();
    let crashes = Chaos::new().tool("crash", Behaviour::Exit(4)).stdio();
    let fine = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let daemon = Daemon::of(json!({
        "broken": stdio(&broken), "crashes": stdio(&crashes), "fine": stdio(&fine),
    }))
    .await;
    for _ in 0..10 {
        let calls = [
            daemon.ask(Op::Call, json!({"tool": "broken.x"})),
            daemon.ask(Op::Call, json!({"tool": "crashes.crash"})),
            daemon.ask(Op::Call, json!({"tool": "fine.say"})),
        ];
        let ended = futures::future::join_all(calls).await;
        let ok: Vec<bool> = ended.iter().map(Result::is_ok).collect();
        assert_eq!(ok, [false, false, true], "{ended:?}");
    }
    assert_eq!(fine.received().processes().len(), 1);
    assert_eq!(fine.received().of_method("tools/list").len(), 1);
    let status = daemon.checked(Op::Status, json!({})).await;
    let rows = status["servers"].as_array().unwrap().iter();
    let healthy: Vec<(&str, &Value)> = rows
        .map(|row| (row["name"].as_str().unwrap(), &row["healthy"]))
        .collect();
    assert!(healthy.contains(&("fine", &json!(true))), "{healthy:?}");
    assert!(healthy.contains(&("broken", &json!(false))), "{healthy:?}");
}
