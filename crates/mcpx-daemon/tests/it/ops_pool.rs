//! What runs behind the servers: shared by names, followed by era, told as it is.

use std::time::Duration;

use mcp_client::CallOptions;
use mcp_wire::{Era, Outcome, Revision, method};
use mcpx_api::{Caller, Code, Op};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos};

use crate::front_setup::{Daemon, object, stdio};

fn named(session: &str) -> Caller {
    Caller {
        session: Some(session.to_owned()),
        ..Caller::default()
    }
}

#[tokio::test]
async fn servers_that_share_what_runs_keep_their_own_times_and_their_own_names() {
    let chaos = Chaos::new()
        .tool("say", Behaviour::Answer)
        .tool("never", Behaviour::Never)
        .stdio();
    let entry = |mcpx: Value| {
        let mut entry = stdio(&chaos);
        entry["mcpx"] = mcpx;
        entry
    };
    let daemon = Daemon::of(json!({
        "first": entry(json!({"scope": "session", "max": 2, "callTimeout": "1h", "idleTimeout": "1m"})),
        "second": entry(json!({"scope": "session", "max": 7, "callTimeout": "300ms"})),
        "view": {"aliasOf": "first"},
    }))
    .await;
    for tool in ["first.say", "second.say", "view.say"] {
        let said = daemon
            .ask_as(named("s"), Op::Call, json!({"tool": tool}))
            .await
            .unwrap();
        // One of both gives its name to what runs, whoever is called.
        assert_eq!(said["instance"], "first#2", "{tool}");
        assert_eq!(said["server"], tool.split_once('.').unwrap().0);
    }
    let refused = daemon
        .ask_as(named("s"), Op::Call, json!({"tool": "second.never"}))
        .await
        .unwrap_err();
    assert_eq!(refused.code, Code::Timeout);
    assert!(refused.message.contains("`second`"), "{refused}");
    assert!(refused.message.contains("0.3 s"), "{refused}");

    let stats = daemon
        .checked(Op::StatsQuery, json!({"by": "servers"}))
        .await;
    let text = stats.to_string();
    for name in ["first", "second", "view"] {
        assert!(text.contains(&format!("\"{name}\"")), "{name}: {stats:#}");
    }
    let calls = daemon
        .checked(
            Op::LogQuery,
            json!({"event": "mcp.call", "server": "second"}),
        )
        .await;
    assert_eq!(calls["records"].as_array().unwrap().len(), 2, "{calls:#}");

    let status = daemon.checked(Op::Status, json!({})).await;
    let of = |name: &str| {
        let mut all = status["servers"].as_array().unwrap().iter();
        all.find(|server| server["name"] == name).unwrap()
    };
    for (name, others) in [
        ("first", ["second", "view"]),
        ("second", ["first", "view"]),
        ("view", ["first", "second"]),
    ] {
        assert_eq!(of(name)["sharesWith"], json!(others));
        assert_eq!(of(name)["max"], 7);
        assert_eq!(of(name)["timeoutsMs"]["idle"], 300_000);
    }
    assert_eq!(of("second")["timeoutsMs"]["call"], 300);
    assert_eq!(of("first")["timeoutsMs"]["call"], 3_600_000);
    let from = |name: &str, what: &str| of(name)["sizesFrom"][what].as_str().unwrap();
    assert!(from("first", "max").starts_with("`second`, which shares its instances: "));
    assert!(from("second", "max").ends_with("mcp.json:1"));
    assert_eq!(from("second", "idle"), "`pool.idleTimeout`: default");
    assert_eq!(from("second", "queue"), "`pool.queueTimeout`: default");
}

#[tokio::test]
async fn what_runs_goes_on_under_another_name_when_the_first_is_launched_otherwise() {
    let chaos = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let servers = |env: &str| {
        let mut first = stdio(&chaos);
        first["env"] = json!({"WHICH": env});
        let mut second = stdio(&chaos);
        second["env"] = json!({"WHICH": "1"});
        json!({"first": first, "second": second})
    };
    let daemon = Daemon::of(servers("1")).await;
    let call = |tool: &str| daemon.ask(Op::Call, json!({"tool": tool}));
    assert_eq!(call("second.say").await.unwrap()["instance"], "first#1");
    daemon.rewrite(&servers("2"));
    assert_eq!(call("first.say").await.unwrap()["instance"], "first#1");
    assert_eq!(chaos.received().processes().len(), 2);
    call("second.say").await.unwrap();
    assert_eq!(chaos.received().processes().len(), 2, "the second runs on");
}

