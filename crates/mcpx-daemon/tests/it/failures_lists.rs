//! Failures that others reported of lists: one bad tool, pages, results that break their own schema, lists that change
//! all the time, servers that come late.

mod names;

use std::time::{Duration, Instant};

use mcp_client::CallOptions;
use mcp_wire::{Era, Object, Outcome, Raw, method};
use mcpx_api::Op;
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, Cursors};

use crate::failures_setup::Gate;
use crate::front_setup::{Daemon, ERAS, http, object, stdio};

fn options() -> CallOptions {
    CallOptions::default()
}

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

#[tokio::test]
async fn a_tool_that_cannot_be_read_hides_no_other_and_its_reason_is_told() {
    let chaos = Chaos::new()
        .tool("good", Behaviour::Answer)
        .listed(json!({"name": "bad", "inputSchema": "none"}))
        .listed(json!({"description": "has no name"}))
        .listed(json!(7))
        .tool("better", Behaviour::Answer)
        .stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let types = daemon.ask(Op::Types, json!({"ns": ["s"]})).await.unwrap();
    let types = types.to_string();
    assert!(
        types.contains("good") && types.contains("better"),
        "{types}"
    );
    for era in ERAS {
        let passed = daemon.client("?passthrough=s&tools=none", era, None).await;
        let tools = passed.tools(&options()).await.unwrap();
        assert_eq!(tools.elements.len(), 2, "{tools:?}");
    }
    let status = daemon.checked(Op::Status, json!({})).await;
    let row = status["servers"][0].to_string();
    assert!(row.contains("bad"), "{row}");
    let told = daemon
        .checked(Op::LogQuery, json!({"event": "server.warning"}))
        .await;
    let told = told["records"].to_string();
    assert!(
        told.contains("`bad`") && told.contains("inputSchema"),
        "{told}"
    );
    let called = daemon.ask(Op::Call, json!({"tool": "s.bad"})).await;
    let called = called.unwrap_err().message;
    assert!(called.contains("could not be read"), "{called}");
}

#[tokio::test]
async fn a_list_without_end_is_read_as_far_as_it_goes_and_said_to_be_cut() {
    let chaos = Chaos::new()
        .tool("first", Behaviour::Answer)
        .pages(1, Cursors::Endless)
        .stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let types = daemon.ask(Op::Types, json!({"ns": ["s"]})).await;
    types.unwrap();
    let told = daemon
        .checked(Op::LogQuery, json!({"event": "server.warning"}))
        .await;
    let told = told["records"].to_string();
    assert!(told.contains("is cut"), "{told}");
}

#[tokio::test]
async fn all_pages_of_a_server_are_one_page_of_the_hub() {
    for cursors in [Cursors::Normal, Cursors::Empty] {
        let mut chaos = Chaos::new().pages(2, cursors);
        for at in 0..5 {
            chaos = chaos.tool(&format!("tool_{at}"), Behaviour::Answer);
        }
        let chaos = chaos.http();
        let daemon = Daemon::of(json!({"s": http(&chaos)})).await;
        for era in ERAS {
            let client = daemon.client("?passthrough=s", era, None).await;
            let listed = client
                .request(method::TOOLS_LIST, Object::new(), &options())
                .await
                .unwrap();
            let Outcome::Complete(listed) = listed else {
                panic!("no list")
            };
            let listed = Raw::from(listed).value().unwrap();
            assert!(listed.get("nextCursor").is_none(), "{listed}");
            let names = listed["tools"].as_array().unwrap().iter();
            let passed = names.filter(|tool| tool["name"].as_str().unwrap().starts_with("tool_"));
            assert_eq!(passed.count(), 5);
        }
    }
}

