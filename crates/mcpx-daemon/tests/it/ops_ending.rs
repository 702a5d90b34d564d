//! The end of a daemon: what runs may end, and what does not is told.

use std::time::Duration;

use mcpx_api::{Code, Op};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos};

use crate::front_setup::{Daemon, stdio};
use crate::ops_setup::files;

#[tokio::test]
async fn a_daemon_that_ends_lets_its_tasks_end_refuses_what_is_new_and_gives_their_results() {
    let chaos = Chaos::new()
        .tool(
            "slow",
            [
                Behaviour::Delay(Duration::from_millis(600)),
                Behaviour::Answer,
            ],
        )
        .stdio();
    let daemon = Daemon::of(json!({"words": stdio(&chaos)})).await;
    let begun = daemon
        .ask(Op::Call, json!({"tool": "words.slow", "task": {}}))
        .await
        .expect("a task");
    let id = begun["task"]["id"].as_str().expect("an id").to_owned();
    daemon
        .until(Op::Health, json!({}), |_| {
            !chaos.received().of_method("tools/call").is_empty()
        })
        .await;
    daemon
        .ask(Op::DaemonRestart, json!({}))
        .await
        .expect("begun");
    let refused = daemon
        .ask(Op::Call, json!({"tool": "words.slow"}))
        .await
        .expect_err("not now");
    assert_eq!(refused.code, Code::Unavailable);
    assert!(refused.hint.is_some());
    assert_eq!(refused.data.string("delivery").as_deref(), Some("not_sent"));
    let health = daemon.ask(Op::Health, json!({})).await.expect("health");
    assert_eq!(health["status"], "stopping");
    let result = daemon
        .ask(Op::TaskResult, json!({"id": id, "waitMs": 20_000}))
        .await
        .expect("the result");
    assert_eq!(result["tool"], "slow");
}

#[tokio::test]
async fn a_task_that_outlives_the_grace_is_marked_as_interrupted_and_kept() {
    let chaos = Chaos::new()
        .tool(
            "slow",
            [Behaviour::Delay(Duration::from_secs(30)), Behaviour::Answer],
        )
        .stdio();
    let daemon = Daemon::of(json!({"words": stdio(&chaos)})).await;
    daemon
        .ask(
            Op::SettingsSet,
            json!({"path": "http.shutdownGrace", "value": "100ms"}),
        )
        .await
        .expect("set");
    daemon
        .ask(Op::Call, json!({"tool": "words.slow", "task": {}}))
        .await
        .expect("a task");
    daemon
        .until(Op::Health, json!({}), |_| {
            !chaos.received().of_method("tools/call").is_empty()
        })
        .await;
    daemon.ask(Op::Shutdown, json!({})).await.expect("begun");
    let tasks = daemon.home().join("state").join("tasks");
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        let mut kept = Vec::new();
        files(&tasks, &mut kept);
        let text: String = kept
            .iter()
            .map(|(_, content)| String::from_utf8_lossy(content).into_owned())
            .collect();
        if text.contains("\"state\":\"interrupted\"") {
            assert!(text.contains("its outcome is unknown"), "{text}");
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{text}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // What the end of the daemon makes of the call changes nothing about that.
    while daemon.socket.exists() {
        assert!(tokio::time::Instant::now() < deadline, "it does not end");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut kept = Vec::new();
    files(&tasks, &mut kept);
    assert!(kept.iter().any(|(_, content)| {
        String::from_utf8_lossy(content).contains("\"state\":\"interrupted\"")
    }));
}
