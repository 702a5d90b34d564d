//! The daemon's own life: who becomes it, what outlives it, what an edited configuration ends.

use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testkit::wait_until;

use crate::hub::{Hub, PATIENCE, PROGRAM, Ran, runs, stateful};

/// Starts a command and reads what it prints at its end.
fn begun(hub: &Hub, args: &[&str]) -> Child {
    let mut command = hub.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn ended(child: Child) -> Ran {
    child.wait_with_output().unwrap().into()
}

fn daemons(hub: &Hub) -> Vec<u32> {
    let is_daemon = |command: &str| {
        command.starts_with(PROGRAM) && command.contains(" daemon")
            || command.contains("/exe daemon")
    };
    let all = hub.processes().into_iter();
    all.filter(|one| is_daemon(&one.command))
        .map(|one| one.pid)
        .collect()
}

#[test]
fn two_daemons_race_x10() {
    let hub = Hub::new(&json!({ "state": stateful(json!({})) }));
    let mut racing: Vec<Child> = (0..10).map(|_| begun(&hub, &["daemon"])).collect();
    let mut lost = Vec::new();
    wait_until("one stays", PATIENCE, || {
        for at in (0..racing.len()).rev() {
            if racing[at].try_wait().unwrap().is_some() {
                lost.push(ended(racing.remove(at)));
            }
        }
        racing.len() == 1
    });
    for ran in lost {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.err.contains("runs already"), "{ran:?}");
    }
    wait_until("it answers", PATIENCE, || {
        hub.run(&["health"]).code == Some(0)
    });
    assert_eq!(hub.status().pid, racing[0].id());
    hub.ok(&["stop"]);
    let stopped = ended(racing.remove(0));
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
}

#[test]
fn ten_commands_at_once_start_one_daemon() {
    let hub = Hub::new(&json!({ "state": stateful(json!({})) }));
    let calls: Vec<Child> = (0..10)
        .map(|_| begun(&hub, &["call", "state.who"]))
        .collect();
    let mut servers: Vec<String> = calls
        .into_iter()
        .map(|call| {
            let ran = ended(call);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            ran.out
        })
        .collect();
    servers.dedup();
    assert_eq!(servers.len(), 1, "one server too");
    assert_eq!(daemons(&hub), [hub.status().pid]);
}

#[test]
fn a_superseded_daemon_leaves_the_socket_of_its_successor() {
    let hub = Hub::new(&json!({ "state": stateful(json!({})) }));
    hub.ok(&["call", "state.who"]);
    let old = hub.status().pid;
    // Somebody cleans up while it runs: its lock, its socket and its record are gone.
    std::fs::remove_dir_all(hub.state()).unwrap();
    hub.ok(&["call", "state.who"]);
    let new = hub.status().pid;
    assert_ne!(old, new);
    wait_until("the old one finds out and goes", PATIENCE, || !runs(old));
    hub.ok(&["call", "state.who"]);
    assert_eq!(hub.status().pid, new);
}

#[test]
fn a_flag_that_a_running_daemon_does_not_take_is_told() {
    let hub = Hub::new(&json!({ "state": stateful(json!({})) }));
    let args = [
        "call",
        "state.who",
        "--pool-call-timeout=9s",
        "--daemon-port=0",
    ];
    // It starts the daemon, which has them.
    assert_eq!(hub.run(&args).err, "");
    let ran = hub.run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "`--pool-call-timeout`",
        "mcpx settings set pool.callTimeout 9s",
        "mcpx stop",
    ] {
        assert_eq!(ran.err.matches(part).count(), 1, "{part}: {ran:?}");
    }
}

/// The state of each task, by its tool.
fn tasks(hub: &Hub) -> Vec<(String, String)> {
    let listed = hub.json(&["task", "list"]);
    let tasks = listed["tasks"].as_array().unwrap().iter();
    let text = |task: &Value, name: &str| task[name].as_str().unwrap_or_default().to_owned();
    let mut tasks: Vec<_> = tasks
        .map(|task| (text(task, "tool"), text(task, "state")))
        .collect();
    tasks.sort();
    tasks
}

#[test]
fn a_restart_keeps_the_result_of_a_task_and_says_which_one_it_interrupted() {
    let hub = Hub::new(&json!({ "state": stateful(json!({})) }));
    let server = hub.ok(&["call", "state.who"]);
    let task = |args: &[&str]| {
        let task = hub.json(&[&["call", "--task"], args].concat());
        task["task"]["id"]
            .as_str()
            .unwrap_or_else(|| panic!("{task}"))
            .to_owned()
    };
    let done = task(&["state.who"]);
    assert_eq!(hub.ok(&["task", "result", &done]), server);
    let until = hub.path("never");
    let running = task(&["state.hold", &json!({ "until": until }).to_string()]);
    let before = hub.status().pid;
    hub.ok(&["settings", "set", "http.shutdownGrace", "100ms"]);
    hub.ok(&["daemon", "restart"]);
    assert_ne!(hub.status().pid, before);
    assert_eq!(hub.ok(&["task", "result", &done]), server);
    let interrupted = hub.run(&["task", "result", &running]);
    assert_eq!(interrupted.code, Some(1), "{interrupted:?}");
    assert!(
        interrupted.err.contains("outcome is unknown"),
        "{interrupted:?}"
    );
    let states = [("hold", "interrupted"), ("who", "completed")];
    assert_eq!(
        tasks(&hub),
        states.map(|(tool, state)| (tool.to_owned(), state.to_owned()))
    );
}

#[test]
fn an_edit_ends_what_is_launched_in_another_way_and_nothing_else() {
    let hub = Hub::new(&json!({}));
    let configure = |variable: &str, size: usize, timeout: &str| {
        let mut changes = stateful(json!({}));
        changes["env"] = json!({ "VARIABLE": variable });
        let kept = stateful(json!({ "max": size, "callTimeout": timeout, "idleTimeout": timeout }));
        hub.configure(&json!({ "changes": changes, "kept": kept }));
    };
    let pids = || ["changes.who", "kept.who"].map(|tool| hub.ok(&["call", tool]));
    configure("1", 1, "1m");
    let before = pids();
    configure("2", 2, "2m");
    wait_until("the edit counts", PATIENCE, || pids()[0] != before[0]);
    let after = pids();
    assert_eq!(before[1], after[1]);
    assert_eq!(hub.server("kept").timeouts_ms.call, 120_000);
    wait_until("the old one is gone", PATIENCE, || {
        !runs(before[0].parse().unwrap())
    });
    // What cannot be read changes nothing, and is named.
    let good = hub.home.read("mcpx.json");
    hub.home.write(
        "mcpx.json",
        good.replacen("\"command\"", "\"command\" oops", 1),
    );
    let line = 1 + good
        .lines()
        .position(|line| line.contains("\"command\""))
        .unwrap();
    wait_until("it was read", PATIENCE, || {
        hub.asked_status().config_error.is_some()
    });
    let error = hub.asked_status().config_error.unwrap();
    assert!(error.contains(&format!("mcpx.json:{line}")), "{error}");
    let status = hub.json(&["status"]);
    assert_eq!(status["configError"], error.as_str());
    let record = hub.record();
    assert!(runs(record.pid) && after.iter().all(|pid| runs(pid.parse().unwrap())));
    hub.home.write("mcpx.json", good);
    wait_until("it is good again", PATIENCE, || {
        hub.status().config_error.is_none()
    });
    assert_eq!(pids(), after);
}
