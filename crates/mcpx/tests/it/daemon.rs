//! The way to the daemon: started once, found again, ended, replaced.

use std::process::Child;

use serde_json::json;

use crate::harness::{Mcpx, demo};

#[test]
fn ten_commands_at_once_start_one_daemon() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let all: Vec<Child> = (0..10)
        .map(|n| {
            let message = format!("message={n}");
            mcpx.command(&["call", "demo.echo", &message])
                .spawn()
                .unwrap()
        })
        .collect();
    for (n, child) in all.into_iter().enumerate() {
        let ran = mcpx.ran(child.wait_with_output().unwrap());
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, format!("{n}\n").as_str()),
            "{ran}"
        );
    }
    assert_eq!(mcpx.daemons().len(), 1);
    let status = mcpx.json(&["status"]).1;
    assert_eq!(
        status["servers"][0]["instances"].as_array().unwrap().len(),
        1,
        "{status}"
    );
}

#[test]
fn stop_waits_until_the_daemon_is_gone_and_says_what_ended() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["stop"]).says(&["no daemon runs"]);
    mcpx.ok(&["call", "demo.echo", "message=x"]);
    let pid = mcpx.daemons()[0];
    mcpx.ok(&["stop"])
        .says(&["ended the daemon of [home]/.config/mcpx/config.json"]);
    // Ended; whether somebody waited for it is not ours to say.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    assert_eq!(mcpx.daemons(), Vec::<u64>::new());
    // Several, of two sets of files.
    mcpx.ok(&["daemon", "--detached"]);
    mcpx.ok(&["--demo", "daemon", "--detached"]);
    assert_eq!(mcpx.daemons().len(), 2);
    let (_, document) = mcpx.json(&["stop", "--all"]);
    assert_eq!(document["stopped"].as_array().unwrap().len(), 2);
    assert_eq!(mcpx.daemons(), Vec::<u64>::new());
}

#[test]
fn a_killed_daemon_is_no_error_for_the_next_command() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["call", "demo.echo", "message=x"]);
    let pid = mcpx.daemons()[0];
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &pid.to_string()])
        .status();
    assert!(killed.unwrap().success());
    let ran = mcpx.ok(&["call", "demo.echo", "message=again"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("again\n", ""));
    assert_ne!(mcpx.daemons()[0], pid);
}

#[test]
fn a_daemon_that_is_about_to_end_keeps_no_command_waiting() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["daemon", "--detached"]);
    let state = mcpx.home.path().join(".local/state/mcpx");
    let lock = std::fs::read_dir(&state)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            let name = path.to_string_lossy();
            name.ends_with(".lock") && !name.ends_with(".json.lock")
        })
        .unwrap();
    mcpx.ok(&["stop"]);
    // As one that answers nobody any more and has not gone yet.
    let held = std::fs::File::options().write(true).open(lock).unwrap();
    held.lock().unwrap();
    let calling = mcpx
        .command(&["call", "demo.echo", "message=hi"])
        .spawn()
        .unwrap();
    let printed = state.join("daemon.log");
    let wait = std::time::Duration::from_secs(30);
    testkit::wait_until("a daemon that is not elected", wait, || {
        std::fs::read_to_string(&printed).is_ok_and(|text| text.contains("runs already"))
    });
    drop(held);
    let ran = mcpx.ran(calling.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "hi\n"), "{ran}");
}

#[test]
fn a_restart_is_another_process_with_the_same_servers() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["call", "demo.echo", "message=x"]);
    let before = mcpx.daemons()[0];
    mcpx.ok(&["daemon", "restart"]);
    let after = mcpx.daemons();
    assert_eq!(after.len(), 1);
    assert_ne!(after[0], before);
    assert_eq!(mcpx.ok(&["call", "demo.echo", "message=y"]).stdout, "y\n");
}

#[test]
fn a_named_daemon_is_used_with_its_token_and_never_replaced() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["daemon", "--detached"]);
    let (_, document) = mcpx.json(&["daemon", "token"]);
    let endpoint = document["endpoint"].as_str().unwrap().to_owned();
    let token = document["token"].as_str().unwrap().to_owned();
    // Of this machine: the token is in the record.
    let named = format!("--daemon-endpoint={endpoint}");
    assert_eq!(
        mcpx.ok(&[&named, "call", "demo.echo", "message=x"]).stdout,
        "x\n"
    );
    // Of another state folder: it is in the environment.
    let other = Mcpx::new();
    let ran = other.run(&[&named, "health"]);
    assert_eq!(ran.code, 1, "{ran}");
    let other = Mcpx::new().variable("MCPX_TOKEN", &token);
    other.ok(&[&named, "health"]);
    mcpx.ok(&["stop"]);
    let ran = mcpx.run(&[&named, "health"]);
    assert_eq!(ran.code, 1, "{ran}");
    ran.says(&["no daemon answers", "no other one is used"]);
    assert_eq!(mcpx.daemons(), Vec::<u64>::new());
}

