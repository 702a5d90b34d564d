//! What is told while the daemon lives.

use std::time::Duration;

use mcpx_api::{Caller, Code, Op, operation};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos};

use crate::front_setup::{Daemon, stdio};
use crate::ops_setup::{files, members};

#[tokio::test]
async fn who_follows_the_log_gets_each_record_once() {
    let chaos = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let daemon = Daemon::of(json!({"words": stdio(&chaos)})).await;
    let mut page = daemon
        .checked(Op::LogQuery, json!({"event": "mcp.call"}))
        .await;
    assert_eq!(page["records"], json!([]));
    let mut seen = Vec::new();
    for at in 0..6 {
        daemon
            .ask(
                Op::Call,
                json!({"tool": "words.say", "session": format!("s{at}")}),
            )
            .await
            .expect("an answer");
        page = daemon
            .checked(
                Op::LogQuery,
                json!({"event": "mcp.call", "after": page["cursor"]}),
            )
            .await;
        let records = page["records"].as_array().expect("records");
        seen.extend(
            records
                .iter()
                .map(|record| record["session"].as_str().unwrap_or_default().to_owned()),
        );
    }
    assert_eq!(seen, ["s0", "s1", "s2", "s3", "s4", "s5"]);
    let one = daemon.checked(Op::LogQuery, json!({"session": "s3"})).await;
    assert_eq!(one["records"].as_array().map(Vec::len), Some(1));
    let stats = daemon.checked(Op::StatsQuery, json!({"by": "calls"})).await;
    assert_eq!(stats["rows"][0]["calls"], 6);
}

#[tokio::test]
async fn a_failed_tool_is_a_failure_in_the_statistics() {
    let chaos = Chaos::new()
        .tool("fails", Behaviour::Failed("no luck"))
        .stdio();
    let daemon = Daemon::of(json!({"words": stdio(&chaos)})).await;
    let answer = daemon
        .ask(Op::Call, json!({"tool": "words.fails"}))
        .await
        .expect("an answer");
    assert_eq!(answer["result"]["isError"], true);
    let stats = daemon.checked(Op::StatsQuery, json!({"by": "calls"})).await;
    assert_eq!(stats["rows"][0]["failed"], 1);
}

