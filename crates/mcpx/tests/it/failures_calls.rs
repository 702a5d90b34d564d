//! Failures that others reported of commands: work that ends with the command, clocks that stop a call, output that is
//! cut or mixed.

use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, StdioChaos};
use testkit::wait_until;

use crate::harness::Mcpx;

const PATIENCE: Duration = Duration::from_secs(60);

fn entry(server: &StdioChaos) -> Value {
    let command = server.command();
    json!({"command": command.program, "args": command.args})
}

/// A server that starts when the file `gate` is in the home.
fn gated(mcpx: &Mcpx, server: &StdioChaos) -> Value {
    let gate = mcpx.home.path().join("gate");
    let script = "while [ ! -e \"$0\" ]; do sleep 0.02; done; exec \"$@\"";
    let line = server.command();
    let mut args = vec![
        "-c".to_owned(),
        script.to_owned(),
        gate.display().to_string(),
        line.program,
    ];
    args.extend(line.args);
    json!({"command": "sh", "args": args})
}

fn configure(mcpx: &Mcpx, config: &Value) {
    mcpx.home
        .write(".config/mcpx/config.json", config.to_string());
}

#[test]
fn work_goes_on_when_the_command_that_began_it_is_gone() {
    let chaos = Chaos::new()
        .tool(
            "slow",
            [
                Behaviour::Delay(Duration::from_millis(800)),
                Behaviour::Answer,
            ],
        )
        .stdio();
    let mcpx = Mcpx::with(&json!({"mcpServers": {"s": entry(&chaos)}}));
    let (code, begun) = mcpx.json(&["call", "s.slow", "--task"]);
    assert_eq!(code, 0, "{begun}");
    let id = begun["task"]["id"].as_str().unwrap();
    // The command has ended long ago when the tool answers.
    let (code, result) = mcpx.json(&["task", "result", id]);
    assert_eq!(code, 0, "{result}");
    assert_eq!(result["tool"], "slow", "{result}");
    assert_eq!(chaos.received().of_method("tools/call").len(), 1);
}

