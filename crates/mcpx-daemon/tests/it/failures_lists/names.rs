//! How a tool is called, and how a model gets to it.

use mcp_wire::Raw;
use mcpx_api::Op;
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos, StdioChaos};

use super::options;
use crate::front_setup::{Daemon, ERAS, object, stdio};

#[tokio::test]
async fn a_bare_name_is_taken_while_one_server_has_it_and_the_answer_says_which() {
    let chaos = |names: &[&str]| {
        let chaos = Chaos::new();
        let with = names
            .iter()
            .fold(chaos, |chaos, name| chaos.tool(name, Behaviour::Answer));
        with.stdio()
    };
    let (one, two) = (chaos(&["say", "only"]), chaos(&["say"]));
    let daemon = Daemon::of(json!({"one": stdio(&one), "two": stdio(&two)})).await;
    let taken = daemon.ask(Op::Call, json!({"tool": "only"})).await.unwrap();
    assert_eq!(
        (&taken["server"], &taken["tool"]),
        (&json!("one"), &json!("only"))
    );
    let several = daemon.ask(Op::Call, json!({"tool": "say"})).await;
    let several = several.unwrap_err();
    let hint = several.hint.clone().unwrap_or_default();
    assert!(
        hint.contains("one.say") && hint.contains("two.say"),
        "{several:?}"
    );
    let calls = json!({"calls": [{"tool": "only"}, {"tool": "say"}, {"tool": "two.say"}], "stopOnError": false});
    let batch = daemon.ask(Op::Batch, calls).await.unwrap();
    let batch = batch.to_string();
    assert!(
        batch.contains("one.say") && batch.contains("may mean several"),
        "{batch}"
    );
    let called = |server: &StdioChaos| server.received().of_method("tools/call").len();
    assert_eq!((called(&one), called(&two)), (2, 1));
}

#[tokio::test]
async fn a_tool_that_nobody_looked_for_can_be_called_by_a_model() {
    let chaos = Chaos::new().tool("odd.name-1", Behaviour::Answer).stdio();
    let servers = json!({"far-away": stdio(&chaos)});
    let daemon = Daemon::with(servers, &[("daemon.warm", "false")]).await;
    for (query, spelled) in [
        ("", "far-away.odd.name-1"),
        ("", "farAway.oddName1"),
        ("?passthrough=far-away", "odd.name-1"),
    ] {
        for era in ERAS {
            let client = daemon.client(query, era, None).await;
            let args = object(&json!({"tool": spelled, "args": {"a": 1}}));
            let called = client.call_tool("mcpx_call", args, &options()).await;
            let called = called.unwrap();
            assert!(!called.is_error, "{spelled}: {}", called.joined_text());
        }
    }
}

#[tokio::test]
async fn the_tools_that_lead_to_all_others_are_loaded_at_once() {
    let chaos = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    for era in ERAS {
        let client = daemon.client("", era, None).await;
        let tools = client.tools(&options()).await.unwrap().elements;
        let loaded: Vec<&str> = tools
            .iter()
            .filter(|tool| {
                let tool = Raw::from(tool.raw().clone()).value().unwrap();
                tool["_meta"]["anthropic/alwaysLoad"] == true
            })
            .map(|tool| tool.name.as_str())
            .collect();
        assert!(
            loaded.contains(&"mcpx_search") && loaded.contains(&"mcpx_call"),
            "{loaded:?}"
        );
        assert!((2..=4).contains(&loaded.len()), "{era:?}: {loaded:?}");
    }
}