#[tokio::test]
async fn a_server_that_follows_is_spoken_to_in_the_era_of_each_caller() {
    let chaos = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let mut entry = stdio(&chaos);
    entry["protocol"] = json!("follow");
    let daemon = Daemon::of(json!({"words": entry})).await;
    for era in [Era::Legacy, Era::Modern, Era::Legacy] {
        let client = daemon.client("?passthrough=words", era, None).await;
        let params = object(&json!({"name": "say", "arguments": {}}));
        let options = CallOptions::default();
        let said = client.request(method::TOOLS_CALL, params, &options).await;
        assert!(matches!(said, Ok(Outcome::Complete(_))), "{said:?}");
    }
    daemon
        .ask(Op::Call, json!({"tool": "words.say"}))
        .await
        .unwrap();
    let status = daemon.checked(Op::Status, json!({})).await;
    let mut spoken: Vec<(Era, u64)> = status["servers"][0]["instances"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let revision = Revision::parse(one["protocol"].as_str().unwrap()).unwrap();
            (revision.era(), one["calls"].as_u64().unwrap())
        })
        .collect();
    spoken.sort_by_key(|(era, _)| *era == Era::Modern);
    // Two of the older era; one of the newer, one of a command, and one that read the tools.
    assert_eq!(spoken, [(Era::Legacy, 2), (Era::Modern, 3)]);
}

#[tokio::test]
async fn a_server_that_follows_and_has_one_era_has_one_instance() {
    let chaos = Chaos::new().legacy().tool("say", Behaviour::Answer).stdio();
    let mut entry = stdio(&chaos);
    entry["protocol"] = json!("follow");
    let daemon = Daemon::of(json!({"words": entry})).await;
    for era in [Era::Legacy, Era::Modern] {
        let client = daemon.client("?passthrough=words", era, None).await;
        let params = object(&json!({"name": "say", "arguments": {}}));
        let options = CallOptions::default();
        client
            .request(method::TOOLS_CALL, params, &options)
            .await
            .unwrap();
    }
    let status = daemon.checked(Op::Status, json!({})).await;
    assert_eq!(
        status["servers"][0]["instances"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn a_shared_instance_of_a_session_serves_its_calls_at_the_same_time() {
    let slow = [Behaviour::Delay(Duration::from_secs(30)), Behaviour::Answer];
    let chaos = Chaos::new()
        .tool("slow", slow)
        .tool("say", Behaviour::Answer)
        .stdio();
    let mut entry = stdio(&chaos);
    entry["mcpx"] = json!({"scope": "session"});
    let daemon = Daemon::of(json!({"words": entry})).await;
    daemon
        .ask_as(
            named("s"),
            Op::Call,
            json!({"tool": "words.slow", "task": {}}),
        )
        .await
        .unwrap();
    let is_called = |_: &Value| !chaos.received().of_method("tools/call").is_empty();
    daemon.until(Op::Health, json!({}), is_called).await;
    let said = daemon
        .ask_as(named("s"), Op::Call, json!({"tool": "words.say"}))
        .await
        .unwrap();
    assert!(said["durationMs"].as_u64().unwrap() < 20_000, "{said:#}");
}

#[tokio::test]
async fn a_start_and_a_stop_are_told_with_what_is_to_know_of_them() {
    let chaos = Chaos::new().modern().tool("say", Behaviour::Answer).stdio();
    let mut entry = stdio(&chaos);
    entry["mcpx"] = json!({"scope": "call", "sharing": "exclusive"});
    let daemon = Daemon::of(json!({"words": entry})).await;
    daemon
        .ask(Op::Call, json!({"tool": "words.say"}))
        .await
        .unwrap();
    let stopped = |all: &Value| all["records"].as_array().unwrap().len() >= 2;
    let stops = json!({"event": "server.stop"});
    let all = daemon.until(Op::LogQuery, stops, stopped).await;
    for record in all["records"].as_array().unwrap() {
        let told = &record["attributes"];
        assert_eq!(told["reason"], "released", "{record:#}");
        assert_eq!(told["calls"], 1, "{record:#}");
        assert!(told["uptimeSec"].is_u64(), "{record:#}");
    }
    let all = daemon
        .checked(Op::LogQuery, json!({"event": "server.start"}))
        .await;
    let starts: Vec<&Value> = all["records"].as_array().unwrap().iter().collect();
    let mut sources: Vec<&str> = Vec::new();
    for record in starts {
        let told = &record["attributes"];
        for (name, value) in [
            ("sharing", "exclusive"),
            ("scope", "call"),
            ("transport", "stdio"),
            ("era", "modern"),
            ("negotiated", "2026-07-28"),
        ] {
            assert_eq!(told[name], value, "{record:#}");
        }
        assert!(
            told["readyMs"].is_u64() && told["pid"].is_u64(),
            "{record:#}"
        );
        sources.push(told["eraSource"].as_str().unwrap());
    }
    sources.sort_unstable();
    sources.dedup();
    assert_eq!(sources, ["probed", "remembered"]);
}

#[tokio::test]
async fn the_status_says_who_is_connected_and_what_that_spares() {
    let chaos = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let daemon = Daemon::of(json!({"words": stdio(&chaos)})).await;
    let alone = daemon.checked(Op::Status, json!({})).await;
    assert_eq!(alone["clients"], 0);
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(daemon.client("?passthrough=words", Era::Legacy, None).await);
    }
    let status = daemon.checked(Op::Status, json!({})).await;
    assert_eq!(status["clients"], 3);
    let saving = &status["saving"];
    assert_eq!(
        (&saving["instances"], &saving["apart"]),
        (&json!(1), &json!(3))
    );
}
