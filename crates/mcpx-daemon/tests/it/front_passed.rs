//! Servers that are passed through under their own names.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::{CallOptions, Event};
use mcp_wire::{Era, Object, Raw, method};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos};
use tokio_util::sync::CancellationToken;

use crate::front_setup::{Daemon, ERAS, object, stdio};

fn options() -> CallOptions {
    CallOptions::default()
}

#[tokio::test]
async fn one_server_alone_looks_as_it_does_without_the_hub() {
    let tool = json!({"name": "odd.name-1", "title": "T", "inputSchema": {"type": "object", "x": 1.5},
        "x-unknown": [1, null], "_meta": {"a.b/c": true}});
    let result =
        json!({"content": [{"type": "hologram", "v": 1}], "x": {"y": 1}, "_meta": {"a.b/c": 1}});
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let chaos = chaos
            .instructions("Mind the gap.")
            .tool_with(tool.clone(), Behaviour::Result(result.clone()))
            .tool(
                "fails",
                Behaviour::ErrorWith(-32050, "no such luck", json!({"n": 1.5})),
            )
            .resource("file:///a", "the text of a")
            .prompt("greet", "Hello!")
            .stdio();
        let daemon = Daemon::of(json!({"only": stdio(&chaos)})).await;
        for era in ERAS {
            let client = daemon
                .client("?passthrough=only&tools=none", era, None)
                .await;
            let agreed = client.agreed();
            assert_eq!(agreed.instructions.as_deref(), Some("Mind the gap."));
            assert_eq!(
                agreed.server_info.as_ref().map(|info| info.name.as_str()),
                Some("chaos")
            );
            assert!(agreed.capabilities.has("prompts") && agreed.capabilities.has("tools"));
            let listed = client
                .request(method::TOOLS_LIST, Object::new(), &options())
                .await
                .unwrap();
            let mcp_wire::Outcome::Complete(listed) = listed else {
                panic!()
            };
            let listed = Raw::from(listed).value().unwrap();
            assert_eq!(listed["tools"][0], tool, "{era:?}");
            assert_eq!(listed["tools"].as_array().unwrap().len(), 2);
            let called = client
                .call_tool("odd.name-1", object(&json!({"a": 1})), &options())
                .await
                .unwrap();
            let called = Raw::from(called.raw().clone()).value().unwrap();
            for member in ["content", "x"] {
                assert_eq!(called[member], result[member], "{era:?}");
            }
            assert_eq!(called["_meta"]["a.b/c"], 1);
            let failure = client
                .call_tool("fails", Object::new(), &options())
                .await
                .unwrap_err();
            let error = failure.answered().unwrap();
            assert_eq!(
                (error.code, error.message.as_str()),
                (-32050, "no such luck")
            );
            assert_eq!(error.data.as_ref().unwrap().as_str(), r#"{"n": 1.5}"#);
            let read = client.read_resource("file:///a", &options()).await.unwrap();
            let read = Raw::from(read.raw).value().unwrap();
            assert_eq!(read["contents"][0]["uri"], "file:///a");
            let prompt = client
                .get_prompt("greet", Object::new(), &options())
                .await
                .unwrap();
            assert_eq!(prompt.messages.len(), 1);
            let unknown = client
                .call_tool("nothing", Object::new(), &options())
                .await
                .unwrap_err();
            assert_eq!(unknown.answered().unwrap().code, -32602);
            let unknown = client
                .read_resource("file:///none", &options())
                .await
                .unwrap_err();
            let code = unknown.answered().unwrap().code;
            assert!([-32602, -32002].contains(&code), "{era:?}: {code}");
        }
    }
}

