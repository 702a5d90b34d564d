//! What a connection lists, and how it hears that it changed.

use super::*;

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