#[tokio::test]
async fn a_result_that_breaks_its_own_schema_comes_through_whole_and_is_told_of_once() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let result =
        json!({"content": [{"type": "text", "text": "none"}], "structuredContent": {"n": "many"}});
    let missing = json!({"content": [{"type": "text", "text": "none"}]});
    let defined = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}, "outputSchema": schema});
    let chaos = Chaos::new()
        .tool_with(defined("wrong"), Behaviour::Result(result.clone()))
        .tool_with(defined("missing"), Behaviour::Result(missing.clone()))
        .stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    for (name, result) in [("wrong", &result), ("missing", &missing)] {
        let called = daemon
            .ask(Op::Call, json!({"tool": format!("s.{name}")}))
            .await
            .unwrap();
        assert_eq!(called["result"]["content"], result["content"]);
        assert_eq!(
            called["result"].get("structuredContent"),
            result.get("structuredContent")
        );
        for era in ERAS {
            let client = daemon.client("?passthrough=s", era, None).await;
            let passed = client
                .call_tool(name, Object::new(), &options())
                .await
                .unwrap();
            let passed = Raw::from(passed.raw().clone()).value().unwrap();
            assert_eq!(passed["content"], result["content"], "{era:?}");
            assert_eq!(
                passed.get("structuredContent"),
                result.get("structuredContent"),
                "{era:?}"
            );
        }
    }
    let told = daemon
        .checked(Op::LogQuery, json!({"event": "server.warning"}))
        .await;
    let said: Vec<&str> = told["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["msg"].as_str().unwrap())
        .collect();
    assert_eq!(said.len(), 2, "each tool is told of once: {said:?}");
    assert!(
        said[0].contains("`wrong`") && said[0].contains("`n` is a string, declared as integer"),
        "{said:?}"
    );
    assert!(
        said[1].contains("`missing`") && said[1].contains("no structured content"),
        "{said:?}"
    );
}

#[tokio::test]
async fn a_thousand_announcements_in_a_second_are_few_readings_and_the_last_list_counts() {
    let changed = || Behaviour::Announce("notifications/tools/list_changed", json!({}));
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let mut storm: Vec<Behaviour> = (0..1_000).map(|_| changed()).collect();
        storm.push(Behaviour::Answer);
        let grown = json!({"tools": [tool("storm"), tool("grown")]});
        let chaos = chaos
            .tool("storm", storm)
            .on_nth("tools/list", 1, Behaviour::Answer)
            .on("tools/list", Behaviour::Result(grown))
            .stdio();
        let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
        let passed = daemon.client("?passthrough=s", Era::Modern, None).await;
        passed.listen_to_lists().await.unwrap();
        let mut events = passed.events();
        passed
            .call_tool("storm", Object::new(), &options())
            .await
            .unwrap();
        daemon
            .until(Op::Search, json!({"q": "grown"}), |found| {
                found.as_array().is_some_and(|rows| !rows.is_empty())
            })
            .await;
        let heard =
            async { while !matches!(events.recv().await, Ok(mcp_client::Event::ToolsChanged)) {} };
        let heard = tokio::time::timeout(Duration::from_secs(20), heard).await;
        heard.expect("the client is told");
        let readings = chaos.received().of_method("tools/list").len();
        assert!(readings <= 8, "{readings} readings");
        let mut more = 0;
        while let Ok(event) = events.try_recv() {
            more += u32::from(matches!(event, mcp_client::Event::ToolsChanged));
        }
        assert!(more <= 8, "{more} announcements");
    }
}

/// A change of the list and thousands of other lines, in one piece.
fn drowned() -> Behaviour {
    let mut said =
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).to_string();
    let line = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
    for _ in 0..3_000 {
        said.push_str(&format!("\n{line}"));
    }
    said.push('\n');
    Behaviour::Raw(said.into_bytes())
}

#[tokio::test]
async fn a_change_that_was_announced_among_thousands_of_other_lines_is_not_lost() {
    let grown = json!({"tools": [tool("grow"), tool("grown")]});
    let server = || {
        Chaos::new()
            .legacy()
            .tool("grow", [drowned(), Behaviour::Answer])
            .on_nth("tools/list", 1, Behaviour::Answer)
            .on("tools/list", Behaviour::Result(grown.clone()))
            .stdio()
    };
    let (one, two) = (server(), server());
    let daemon = Daemon::of(json!({"one": stdio(&one), "two": stdio(&two)})).await;
    let ended = tokio::join!(
        daemon.ask(Op::Call, json!({"tool": "one.grow"})),
        daemon.ask(Op::Call, json!({"tool": "two.grow"})),
    );
    for ended in [ended.0, ended.1] {
        ended.unwrap();
    }
    daemon
        .until(Op::Search, json!({"q": "grown"}), |found| {
            let found = found.to_string();
            found.contains("one.grown") && found.contains("two.grown")
        })
        .await;
}