#[tokio::test]
async fn own_tools_stand_beside_and_a_clash_of_two_servers_names_both() {
    let one = Chaos::new()
        .tool("a", Behaviour::Answer)
        .tool("mcpx_status", Behaviour::Answer)
        .stdio();
    let two = Chaos::new().tool("b", Behaviour::Answer).stdio();
    let three = Chaos::new().tool("a", Behaviour::Answer).stdio();
    let daemon =
        Daemon::of(json!({"one": stdio(&one), "two": stdio(&two), "three": stdio(&three)})).await;
    let client = daemon
        .client("?passthrough=one,two", Era::Modern, None)
        .await;
    let names: Vec<String> = client
        .tools(&options())
        .await
        .unwrap()
        .elements
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    for name in ["mcpx_call", "a", "b"] {
        assert!(names.iter().any(|listed| listed == name), "{names:?}");
    }
    assert_eq!(
        names.iter().filter(|name| *name == "mcpx_status").count(),
        1
    );
    // The server's own wins.
    let status = client
        .call_tool("mcpx_status", object(&json!({"z": 1})), &options())
        .await
        .unwrap();
    assert!(
        status.joined_text().contains(r#""z": 1"#),
        "{}",
        status.joined_text()
    );

    let client = mcpx_api::Client::unix(
        &daemon.socket,
        mcpx_api::Caller::default(),
        Duration::from_secs(10),
    );
    let refused = client
        .upgrade("/mcp?passthrough=one,three", "mcpx-stdio")
        .await
        .err()
        .unwrap();
    let refused = refused.to_string();
    assert!(
        refused.contains("`one`") && refused.contains("`three`") && refused.contains("`a`"),
        "{refused}"
    );
    let refused = client
        .upgrade("/mcp?passthrough=onne", "mcpx-stdio")
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("onne"), "{refused}");
}

#[tokio::test]
async fn prompts_and_resources_of_all_servers_have_names_of_the_hub() {
    let one = Chaos::new()
        .prompt("greet", "Hello from one")
        .resource("file:///a", "the text")
        .stdio();
    let two = Chaos::new()
        .prompt("greet", "Hello from two")
        .resource("file:///a", "another")
        .stdio();
    let daemon = Daemon::of(json!({"one": stdio(&one), "two": stdio(&two)})).await;
    for era in ERAS {
        let client = daemon.client("", era, None).await;
        // Lists start no server: what was read once is there.
        for server in ["one", "two"] {
            client
                .call_tool("mcpx_types", object(&json!({"ns": [server]})), &options())
                .await
                .unwrap();
        }
        let prompts: Vec<String> = client
            .prompts(&options())
            .await
            .unwrap()
            .elements
            .into_iter()
            .map(|prompt| prompt.name)
            .collect();
        assert_eq!(prompts, ["one_greet", "two_greet"]);
        let got = client
            .get_prompt("two_greet", Object::new(), &options())
            .await
            .unwrap();
        assert!(Raw::from(got.raw).as_str().contains("Hello from two"));
        let uris: Vec<String> = client
            .resources(&options())
            .await
            .unwrap()
            .elements
            .into_iter()
            .map(|resource| resource.uri)
            .collect();
        assert_eq!(uris, ["mcpx://one/file:///a", "mcpx://two/file:///a"]);
        let read = client
            .read_resource("mcpx://two/file:///a", &options())
            .await
            .unwrap();
        let read = Raw::from(read.raw).value().unwrap();
        assert_eq!(read["contents"][0]["uri"], "mcpx://two/file:///a");
        assert_eq!(read["contents"][0]["text"], "another");
        let unknown = client
            .read_resource("mcpx://three/x", &options())
            .await
            .unwrap_err();
        let error = unknown.answered().unwrap();
        assert_eq!(error.code, if era == Era::Modern { -32602 } else { -32002 });
        let values = client
            .complete(
                object(&json!({"type": "ref/prompt", "name": "one_greet"})),
                ("name", "a"),
                Object::new(),
                &options(),
            )
            .await;
        assert!(values.is_ok(), "{values:?}");
    }
}