#[tokio::test]
async fn a_server_that_says_its_tools_changed_is_read_again_and_the_change_is_kept() {
    let before = json!({"tools": [{"name": "say", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}]});
    let after = json!({"tools": [{"name": "say", "inputSchema": {"type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["b"]}}]});
    let chaos = Chaos::new()
        .legacy()
        .tool(
            "say",
            [
                Behaviour::Notify("notifications/tools/list_changed", json!({})),
                Behaviour::Answer,
            ],
        )
        .on_nth("tools/list", 1, Behaviour::Result(before))
        .on("tools/list", Behaviour::Result(after))
        .stdio();
    let daemon = Daemon::of(json!({"words": stdio(&chaos)})).await;
    let mut events = daemon
        .api()
        .stream(
            operation(Op::Events),
            &members(&json!({"kinds": ["catalog.*"], "since": 0})),
        )
        .await
        .expect("a stream");
    daemon
        .ask(Op::Call, json!({"tool": "words.say"}))
        .await
        .expect("an answer");
    let history = daemon
        .until(Op::History, json!({"tool": "words.say"}), |history| {
            history["changes"].get("words.say").is_some()
        })
        .await;
    assert_eq!(history["tools"], json!(["words.say"]));
    let kinds: Vec<&Value> = history["changes"]["words.say"]
        .as_array()
        .expect("changes")
        .iter()
        .map(|change| &change["kind"])
        .collect();
    assert_eq!(kinds, ["argument-added"]);
    let limited = daemon.checked(Op::History, json!({"limit": 0})).await;
    assert_eq!(limited["changes"], json!({}));
    let later = daemon
        .checked(Op::History, json!({"since": "2999-01-01"}))
        .await;
    assert_eq!(later["changes"], json!({}));
    let unknown = daemon
        .ask(Op::History, json!({"tool": "words.sya"}))
        .await
        .expect_err("none");
    assert!(
        unknown
            .hint
            .as_deref()
            .is_some_and(|hint| hint.contains("words.say")),
        "{unknown:?}"
    );
    let mut heard = Vec::new();
    while !heard.contains(&"catalog.changed".to_owned()) {
        let event = tokio::time::timeout(Duration::from_secs(20), events.next())
            .await
            .expect("in time")
            .expect("a stream")
            .expect("an event");
        heard.extend(event.kind);
    }
    let told = daemon
        .checked(Op::LogQuery, json!({"event": "catalog.changed"}))
        .await;
    assert_eq!(told["records"][0]["tool"], "say");
}

#[tokio::test]
async fn a_resource_is_watched_as_long_as_somebody_listens() {
    let updated = json!({"uri": "file:///a"});
    let chaos = Chaos::new()
        .legacy()
        .resource("file:///a", "the text of a")
        .tool(
            "touch",
            [
                Behaviour::Notify(
                    "notifications/resources/updated",
                    json!({"uri": "file:///b"}),
                ),
                Behaviour::Notify("notifications/resources/updated", updated),
                Behaviour::Answer,
            ],
        )
        .stdio();
    let daemon = Daemon::of(json!({"words": stdio(&chaos)})).await;
    let api = daemon.api();
    let wanted = json!({"uri": "words/file:///a", "kinds": ["resource.updated"]});
    let mut events = api
        .stream(operation(Op::Events), &members(&wanted))
        .await
        .expect("a stream");
    daemon
        .ask(Op::Call, json!({"tool": "words.touch"}))
        .await
        .expect("an answer");
    let event = tokio::time::timeout(Duration::from_secs(20), events.next())
        .await
        .expect("in time")
        .expect("a stream")
        .expect("an event");
    assert!(
        event.data.contains("file:///a"),
        "only the one that is watched: {event:?}"
    );
    drop((events, api));
    daemon
        .until(Op::Health, json!({}), |_| {
            !chaos
                .received()
                .of_method("resources/unsubscribe")
                .is_empty()
        })
        .await;
    let error = daemon
        .api()
        .stream(operation(Op::Events), &members(&json!({"uri": "nothing"})))
        .await
        .expect_err("no resource");
    assert!(
        error.to_string().contains("expected `namespace/uri`"),
        "{error}"
    );
}

#[tokio::test]
async fn only_what_belongs_to_the_session_and_its_process_is_released() {
    let chaos = |name: &'static str| Chaos::new().tool(name, Behaviour::Answer).stdio();
    let (shared, mine, process) = (chaos("a"), chaos("b"), chaos("c"));
    let scoped = |server: &testkit::mcp::StdioChaos, scope: &str| {
        let mut entry = stdio(server);
        entry["mcpx"] = json!({"scope": scope});
        entry
    };
    let daemon = Daemon::of(json!({
        "shared": stdio(&shared), "mine": scoped(&mine, "session"), "process": scoped(&process, "pid"),
    }))
    .await;
    let pid = i32::try_from(std::process::id()).expect("a pid");
    for session in ["one", "two"] {
        let caller = Caller {
            session: Some(session.to_owned()),
            pid: Some(pid),
            ..Caller::default()
        };
        for tool in ["shared.a", "mine.b", "process.c"] {
            daemon
                .ask_as(caller.clone(), Op::Call, json!({"tool": tool}))
                .await
                .expect("an answer");
        }
    }
    let released = daemon
        .checked(Op::SessionRelease, json!({"session": "one", "pid": pid}))
        .await;
    assert_eq!(released["released"], 2);
    let keys = |status: &Value| -> Vec<String> {
        let servers = status["servers"].as_array().expect("servers");
        let all = servers
            .iter()
            .flat_map(|row| row["instances"].as_array().cloned().unwrap_or_default());
        let mut keys: Vec<String> = all
            .map(|one| one["key"].as_str().unwrap_or_default().to_owned())
            .collect();
        keys.sort();
        keys
    };
    daemon
        .until(Op::Status, json!({}), |status| {
            keys(status) == ["global", "session:two"]
        })
        .await;
}

#[tokio::test]
async fn no_secret_of_a_server_is_in_any_file_that_the_hub_keeps_or_in_any_answer() {
    const SECRETS: [&str; 3] = [
        "sentinel-env-81c2",
        "sentinel-header-81c2",
        "sentinel-bearer-81c2",
    ];
    let chaos = Chaos::new()
        .tool(
            "leaks",
            Behaviour::ErrorWith(-32000, "denied for sentinel-env-81c2", json!({})),
        )
        .tool(
            "says",
            Behaviour::Log("error", "the key is sentinel-env-81c2"),
        )
        .stdio();
    let mut entry = stdio(&chaos);
    entry["env"] = json!({"API_KEY": SECRETS[0]});
    let remote = json!({"url": "http://127.0.0.1:9/mcp", "headers": {"X-Api-Key": SECRETS[1]},
        "auth": {"type": "bearer", "token": SECRETS[2]}});
    let daemon = Daemon::of(json!({"words": entry, "far": remote})).await;
    daemon
        .ask(
            Op::SettingsSet,
            json!({"path": "logging.level", "value": "debug"}),
        )
        .await
        .expect("set");
    for tool in ["words.leaks", "words.says", "far.x"] {
        let _whatever_it_answers = daemon.ask(Op::Call, json!({"tool": tool})).await;
    }
    let mut answers = String::new();
    for op in [
        Op::Status,
        Op::Namespaces,
        Op::ServersList,
        Op::SettingsList,
        Op::LogQuery,
        Op::Openapi,
    ] {
        answers.push_str(
            &daemon
                .ask(op, json!({}))
                .await
                .expect("an answer")
                .to_string(),
        );
    }
    let errors = daemon
        .checked(Op::StatsQuery, json!({"by": "errors"}))
        .await;
    assert!(
        errors["rows"]
            .as_array()
            .is_some_and(|rows| !rows.is_empty()),
        "{errors:#}"
    );
    answers.push_str(&errors.to_string());
    let mut kept = Vec::new();
    files(&daemon.home().join("state"), &mut kept);
    assert!(
        kept.iter()
            .any(|(path, _)| path.extension().is_some_and(|ending| ending == "jsonl"))
    );
    for secret in SECRETS {
        assert!(!answers.contains(secret), "{secret}");
        for (path, content) in &kept {
            let found = content
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "{secret} is in {}", path.display());
        }
    }
}

#[tokio::test]
async fn a_log_that_cannot_be_written_stops_nothing_and_is_told() {
    let chaos = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let daemon = Daemon::of(json!({"words": stdio(&chaos)})).await;
    let logs = daemon.home().join("state").join("logs");
    daemon.checked(Op::LogQuery, json!({})).await;
    // A file where the folder was: nothing can be written below it.
    #[allow(clippy::disallowed_methods, reason = "the folder is the test's own")]
    std::fs::remove_dir_all(&logs).expect("removed");
    #[allow(clippy::disallowed_methods, reason = "the file is the test's own")]
    std::fs::write(&logs, "").expect("written");
    for _ in 0..3 {
        daemon
            .ask(Op::Call, json!({"tool": "words.say"}))
            .await
            .expect("an answer");
    }
    let status = daemon
        .until(Op::Status, json!({}), |status| {
            status["log"].get("failing").is_some()
        })
        .await;
    assert!(
        status["log"]["lost"].as_u64().is_some_and(|lost| lost > 0),
        "{status:#}"
    );
    if let Err(error) = daemon.ask(Op::LogQuery, json!({})).await {
        assert_eq!(error.code, Code::Unavailable, "{error}");
    }
}

#[tokio::test]
async fn a_server_that_is_ready_late_is_found_without_being_asked_for() {
    let chaos = Chaos::new()
        .tool("say", Behaviour::Answer)
        .starts_after(Duration::from_millis(300))
        .stdio();
    let daemon = Daemon::of(json!({"late": stdio(&chaos)})).await;
    let rows = daemon.checked(Op::Namespaces, json!({})).await;
    assert_eq!(rows[0]["state"], "unread");
    let found = daemon
        .until(Op::Search, json!({"q": "say"}), |found| {
            found.as_array().is_some_and(|rows| !rows.is_empty())
        })
        .await;
    assert_eq!(found[0]["function"], "late.say");
    let events = daemon
        .checked(Op::LogQuery, json!({"event": "server.start"}))
        .await;
    assert_eq!(events["records"].as_array().map(Vec::len), Some(1));
}
