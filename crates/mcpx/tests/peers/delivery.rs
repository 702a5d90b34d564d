//! Servers that die, do not start, or print what is no message: what becomes of the call, and what the caller is told.

use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos};
use testkit::wait_until;

use crate::hub::{Hub, PATIENCE, program, runs, signal, stateful};

#[test]
fn a_server_that_died_between_two_calls_is_started_again_for_the_second() {
    let hub = Hub::new(&json!({ "state": stateful(json!({})) }));
    let mut before = hub.ok(&["call", "state.who"]);
    for _ in 0..3 {
        let server = before.parse().unwrap();
        signal("KILL", server);
        wait_until("it is dead", PATIENCE, || !runs(server));
        let after = hub.ok(&["call", "state.who"]);
        assert_ne!(before, after);
        before = after;
    }
}

#[test]
fn a_call_during_which_its_server_died_is_made_once_and_its_outcome_is_unknown() {
    let chaos = Chaos::new()
        .legacy()
        .tool("die", Behaviour::Exit(7))
        .tool("live", Behaviour::Answer)
        .stdio();
    let hub = Hub::new(&json!({ "chaos": program(&chaos.command()) }));
    let died = hub.run(&["call", "chaos.die"]);
    assert_eq!(died.code, Some(1), "{died:?}");
    assert!(died.err.contains("outcome is unknown"), "{died:?}");
    assert_eq!(chaos.received().of_method("tools/call").len(), 1);
    let died = hub.run(&["--json", "call", "chaos.die"]);
    let error: Value = serde_json::from_str(&died.out).unwrap();
    assert_eq!(error["delivery"], "outcome_unknown", "{error}");
    assert_eq!(chaos.received().of_method("tools/call").len(), 2);
    hub.ok(&["call", "chaos.live"]);
    let logged = hub.ok(&["log", "--server", "chaos", "--level", "error"]);
    assert!(logged.contains("delivery=outcome_unknown"), "{logged}");
}

#[test]
fn banners_on_standard_output_are_skipped_and_kept_for_who_looks() {
    let chaos = Chaos::new()
        .banner("Welcome to the server!")
        .banner("{\"level\":\"info\",\"msg\":\"listening\"}")
        .tool("noisy", [Behaviour::Junk(5), Behaviour::Answer])
        .stdio();
    let hub = Hub::new(&json!({ "chaos": program(&chaos.command()) }));
    let said = hub.ok(&["call", "chaos.noisy"]);
    assert!(said.contains("noisy"), "{said}");
    // A server that prints nothing else is told by what it printed.
    let script = "for i in 1 2 3 4 5 6 7 8 9; do echo Welcome $i; done; exit 3";
    hub.configure(&json!({ "banner": { "command": "sh", "args": ["-c", script] } }));
    wait_until("the edit counts", PATIENCE, || {
        hub.ok(&["ls"]).contains("banner")
    });
    let failed = hub.run(&["call", "banner.any"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.err.contains("the first: Welcome 1"), "{failed:?}");
}

#[test]
fn a_server_that_cannot_start_says_what_was_run_what_it_wrote_and_what_to_try() {
    let hub = Hub::new(&json!({
        "state": stateful(json!({})),
        "missing": { "command": "no-such-program" },
        "failing": { "command": "sh", "args": ["-c", "echo one >&2; echo the last words >&2; exit 3"] },
        "mute": { "command": "sleep", "args": ["1000"], "mcpx": { "startTimeout": "300ms" } },
    }));
    let cases: [(&str, i32, &[&str]); 3] = [
        (
            "missing",
            1,
            &["no-such-program", "PATH", "hint: install it"],
        ),
        (
            "failing",
            1,
            &[
                "reached as: /",
                "sh -c",
                "exit status: 3",
                "the last words",
                "hint: run",
            ],
        ),
        (
            "mute",
            124,
            &[
                "reached as: /",
                "sleep 1000",
                "within 0.3 s",
                "hint: ",
                "startTimeout",
            ],
        ),
    ];
    for (server, code, parts) in cases {
        let failed = hub.run(&["call", &format!("{server}.any")]);
        assert_eq!(failed.code, Some(code), "{server}: {failed:?}");
        for part in parts {
            assert!(
                failed.err.contains(part),
                "{server}: {part}: {}",
                failed.err
            );
        }
        assert!(
            !failed.err.contains("has no tool"),
            "{server}: {}",
            failed.err
        );
        let status = hub.server(server);
        assert_eq!(status.state, "error", "{status:?}");
        assert!(status.last_error.is_some(), "{status:?}");
    }
    let log = hub.ok(&["log", "--server", "failing"]);
    assert!(!log.contains(". failed"), "a record names no tool: {log}");
    // The others work.
    let server = hub.ok(&["call", "state.who"]);
    assert!(runs(server.parse().unwrap()));
}
