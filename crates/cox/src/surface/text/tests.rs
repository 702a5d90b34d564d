//! What a person reads of a run.

use cox_protocol::{AssistantBlock, StopReason, ToolDone};
use serde_json::Value;
use untrusted_text::Untrusted;

use super::*;

fn call(number: u128) -> CallId {
    CallId::from_parts(1, number)
}

fn requested(number: u128, name: &str, subject: &str) -> Event {
    Event::ToolRequested {
        call: call(number),
        name: name.to_owned(),
        input: Value::Null,
        subject: Untrusted::from(subject),
        risk: None,
    }
}

fn done(number: u128, name: &str) -> ToolDone {
    ToolDone {
        call: call(number),
        name: name.to_owned(),
        ok: true,
        denied: false,
        visible: Untrusted::from("fine"),
        bytes: 2_048,
        archive: None,
        duration_ms: 12,
        diff: None,
        exit_code: None,
        preimages: Vec::new(),
        discovered: Vec::new(),
    }
}

fn said(text: &str) -> Event {
    let blocks = vec![AssistantBlock::Text {
        text: text.to_owned(),
    }];
    Event::ItemAdded {
        item: Item::Assistant {
            blocks,
            complete: true,
        },
    }
}

#[track_caller]
fn check(events: &[Event], expect: &str) {
    let mut lines = Lines::new(false);
    let shown: Vec<String> = events
        .iter()
        .map(|event| lines.lines(event))
        .filter(|text| !text.is_empty())
        .collect();
    assert_eq!(shown.join("\n"), expect);
}

#[test]
fn a_call_has_its_line_and_its_result_under_it() {
    check(
        &[
            requested(1, "read", "src/a.py"),
            Event::ToolDone(done(1, "read")),
        ],
        "* read src/a.py\n  ok, 2.0 KiB, 12 ms",
    );
}

#[test]
fn a_result_that_comes_later_names_its_call_again() {
    check(
        &[
            requested(1, "read", "a"),
            requested(2, "read", "b"),
            Event::ToolDone(done(1, "read")),
            Event::ToolDone(done(2, "read")),
        ],
        "* read a\n* read b\n* read a: ok, 2.0 KiB, 12 ms\n* read b: ok, 2.0 KiB, 12 ms",
    );
}

#[test]
fn commentary_is_shown_and_the_last_answer_is_kept_for_stdout() {
    check(
        &[
            said("I look first."),
            requested(1, "read", "a"),
            Event::ToolDone(done(1, "read")),
            said("All is well."),
            Event::TurnDone {
                turn: 1,
                stop: StopReason::EndTurn,
            },
        ],
        "I look first.\n* read a\n  ok, 2.0 KiB, 12 ms",
    );
}

#[test]
fn a_failed_command_shows_its_exit_code_and_its_last_lines() {
    let failed = ToolDone {
        ok: false,
        exit_code: Some(2),
        visible: Untrusted::from("1\n2\n3\n4\n5\n6\n7\n"),
        ..done(1, "bash")
    };
    check(
        &[requested(1, "bash", "make"), Event::ToolDone(failed)],
        "* bash make\n  exit code 2, 2.0 KiB, 12 ms\n  2\n  3\n  4\n  5\n  6\n  7",
    );
}

#[test]
fn a_denied_call_says_why_once() {
    let decided = Event::ApprovalDecided {
        call: call(1),
        allowed: false,
        by: DecidedBy::Engine,
        reason: "the policy never asks".to_owned(),
    };
    let denied = ToolDone {
        ok: false,
        denied: true,
        ..done(1, "bash")
    };
    check(
        &[
            requested(1, "bash", "rm x"),
            decided,
            Event::ToolDone(denied),
        ],
        "* bash rm x\n  denied: the policy never asks",
    );
}

#[test]
fn a_call_refused_without_judgement_says_why() {
    let refused = ToolDone {
        ok: false,
        denied: true,
        visible: Untrusted::from("outside the roots\nmore"),
        ..done(1, "read")
    };
    check(
        &[requested(1, "read", "/etc/x"), Event::ToolDone(refused)],
        "* read /etc/x\n  refused: outside the roots …",
    );
}

#[test]
fn long_subjects_are_cut_and_say_so() {
    check(&[requested(1, "bash", "first\nsecond")], "* bash first …");
}

#[test]
fn what_an_approval_is_about_is_shown_whole() {
    #[track_caller]
    fn check(subject: &str, expect: &str) {
        let call = call(1);
        let asks: Event = serde_json::from_value(serde_json::json!({
            "type": "approval_required", "call": call, "name": "bash", "subject": subject,
            "why": { "by": "risk", "risk": "exec" }, "parts": [],
        }))
        .unwrap();
        let mut lines = Lines::new(false);
        lines.lines(&requested(1, "bash", subject));
        let shown = lines.lines(&asks);
        let answer = shown.find("; answer {").unwrap();
        let why = shown[..answer].rfind(' ').unwrap();
        assert!(shown[..why].starts_with(expect), "{shown}");
    }
    check("make", "  asks, ");
    check(
        "echo hello\nrm -rf x\u{202e}",
        "  asks, all of this:\n    echo hello\n    rm -rf x<U+202E>\n  ",
    );
    let long = format!("echo {}", "a".repeat(300));
    check(&long, &format!("  asks, all of this:\n    {long}\n  "));
}