#[test]
fn a_daemon_that_cannot_start_is_told_with_its_reason() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let ran = mcpx.run(&["--daemon-address=256.0.0.1", "health"]);
    assert_eq!(ran.code, 1, "{ran}");
    ran.says(&["the daemon could not start", "256.0.0.1"]);
    let ran = mcpx.run(&["--no-daemon-autostart", "health"]);
    assert_eq!(ran.code, 1, "{ran}");
    ran.says(&["no daemon runs", "mcpx daemon --detached"]);
}

#[test]
fn flags_of_the_daemon_reach_the_daemon_that_a_command_starts() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["health", "--pool-max", "7"]);
    let (_, setting) = mcpx.json(&["settings", "get", "pool.max"]);
    assert_eq!(
        setting["value"].to_string().trim_matches('"'),
        "7",
        "{setting}"
    );
}

#[test]
fn serve_is_an_mcp_server_over_stdio() {
    let mcpx = Mcpx::with(&json!({"mcpServers": {"demo": demo()}}));
    let messages = [
        json!({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}),
        json!({"jsonrpc":"2.0","method":"notifications/initialized"}),
        json!({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"mcpx_call","arguments":{"tool":"demo.echo","args":{"message":"through"}}}}),
    ];
    let input: String = messages
        .iter()
        .map(|message| format!("{message}\n"))
        .collect();
    let ran = mcpx.run_with(&["serve"], Some(&input));
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("through"), "{ran}");
    assert!(
        ran.stdout.lines().all(|line| line.starts_with('{')),
        "{ran}"
    );
}

#[test]
fn an_older_daemon_gives_way_and_a_newer_one_is_told_about() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["daemon", "--detached"]);
    let before = mcpx.daemons()[0];
    let pretend = |version: &str| {
        let folder = mcpx.home.path().join(".local/state/mcpx");
        let record = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| {
                let name = path.file_name().unwrap().to_string_lossy();
                name.starts_with("daemon-") && name.ends_with(".json")
            })
            .unwrap();
        let mut document: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
        document["version"] = version.into();
        std::fs::write(&record, document.to_string()).unwrap();
    };
    pretend("99.0.0");
    let ran = mcpx.ok(&["call", "demo.echo", "message=x"]);
    assert_eq!(ran.stdout, "x\n");
    ran.says(&["the daemon has version 99.0.0"]);
    assert_eq!(mcpx.daemons()[0], before);
    // One with a task to do is left alone.
    let task = mcpx.ok(&["call", "demo.slow", "ms=60000", "--task"]).stdout;
    pretend("0.0.1");
    mcpx.ok(&["health"]).says(&["has 1 tasks to do"]);
    mcpx.ok(&["task", "cancel", task.trim()]);
    testkit::wait_until(
        "the task to end",
        std::time::Duration::from_secs(20),
        || !mcpx.ok(&["task"]).stdout.contains("working"),
    );
    let ran = mcpx.ok(&["call", "demo.echo", "message=y"]);
    assert_eq!(ran.stdout, "y\n");
    assert_ne!(mcpx.daemons()[0], before);
    assert_eq!(mcpx.ok(&["health"]).stderr, "");
}

#[test]
fn what_two_servers_share_goes_on_when_the_first_of_them_is_taken_out() {
    let mcpx = Mcpx::with_demos(&["demo", "tracker"]);
    mcpx.ok(&["call", "tracker.echo", "message=hi"]);
    let pids = |of: &str| -> Vec<serde_json::Value> {
        let status = mcpx.json(&["status"]).1;
        let servers = status["servers"].as_array().unwrap().clone();
        let server = servers.iter().find(|server| server["name"] == of).unwrap();
        let instances = server["instances"].as_array().unwrap();
        instances.iter().map(|one| one["pid"].clone()).collect()
    };
    let before = pids("tracker");
    assert_eq!((before.len(), pids("demo")), (1, before.clone()));
    mcpx.ok(&["servers", "remove", "demo"]);
    assert_eq!(pids("tracker"), before);
    // It is still read and called under the name that is left.
    mcpx.ok(&["refresh", "tracker"]);
    mcpx.ok(&["call", "tracker.echo", "message=again"]);
    assert_eq!(pids("tracker"), before);
}
