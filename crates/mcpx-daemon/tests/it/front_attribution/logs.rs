//! Log lines: from which level on a server is told to write them, and whom each reaches.

use std::time::Duration;

use mcp_client::{CallOptions, Connection, Event};
use mcp_wire::{Era, Object};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, StdioChaos};

use crate::front_setup::{Daemon, http, object, stdio};

const PASSED: &str = "?passthrough=s&tools=none";

/// The levels that a server was told, oldest first.
fn told(chaos: &StdioChaos) -> Vec<String> {
    let received = chaos.received();
    let told = received.of_method("logging/setLevel");
    told.iter()
        .map(|entry| {
            entry.message["params"]["level"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

async fn until_told(chaos: &StdioChaos, expected: &[&str]) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(15);
    while told(chaos) != expected {
        assert!(
            tokio::time::Instant::now() < deadline,
            "{:?}, expected {expected:?}",
            told(chaos)
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn call(client: &Connection, tool: &str) {
    let options = CallOptions::default();
    client
        .call_tool(tool, Object::new(), &options)
        .await
        .unwrap();
}

async fn session(daemon: &Daemon, level: Option<&str>) -> Connection {
    let client = daemon.client(PASSED, Era::Legacy, None).await;
    if let Some(level) = level {
        let options = CallOptions::default();
        client.set_log_level(level, &options).await.unwrap();
    }
    client
}

#[tokio::test]
async fn a_shared_server_is_told_the_lowest_level_that_anybody_wants_and_the_next_one_when_that_one_goes()
 {
    let chaos = Chaos::new()
        .legacy()
        .tool("plain", Behaviour::Answer)
        .stdio();
    let mute = Chaos::new()
        .legacy()
        .capabilities(&json!({"tools": {}}))
        .tool("quiet", Behaviour::Answer)
        .stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos), "mute": stdio(&mute)})).await;
    let silent = session(&daemon, None).await;
    call(&silent, "plain").await;
    assert!(told(&chaos).is_empty(), "nobody wants anything");
    let warning = session(&daemon, Some("warning")).await;
    until_told(&chaos, &["warning"]).await;
    let debug = session(&daemon, Some("debug")).await;
    until_told(&chaos, &["warning", "debug"]).await;
    // Less than another one wants changes nothing.
    let options = CallOptions::default();
    warning.set_log_level("error", &options).await.unwrap();
    debug.close().await;
    until_told(&chaos, &["warning", "debug", "error"]).await;
    warning.close().await;
    until_told(&chaos, &["warning", "debug", "error", "info"]).await;
    // A server that does not log is told nothing.
    let own = daemon.client("", Era::Legacy, None).await;
    own.set_log_level("debug", &options).await.unwrap();
    let quiet = object(&json!({"tool": "mute.quiet"}));
    own.call_tool("mcpx_call", quiet, &options).await.unwrap();
    assert!(told(&mute).is_empty());
    until_told(&chaos, &["warning", "debug", "error", "info", "debug"]).await;
}

#[tokio::test]
async fn a_fresh_instance_is_told_the_level_before_the_first_call_and_a_modern_client_wants_it_for_its_call()
 {
    let chaos = Chaos::new()
        .legacy()
        .tool("plain", Behaviour::Answer)
        .tool("end", Behaviour::Exit(0))
        .stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let client = session(&daemon, Some("notice")).await;
    call(&client, "plain").await;
    until_told(&chaos, &["notice"]).await;
    let ended = client
        .call_tool("end", Object::new(), &CallOptions::default())
        .await;
    ended.unwrap_err();
    call(&client, "plain").await;
    assert_eq!(told(&chaos), ["notice", "notice"]);
    let received = chaos.received();
    let last = *received.processes().last().unwrap();
    let methods: Vec<&str> = received
        .entries
        .iter()
        .filter(|entry| entry.pid == last)
        .filter_map(|entry| entry.message["method"].as_str())
        .collect();
    let at = |method: &str| methods.iter().position(|sent| *sent == method);
    assert!(
        at("logging/setLevel") < at("tools/call") && at("logging/setLevel").is_some(),
        "{methods:?}"
    );
    // A modern client says it with its call; afterwards the other's level counts again.
    for era in [Era::Modern] {
        let modern = daemon.client("", era, None).await;
        let options = CallOptions {
            log_level: Some("debug".to_owned()),
            ..CallOptions::default()
        };
        let arguments = object(&json!({"tool": "s.plain"}));
        modern
            .call_tool("mcpx_call", arguments, &options)
            .await
            .unwrap();
    }
    until_told(&chaos, &["notice", "notice", "debug", "notice"]).await;
}

/// What a client heard of, oldest first: the data of log lines.
fn lines(events: &mut tokio::sync::broadcast::Receiver<Event>) -> Vec<Value> {
    let mut lines = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let Event::Log { data, .. } = event {
            lines.push(data.value().unwrap());
        }
    }
    lines
}

#[tokio::test]
async fn each_client_of_an_exclusive_server_hears_its_own_calls_from_its_own_level_on() {
    let script = [
        Behaviour::Log("warning", "careful"),
        Behaviour::Log("debug", "detail"),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new().legacy().tool("talk", script).stdio();
    let mut entry = stdio(&chaos);
    entry["mcpx"] = json!({"sharing": "exclusive"});
    let daemon = Daemon::of(json!({"s": entry})).await;
    let loud = session(&daemon, Some("debug")).await;
    let usual = session(&daemon, None).await;
    let calm = session(&daemon, Some("error")).await;
    for (client, expected) in [
        (&loud, vec!["careful", "detail"]),
        (&usual, vec!["careful"]),
        (&calm, vec![]),
    ] {
        let mut events = [&loud, &usual, &calm].map(Connection::events);
        let mut own = client.events();
        call(client, "talk").await;
        assert_eq!(lines(&mut own), expected);
        let all: usize = events.iter_mut().map(|events| lines(events).len()).sum();
        assert_eq!(all, expected.len(), "nobody else hears of it");
    }
}

/// Waits until a client hears that tools changed; returns the log lines before that.
async fn until_changed(events: &mut tokio::sync::broadcast::Receiver<Event>) -> Vec<Value> {
    let mut lines = Vec::new();
    loop {
        let event = tokio::time::timeout(Duration::from_secs(15), events.recv());
        match event.await.unwrap().unwrap() {
            Event::Log { data, .. } => lines.push(data.value().unwrap()),
            Event::ToolsChanged => return lines,
            _ => {}
        }
    }
}

#[tokio::test]
async fn what_is_logged_after_a_call_reaches_the_only_session_that_ever_used_the_instance() {
    let after = [
        Behaviour::Answer,
        Behaviour::Delay(Duration::from_millis(50)),
        Behaviour::Log("warning", "afterwards"),
        Behaviour::Log("debug", "in detail"),
        Behaviour::Announce("notifications/tools/list_changed", Value::Null),
    ];
    let chaos = Chaos::new().legacy().tool("begin", after).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let (first, second) = (session(&daemon, None).await, session(&daemon, None).await);
    let (mut of_first, mut of_second) = (first.events(), second.events());
    call(&first, "begin").await;
    assert_eq!(until_changed(&mut of_first).await, ["afterwards"]);
    assert!(until_changed(&mut of_second).await.is_empty());
    // From now on it may be about either of them.
    call(&second, "begin").await;
    assert!(until_changed(&mut of_first).await.is_empty());
    assert!(until_changed(&mut of_second).await.is_empty());
}

#[tokio::test]
async fn log_lines_reach_the_call_that_they_belong_to_and_nobody_else() {
    let script = [
        Behaviour::Log("warning", "careful"),
        Behaviour::Log("debug", "detail"),
        Behaviour::Answer,
    ];
    let shared = Chaos::new().legacy().tool("talk", script.clone()).stdio();
    let alone = Chaos::new().legacy().tool("talk", script.clone()).stdio();
    let web = Chaos::new().modern().tool("talk", script).http();
    let mut exclusive = stdio(&alone);
    exclusive["mcpx"] = json!({"sharing": "exclusive"});
    let daemon =
        Daemon::of(json!({"shared": stdio(&shared), "alone": exclusive, "web": http(&web)})).await;
    // An instance that others have used may speak of what they did: only the first caller of a shared one hears it.
    for (server, expected) in [
        ("shared", 1),
        ("shared", 0),
        ("alone", 1),
        ("alone", 1),
        ("web", 1),
    ] {
        let client = daemon.client("", Era::Modern, None).await;
        let mut events = client.events();
        let options = CallOptions {
            log_level: Some("info".to_owned()),
            ..CallOptions::default()
        };
        client
            .call_tool(
                "mcpx_call",
                object(&json!({"server": server, "tool": "talk"})),
                &options,
            )
            .await
            .unwrap();
        let mut lines: Vec<Value> = Vec::new();
        while let Ok(event) = events.try_recv() {
            if let Event::Log { data, .. } = event {
                lines.push(data.value().unwrap());
            }
        }
        assert_eq!(lines.len(), expected, "{server}: {lines:?}");
    }
}