#[test]
fn a_command_that_is_killed_ends_its_call_and_nothing_else() {
    let stuck = [
        Behaviour::UntilCancelled(Duration::from_secs(60)),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new()
        .tool("stuck", stuck)
        .tool("say", Behaviour::Answer)
        .stdio();
    let mcpx = Mcpx::with(&json!({"mcpServers": {"s": entry(&chaos)}}));
    mcpx.ok(&["call", "s.say"]);
    let mut killed = mcpx.command(&["call", "s.stuck"]).spawn().unwrap();
    chaos.wait_for("it is called", |received| {
        received.of_method("tools/call").len() == 2
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    chaos.wait_for("it is cancelled", |received| {
        received.of_method("notifications/cancelled").len() == 1
    });
    mcpx.ok(&["call", "s.say"]);
    assert_eq!(chaos.received().processes().len(), 1);
}

#[test]
fn a_command_that_gives_up_lets_the_server_start() {
    let chaos = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let mcpx = Mcpx::new();
    configure(&mcpx, &json!({"mcpServers": {"s": gated(&mcpx, &chaos)}}));
    mcpx.ok(&["status"]);
    let begun = Instant::now();
    let gave_up = mcpx.run(&["call", "s.say", "--timeout", "200ms"]);
    assert_eq!(gave_up.code, 124, "{gave_up}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{gave_up}");
    mcpx.home.write("gate", "");
    mcpx.ok(&["call", "s.say"]);
    assert_eq!(chaos.received().processes().len(), 1, "it was started once");
}

#[test]
fn a_call_that_takes_long_is_no_idleness_of_anybody() {
    let slow = [
        Behaviour::Progress(10, Duration::from_millis(150)),
        Behaviour::Answer,
    ];
    let silent = [
        Behaviour::Delay(Duration::from_millis(1_500)),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new()
        .tool("slow", slow)
        .tool("silent", silent)
        .stdio();
    // Everything that may end for want of work ends soon, and a command waits for a short while.
    let mcpx = Mcpx::with(&json!({
        "mcpServers": {"s": entry(&chaos)},
        "autostart": {"idleExit": "300ms"},
        "daemon": {"reapInterval": "50ms", "leaseTTL": "200ms"},
        "pool": {"idleTimeout": "100ms"},
        "http": {"requestTimeout": "700ms", "ssePing": "100ms"},
    }));
    for tool in ["s.slow", "s.silent"] {
        // With a time of the command, and with that of the server.
        for more in [&["--timeout", "30s"][..], &[]] {
            let ran = mcpx.ok(&[&["call", tool], more].concat());
            assert!(ran.stdout.contains("\"answers\""), "{ran}");
        }
    }
    assert_eq!(
        chaos.received().of_method("tools/call").len(),
        4,
        "each was called once"
    );
}

#[test]
fn a_large_answer_reaches_a_slow_reader_whole() {
    let mcpx = Mcpx::new();
    let size = 6_000_000;
    let bytes = format!("bytes={size}");
    for args in [
        vec!["--demo", "call", "demo.big", &bytes, "--raw"],
        vec!["--demo", "--json", "call", "demo.big", &bytes, "--raw"],
    ] {
        let mut child = mcpx.command(&args).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut all = Vec::new();
        let mut piece = vec![0; 16 * 1024];
        // The program has written and wants to end while most of it is still to be read.
        loop {
            let read = stdout.read(&mut piece).unwrap();
            if read == 0 {
                break;
            }
            all.extend_from_slice(&piece[..read]);
            if all.len() % (64 * 16 * 1024) < 16 * 1024 {
                std::thread::yield_now();
            }
        }
        assert!(child.wait().unwrap().success(), "{args:?}");
        assert!(all.len() >= size, "{args:?}: {} bytes", all.len());
        let document: Value = serde_json::from_slice(&all).unwrap();
        assert!(document.is_object());
    }
}

#[test]
fn what_a_server_prints_is_not_in_what_a_command_prints() {
    let chaos = Chaos::new()
        .banner("Welcome to the server!")
        .banner("{\"not\": \"a message\"}")
        .chatter(200)
        .tool(
            "say",
            [Behaviour::Junk(3), Behaviour::Stderr(50), Behaviour::Answer],
        )
        .tool("fails", [Behaviour::Junk(3), Behaviour::Failed("no luck")])
        .stdio();
    let mcpx = Mcpx::with(&json!({"mcpServers": {"s": entry(&chaos)}}));
    for (args, code) in [
        (["call", "s.say"], 0),
        (["call", "s.fails"], 1),
        (["call", "s.nothing"], 2),
        (["types", "s"], 0),
    ] {
        let (ended, document) = mcpx.json(&args);
        assert_eq!(ended, code, "{args:?}: {document}");
        assert!(!document.to_string().contains("Welcome"), "{document}");
    }
    let ran = mcpx.ok(&["call", "s.say"]);
    assert!(
        !ran.stdout.contains("junk") && !ran.stderr.contains("Welcome"),
        "{ran}"
    );
}

#[test]
fn a_log_that_cannot_be_written_from_the_beginning_stops_no_command() {
    let mcpx = Mcpx::new();
    let state = mcpx.home.path().join("state");
    mcpx.home
        .write("state/logs", "a file where the folder should be");
    let mcpx = mcpx.variable("MCPX_STATE_DIR", &state.display().to_string());
    let ran = mcpx.ok(&["--demo", "call", "demo.echo", "message=hi"]);
    assert_eq!(ran.stdout.trim(), "hi", "{ran}");
    let again = mcpx.ok(&["--demo", "call", "demo.echo", "message=again"]);
    assert_eq!(again.stdout.trim(), "again", "{again}");
}

#[test]
fn a_command_that_is_not_read_to_its_end_ends_quietly() {
    let mcpx = Mcpx::new();
    let mut child = mcpx
        .command(&["--demo", "call", "demo.big", "bytes=3000000", "--raw"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut piece = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut piece).unwrap();
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    wait_until("it ends", PATIENCE, || child.try_wait().unwrap().is_some());
    stderr.read_to_string(&mut said).unwrap();
    assert!(!said.contains("panicked"), "{said}");
}