#[tokio::test]
async fn progress_comes_under_the_clients_own_token_and_a_cancel_goes_out_once() {
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let chaos = chaos
            .tool(
                "slow",
                [
                    Behaviour::Progress(3, Duration::from_millis(20)),
                    Behaviour::Answer,
                ],
            )
            .tool("stuck", Behaviour::UntilCancelled(Duration::from_secs(20)))
            .stdio();
        let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
        for era in ERAS {
            // Two clients, whose tokens are whatever they are.
            let (a, b) = (
                daemon.client("?passthrough=s", era, None).await,
                daemon.client("?passthrough=s", era, None).await,
            );
            let seen: [Arc<Mutex<Vec<f64>>>; 2] = Default::default();
            let call = async |client: &mcp_client::Connection, seen: &Arc<Mutex<Vec<f64>>>| {
                let seen = Arc::clone(seen);
                let options = CallOptions {
                    on_progress: Some(Arc::new(move |said| {
                        seen.lock().unwrap().push(said.progress);
                    })),
                    ..options()
                };
                client
                    .call_tool("slow", Object::new(), &options)
                    .await
                    .unwrap();
            };
            tokio::join!(call(&a, &seen[0]), call(&b, &seen[1]));
            for seen in &seen {
                assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 3.0], "{era:?}");
            }
            let before = chaos.received().of_method("notifications/cancelled").len();
            let cancelled = CancellationToken::new();
            let stuck = CallOptions {
                cancelled: cancelled.clone(),
                ..options()
            };
            let calls = chaos.received().of_method("tools/call").len();
            let cancel = async {
                while chaos.received().of_method("tools/call").len() == calls {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                cancelled.cancel();
            };
            let (failed, ()) = tokio::join!(a.call_tool("stuck", Object::new(), &stuck), cancel);
            assert!(failed.is_err());
            let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
            while chaos.received().of_method("notifications/cancelled").len() == before {
                assert!(
                    tokio::time::Instant::now() < deadline,
                    "{era:?}: not cancelled"
                );
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            b.call_tool("slow", Object::new(), &options())
                .await
                .unwrap();
            let after = chaos.received().of_method("notifications/cancelled").len();
            assert_eq!(after, before + 1, "{era:?}");
        }
    }
}

#[tokio::test]
async fn trace_keys_and_foreign_metadata_go_on_and_the_hubs_own_stay() {
    let chaos = Chaos::new().modern().tool("t", Behaviour::Answer).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let meta = object(&json!({"traceparent": "00-1-2-01", "a.b/c": 7, "dev.mcpx/session": "s9"}));
    for (query, tool, arguments) in [
        ("?passthrough=s&tools=none", "t", json!({})),
        ("", "mcpx_call", json!({"tool": "s.t"})),
    ] {
        let client = daemon.client(query, Era::Modern, None).await;
        let options = CallOptions {
            meta: meta.clone(),
            ..options()
        };
        client
            .call_tool(tool, object(&arguments), &options)
            .await
            .unwrap();
        let received = chaos.received();
        let sent =
            received.of_method("tools/call").last().unwrap().message["params"]["_meta"].clone();
        assert_eq!(
            (&sent["traceparent"], &sent["a.b/c"]),
            (&json!("00-1-2-01"), &json!(7)),
            "{sent}"
        );
        assert!(sent.get("dev.mcpx/session").is_none(), "{sent}");
    }
}

async fn heard(
    events: &mut tokio::sync::broadcast::Receiver<Event>,
    what: &str,
    is: impl Fn(&Event) -> bool,
) {
    let listening = async {
        loop {
            match events.recv().await {
                Ok(event) if is(&event) => return,
                Ok(_) => {}
                Err(error) => panic!("{what}: {error}"),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(15), listening)
        .await
        .unwrap_or_else(|_| panic!("waited for {what}"));
}

#[tokio::test]
async fn what_a_server_announces_is_heard_by_the_clients_that_watch() {
    let updated =
        |uri: &str| Behaviour::Announce("notifications/resources/updated", json!({"uri": uri}));
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let chaos = chaos
            .resource("file:///a", "text")
            .tool("touch", [updated("file:///a"), Behaviour::Answer])
            .stdio();
        let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
        for era in ERAS {
            let passed = daemon.client("?passthrough=s&tools=none", era, None).await;
            let named = daemon.client("", era, None).await;
            named
                .call_tool("mcpx_types", object(&json!({"ns": ["s"]})), &options())
                .await
                .unwrap();
            passed.subscribe("file:///a", &options()).await.unwrap();
            named
                .subscribe("mcpx://s/file:///a", &options())
                .await
                .unwrap();
            let (mut of_passed, mut of_named) = (passed.events(), named.events());
            named
                .call_tool("mcpx_call", object(&json!({"tool": "s.touch"})), &options())
                .await
                .unwrap();
            heard(
                &mut of_passed,
                "the server's own name",
                |event| matches!(event, Event::ResourceUpdated { uri } if uri == "file:///a"),
            )
            .await;
            heard(&mut of_named, "the hub's name", |event| matches!(event, Event::ResourceUpdated { uri } if uri == "mcpx://s/file:///a")).await;
            passed.unsubscribe("file:///a", &options()).await.unwrap();
            named
                .unsubscribe("mcpx://s/file:///a", &options())
                .await
                .unwrap();
        }
    }
}
