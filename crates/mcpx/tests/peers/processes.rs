//! Which processes there are after a kill, behind a wrapper, and when a number means somebody else.

use std::process::Command;

use mcpx_store::StateDir;
use mcpx_store::children::{Child, Children};
use mcpx_store::daemons::{Daemons, nonce};
use serde_json::{Value, json};
use testkit::wait_until;

use crate::hub::{Hub, PATIENCE, runs, signal, stateful};

/// A wrapper that starts the server in a session of its own, and something that ignores every polite request.
const WRAPPER: &str =
    "setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1000; done' </dev/null >/dev/null 2>&1 &
exec setsid --wait python3 -S -E -B \"$HOME/stateful.py\"
";

/// A server that is four processes: the wrapper, the server, and two that know nothing of either.
fn wrapped(hub: &Hub) -> Value {
    let wrapper = hub.home.write("wrapper.sh", WRAPPER);
    json!({ "wrapped": { "command": "sh", "args": [wrapper] } })
}

/// Starts the daemon and its server, and returns the daemon's number once the whole tree runs.
fn started(hub: &Hub) -> u32 {
    hub.configure(&wrapped(hub));
    let server = hub.ok(&["call", "wrapped.who"]);
    wait_until("the tree runs", PATIENCE, || {
        hub.processes_with("sleep 1000").len() == 2
    });
    assert!(runs(server.parse().unwrap()));
    assert_eq!(hub.guardians().len(), 1);
    hub.status().pid
}

#[test]
fn tree_killed_on_daemon_kill9() {
    let hub = Hub::new(&json!({}));
    let daemon = started(&hub);
    let guardian = hub.guardians()[0].pid;
    signal("KILL", daemon);
    hub.wait_until_nothing_runs();
    wait_until("the guardian is gone", PATIENCE, || !runs(guardian));
    hub.ok(&["call", "wrapped.who"]);
    assert_ne!(hub.status().pid, daemon);
}

#[test]
fn a_guardian_that_was_killed_is_no_end_of_the_daemon() {
    let hub = Hub::new(&json!({}));
    let daemon = started(&hub);
    signal("KILL", hub.guardians()[0].pid);
    wait_until("it is gone", PATIENCE, || hub.guardians().is_empty());
    hub.ok(&["call", "wrapped.who"]);
    assert_eq!(hub.status().pid, daemon);
    hub.ok(&["stop"]);
    hub.wait_until_nothing_runs();
}

#[test]
fn what_a_daemon_left_that_was_killed_with_its_guardian_is_ended_at_the_next_start() {
    let hub = Hub::new(&json!({}));
    let daemon = started(&hub);
    let left: Vec<u32> = hub
        .processes_with("sh -c trap")
        .iter()
        .map(|one| one.pid)
        .collect();
    assert_eq!(left.len(), 1);
    signal("STOP", daemon);
    signal("KILL", hub.guardians()[0].pid);
    signal("KILL", daemon);
    wait_until("both are gone", PATIENCE, || {
        !runs(daemon) && hub.guardians().is_empty()
    });
    assert!(runs(left[0]), "it does not end by itself");
    hub.ok(&["call", "wrapped.who"]);
    assert!(!runs(left[0]));
    assert_eq!(hub.processes_with("sh -c trap").len(), 1, "the new one");
    let told = hub.ok(&["log", "--event", "daemon.leftovers"]);
    assert!(told.contains("had left"), "{told}");
}

#[test]
fn npx_wrapper_tree() {
    let modules = testkit::peers::dir().join("mcp");
    let hub = Hub::new(&json!({ "npx": {
        "command": "npx", "args": ["--offline", "mcp-server-everything", "stdio"], "cwd": modules,
    } }));
    for end in ["restart", "kill"] {
        let said = hub.ok(&["call", "npx.echo", "message=hi"]);
        assert!(said.contains("hi"), "{said}");
        // `npx`, its shell, and the server.
        let tree: Vec<u32> = hub
            .processes_with("everything")
            .iter()
            .map(|one| one.pid)
            .collect();
        assert!(tree.len() >= 2, "{:?}", hub.processes());
        match end {
            "restart" => drop(hub.ok(&["restart", "npx", "--lazy"])),
            _ => signal("KILL", hub.status().pid),
        }
        wait_until("the whole tree is gone", PATIENCE, || {
            !tree.iter().any(|pid| runs(*pid))
        });
    }
    hub.wait_until_nothing_runs();
}

#[test]
fn pid_reuse() {
    let hub = Hub::new(&json!({ "state": stateful(json!({})) }));
    hub.ok(&["call", "state.who"]);
    let mut record = hub.record();
    signal("KILL", record.pid);
    hub.wait_until_nothing_runs();
    wait_until("the daemon is dead", PATIENCE, || !runs(record.pid));
    let mut stranger = Command::new("sleep").arg("1000").spawn().unwrap();
    // What the daemon was, what it had started, and what another had started: all are this process now.
    record.pid = stranger.id();
    let state = StateDir::at(hub.state());
    let file = |nonce: &str, process_started| {
        let mut children = Children::open(&state, nonce).unwrap();
        let child = Child {
            pid: stranger.id(),
            process_started,
            nonce: nonce.to_owned(),
            server: "state".to_owned(),
            command: "sleep".to_owned(),
            at: record.started_at,
        };
        children.started(child).unwrap();
    };
    file(&record.nonce, record.process_started);
    file(
        &nonce().unwrap(),
        mcpx_store::process::started(stranger.id()),
    );
    for process_started in [record.process_started, None] {
        record.process_started = process_started;
        Daemons::new(&state).write(&record).unwrap();
        hub.ok(&["stop"]);
        hub.ok(&["stop", "--all"]);
        hub.ok(&["call", "state.who"]);
        assert_ne!(hub.record().pid, stranger.id());
        hub.ok(&["stop"]);
        hub.wait_until_nothing_runs();
    }
    assert_eq!(stranger.try_wait().unwrap(), None, "it was touched");
    assert!(mcpx_store::children::left(&state).is_empty());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}