#[tokio::test]
async fn a_first_list_is_answered_in_time_with_what_there_is_and_the_rest_is_announced() {
    let ready = Chaos::new().tool("ready", Behaviour::Answer).stdio();
    let slow = Chaos::new().tool("slow", Behaviour::Answer).stdio();
    let folder = testkit::TempHome::new();
    let gate = Gate::new(folder.path());
    let servers = json!({"ready": stdio(&ready), "slow": gate.entry(&slow)});
    let daemon = Daemon::with(servers, &[("daemon.warm", "false")]).await;
    let passed = daemon
        .client("?passthrough=ready,slow", Era::Modern, None)
        .await;
    passed.listen_to_lists().await.unwrap();
    let mut events = passed.events();
    let names = async || -> Vec<String> {
        let listed = passed.tools(&options()).await.unwrap().elements;
        listed.into_iter().map(|tool| tool.name).collect()
    };
    let begun = Instant::now();
    let first = names().await;
    // Codex, the most impatient of the hosts, gives a server ten seconds.
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    assert!(first.contains(&"ready".to_owned()), "{first:?}");
    assert!(!first.contains(&"slow".to_owned()), "{first:?}");
    // What is not listed yet can be called as soon as it is there, by a client that knows it from earlier.
    gate.open();
    let called = passed
        .call_tool("slow", Object::new(), &options())
        .await
        .unwrap();
    assert!(!called.is_error, "{}", called.joined_text());
    let heard =
        async { while !matches!(events.recv().await, Ok(mcp_client::Event::ToolsChanged)) {} };
    let heard = tokio::time::timeout(Duration::from_secs(20), heard).await;
    heard.expect("it is announced");
    let all = names().await;
    assert!(all.contains(&"slow".to_owned()), "{all:?}");
}

/// A result with some text and a picture of so many bytes.
fn drawn(text: &str, bytes: usize) -> Value {
    let data = "iVBORw0KGgoA".repeat(bytes / 12);
    json!({"content": [
        {"type": "text", "text": text},
        {"type": "image", "data": data, "mimeType": "image/png"},
    ]})
}

#[tokio::test]
async fn a_picture_stays_a_picture_and_never_becomes_text_for_a_model() {
    let (small, long) = (
        drawn("a picture", 300_000),
        drawn(&"x".repeat(100_000), 300_000),
    );
    let chaos = Chaos::new()
        .tool("draw", Behaviour::Result(small.clone()))
        .tool("tell", Behaviour::Result(long.clone()))
        .tool("flood", Behaviour::Result(drawn("much", 9_000_000)))
        .stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    for era in ERAS {
        let client = daemon.client("", era, None).await;
        let call = async |tool: &str| {
            let args = object(&json!({"server": "s", "tool": tool}));
            let called = client
                .call_tool("mcpx_call", args, &options())
                .await
                .unwrap();
            Raw::from(called.raw().clone()).value().unwrap()["content"].clone()
        };
        assert_eq!(call("draw").await, small["content"], "{era:?}");
        let told = call("tell").await;
        let text = told[0]["text"].as_str().unwrap();
        assert!(
            text.contains("bytes of text are left out") && text.contains("mcpx_read"),
            "{text}"
        );
        assert_eq!(told[1], long["content"][1], "{era:?}");
        let flood = call("flood").await;
        let text = flood[0]["text"].as_str().unwrap();
        assert!(
            text.starts_with("much\n[1 pictures or sounds of 9"),
            "{text}"
        );
        assert!(
            text.len() < 1_000 && flood.as_array().unwrap().len() == 1,
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_broken_record_of_changes_blocks_no_tool() {
    let chaos = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let servers = json!({"s": stdio(&chaos)});
    let daemon = Daemon::of(servers.clone()).await;
    daemon
        .ask(Op::Call, json!({"tool": "s.say"}))
        .await
        .unwrap();
    let record = daemon.home().join("state/catalog-history.json");
    assert!(record.exists(), "{}", record.display());
    #[allow(clippy::disallowed_methods, reason = "the file is the test's own")]
    std::fs::write(&record, "{ this is no record").unwrap();
    let daemon = daemon.again(servers).await;
    daemon
        .ask(Op::Call, json!({"tool": "s.say"}))
        .await
        .unwrap();
    let history = daemon.checked(Op::History, json!({})).await;
    assert_eq!(history["changes"], json!({}), "no history is no drift");
    let told = daemon.checked(Op::LogQuery, json!({"level": "warn"})).await;
    assert!(
        told["records"].to_string().contains("catalog-history"),
        "{told}"
    );
}
