//! Failures that others reported of servers that are started anew or forget their sessions, and of clients that leave.

use std::time::Duration;

use mcp_client::CallOptions;
use mcpx_api::{ApiError, Op, operation};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, Entry, HttpChaos, Received};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::failures_setup::{Address, until};
use crate::front_setup::{Daemon, ERAS, http, stdio};
use crate::ops_setup::members;
use crate::routes_setup::{connect, exchange, plain, posted};

/// In either era, with a tool that may be called twice and others that say nothing of it.
fn servers() -> [fn() -> Chaos; 2] {
    [
        || Chaos::new().legacy().sessions(),
        || Chaos::new().modern(),
    ]
}

fn started(server: fn() -> Chaos) -> HttpChaos {
    let reads = json!({"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
    server()
        .tool_with(reads, Behaviour::Answer)
        .tool("write", Behaviour::Answer)
        .tool("stuck", Behaviour::Never)
        .http()
}

/// A daemon in front of an address with a server behind it, which was called.
async fn in_front_of(address: &Address, server: &HttpChaos) -> Daemon {
    address.leads_to(Some(server.url()));
    let daemon = Daemon::of(json!({"far": address.entry()})).await;
    for tool in ["far.read", "far.write"] {
        let called = daemon.ask(Op::Call, json!({"tool": tool})).await;
        called.unwrap();
    }
    daemon
}

fn calls(server: &HttpChaos) -> usize {
    server.received().of_method("tools/call").len()
}

/// The calls that were made, and not refused because they named a session of the server before.
fn made(server: &HttpChaos, before: &Received) -> usize {
    let session = |entry: &Entry| entry.headers.get("mcp-session-id").cloned();
    let old: Vec<_> = before.entries.iter().filter_map(session).collect();
    let received = server.received();
    let calls = received.of_method("tools/call").into_iter();
    calls
        .filter(|call| session(call).is_none_or(|session| !old.contains(&session)))
        .count()
}

fn delivery(error: &ApiError) -> String {
    error.data.string("delivery").unwrap_or_default()
}

#[tokio::test]
async fn a_remote_server_that_was_started_anew_answers_the_next_calls() {
    for server in servers() {
        let address = Address::new().await;
        let first = started(server);
        let daemon = in_front_of(&address, &first).await;
        let second = started(server);
        let before = first.received();
        address.leads_to(Some(second.url()));
        drop(first);
        // Many at once notice it, and what can be repeated is.
        let calling = (0..20).map(|_| daemon.ask(Op::Call, json!({"tool": "far.read"})));
        for ended in futures::future::join_all(calling).await {
            ended.unwrap();
        }
        assert_eq!(made(&second, &before), 20, "each once");
        let begun = second.received().of_method("initialize").len();
        assert!(begun <= 1, "{begun} sessions for one server");
        let called = daemon.ask(Op::Call, json!({"tool": "far.write"})).await;
        called.unwrap();
    }
}

#[tokio::test]
async fn what_may_not_be_repeated_fails_once_at_most_when_a_remote_server_was_started_anew() {
    for server in servers() {
        let address = Address::new().await;
        let first = started(server);
        let daemon = in_front_of(&address, &first).await;
        let second = started(server);
        let before = first.received();
        address.leads_to(Some(second.url()));
        drop(first);
        let called = daemon.ask(Op::Call, json!({"tool": "far.write"})).await;
        if let Err(error) = &called {
            assert_eq!(delivery(error), "outcome_unknown", "{error}");
        }
        let answered = usize::from(called.is_ok());
        for _ in 0..3 {
            let called = daemon.ask(Op::Call, json!({"tool": "far.write"})).await;
            called.expect("the session is a new one");
        }
        assert_eq!(
            made(&second, &before),
            answered + 3,
            "what failed was not made"
        );
    }
}

#[tokio::test]
async fn a_remote_server_that_was_away_is_called_again_when_it_is_back() {
    for server in servers() {
        let address = Address::new().await;
        let first = started(server);
        let daemon = in_front_of(&address, &first).await;
        address.leads_to(None);
        drop(first);
        for _ in 0..3 {
            let away = daemon.ask(Op::Call, json!({"tool": "far.write"})).await;
            let away = away.unwrap_err();
            assert!(!delivery(&away).is_empty(), "{away:?}");
        }
        let second = started(server);
        address.leads_to(Some(second.url()));
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        while let Err(error) = daemon.ask(Op::Call, json!({"tool": "far.write"})).await {
            // A moment after a failed start nothing is tried, and the error says for how long.
            assert_eq!(delivery(&error), "not_sent", "{error}");
            assert!(error.data.get("retryInMs").is_some(), "{error:?}");
            assert!(tokio::time::Instant::now() < deadline, "{error}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(calls(&second), 1);
    }
}

#[tokio::test]
async fn a_call_that_a_remote_server_took_along_is_not_made_again() {
    for server in servers() {
        let address = Address::new().await;
        let first = started(server);
        let daemon = in_front_of(&address, &first).await;
        let second = started(server);
        let before = calls(&first);
        let stuck = daemon.ask(Op::Call, json!({"tool": "far.stuck"}));
        let gone = async {
            until("it arrived", || calls(&first) > before).await;
            address.leads_to(Some(second.url()));
        };
        let (stuck, ()) = tokio::join!(stuck, gone);
        let stuck = stuck.unwrap_err();
        assert_eq!(delivery(&stuck), "outcome_unknown", "{stuck}");
        let called = daemon.ask(Op::Call, json!({"tool": "far.read"})).await;
        called.unwrap();
        assert_eq!(calls(&second), 1, "the call that was lost is not repeated");
    }
}

#[tokio::test]
async fn one_server_that_forgets_its_session_spoils_no_client_and_no_other_server() {
    let reads = json!({"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
    let forgets = Chaos::new()
        .legacy()
        .sessions_of(2)
        .tool_with(reads.clone(), Behaviour::Answer)
        .http();
    let keeps = Chaos::new()
        .legacy()
        .sessions()
        .tool_with(reads, Behaviour::Answer)
        .http();
    let daemon = Daemon::of(json!({"forgets": http(&forgets), "keeps": http(&keeps)})).await;
    for era in ERAS {
        let client = daemon.client("", era, None).await;
        for _ in 0..7 {
            for server in ["forgets", "keeps"] {
                let args = members(&json!({"server": server, "tool": "read"}));
                let called = client
                    .call_tool("mcpx_call", args, &CallOptions::default())
                    .await
                    .unwrap();
                assert!(!called.is_error, "{}", called.joined_text());
            }
        }
    }
    assert_eq!(keeps.received().of_method("initialize").len(), 1);
    assert!(forgets.received().of_method("initialize").len() > 1);
}

/// How many descriptors this process has open that are sockets or pipes.
fn descriptors() -> usize {
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    all.flatten().count()
}

#[tokio::test]
async fn clients_that_leave_in_the_middle_leave_nothing_open() {
    let chaos = Chaos::new()
        .tool("say", Behaviour::Answer)
        .tool("stuck", Behaviour::UntilCancelled(Duration::from_secs(60)))
        .stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let called = daemon.ask(Op::Call, json!({"tool": "s.say"})).await;
    called.unwrap();
    let health = || async { daemon.checked(Op::Status, json!({})).await };
    health().await;
    let before = descriptors();
    let head = "content-type: application/json\r\n";
    for _ in 0..60 {
        // A head that ends nowhere, a body that does not come, an answer that nobody waits for, streams that nobody reads.
        for request in [
            "POST /v1/call HTTP/1.1\r\nhost: mc".to_owned(),
            format!("POST /v1/call HTTP/1.1\r\nhost: mcpx\r\n{head}content-length: 99\r\n\r\n{{"),
            posted("/v1/call", head, r#"{"tool": "s.stuck"}"#),
            plain("GET", "/v1/events?since=0"),
            plain("GET", "/v1/log?follow=true"),
        ] {
            let mut stream = connect(&daemon).await;
            stream.write_all(request.as_bytes()).await.unwrap();
        }
    }
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        let status = health().await;
        let holders: u64 = holders(&status);
        let open = descriptors();
        // The status itself has a connection or two.
        if holders == 0 && open <= before + 8 {
            break;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "{open} descriptors after {before}, {holders} leases"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn holders(status: &Value) -> u64 {
    let rows = status["servers"].as_array().unwrap().iter();
    let instances = rows.flat_map(|row| row["instances"].as_array().unwrap().clone());
    instances
        .map(|one| one["holders"].as_u64().unwrap_or_default())
        .sum()
}

#[tokio::test]
async fn a_client_that_closes_its_half_is_gone_and_its_call_is_cancelled() {
    let stuck = [
        Behaviour::UntilCancelled(Duration::from_secs(60)),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new().tool("stuck", stuck).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let mut stream = connect(&daemon).await;
    let head = "content-type: application/json\r\n";
    let request = posted("/v1/call", head, r#"{"tool": "s.stuck"}"#);
    stream.write_all(request.as_bytes()).await.unwrap();
    until("it arrived", || {
        !chaos.received().of_method("tools/call").is_empty()
    })
    .await;
    stream.shutdown().await.unwrap();
    let mut all = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut all)).await;
    read.expect("the other half is closed").unwrap();
    until("it is cancelled", || {
        chaos.received().of_method("notifications/cancelled").len() == 1
    })
    .await;
}

#[tokio::test]
async fn listeners_that_never_read_hold_nobody_up() {
    let chaos = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        let mut stream = connect(&daemon).await;
        let request = plain("GET", "/v1/events");
        stream.write_all(request.as_bytes()).await.unwrap();
        silent.push(stream);
    }
    let api = daemon.api();
    let wanted = members(&json!({"kinds": ["call.ended"]}));
    let mut reader = api.stream(operation(Op::Events), &wanted).await.unwrap();
    for at in 0..2_000 {
        let called = daemon.ask(Op::Call, json!({"tool": "s.say"})).await;
        called.unwrap();
        if at % 100 == 0 {
            let event = tokio::time::timeout(Duration::from_secs(20), reader.next()).await;
            event.expect("an event in time").expect("a stream").unwrap();
        }
    }
    drop(silent);
    let health = exchange(&mut connect(&daemon).await, plain("GET", "/v1/health")).await;
    assert_eq!(health.status, 200);
}
