//! Tests of the words of `bash`; what it does to processes is tested in `tests/it`.

use std::time::Duration;

use child_process::{Ended, Exit, LeftBehind};
use sandbox::Denial;

use super::{check_line, outcome, timeout};
use crate::commands::Ran;

fn ran(exit: Exit) -> Ran {
    let elapsed = Duration::from_millis(1234);
    Ran {
        ended: Ended {
            exit,
            elapsed,
            left_behind: LeftBehind::default(),
            survivors: Vec::new(),
        },
        denial: None,
        bytes: 12,
        is_binary: false,
        ends_with_newline: true,
        is_flood: false,
    }
}

fn check(ran: &Ran, expect: &str) {
    assert_eq!(outcome::text(ran, Duration::from_secs(120)), expect);
}

#[test]
fn the_last_line_says_how_it_ended() {
    check(&ran(Exit::Code(0)), "[exit 0, 1.2 s]");
    check(&ran(Exit::Code(101)), "[exit 101, 1.2 s]");
    check(&ran(Exit::Signal(11)), "[killed by SIGSEGV, 1.2 s]");
    check(&ran(Exit::Signal(35)), "[killed by signal 35, 1.2 s]");
    check(
        &ran(Exit::TimedOut),
        "[timed out after 120.0 s: ended with everything it started]",
    );
    check(
        &ran(Exit::Cancelled),
        "[cancelled after 1.2 s: ended with everything it started]",
    );
}

#[test]
fn the_last_line_begins_on_a_line_of_its_own() {
    let open = Ran {
        ends_with_newline: false,
        ..ran(Exit::Code(0))
    };
    check(&open, "\n[exit 0, 1.2 s]");
}

#[test]
fn what_was_left_is_named_within_bounds() {
    let mut many = ran(Exit::Code(0));
    many.ended.left_behind = LeftBehind {
        count: 900,
        names: (0..8)
            .map(|number| format!("{number} {}", "x".repeat(300)))
            .collect(),
    };
    let text = outcome::text(&many, Duration::from_secs(1));
    assert!(
        text.contains("[900 background processes were ended") && text.contains("`3 x"),
        "{text}"
    );
    assert!(!text.contains("`4 x") && text.len() < 500, "{text}");
    many.ended.left_behind = LeftBehind {
        count: 1,
        names: Vec::new(),
    };
    check(
        &many,
        "[exit 0, 1.2 s]\n[1 background process was ended with the command; `background: true` keeps it running]",
    );
    check(
        &ran(Exit::TooMany),
        "[killed after 1.2 s, with everything it started: it had more than 8192 processes]",
    );
}

#[test]
fn a_flood_is_said() {
    let flood = Ran {
        is_flood: true,
        ..ran(Exit::Cancelled)
    };
    check(
        &flood,
        "[ended after 1.2 s, with everything it started: it printed more than 4 GiB]",
    );
}

#[test]
fn denials_and_what_was_left_are_named() {
    let mut odd = ran(Exit::Code(1));
    odd.denial = Some(Denial {
        what: Some("/etc/motd".to_owned()),
        rule: "the sandbox is read-only".to_owned(),
        hint: "do without",
        line: String::new(),
    });
    odd.ended.left_behind = LeftBehind {
        count: 2,
        names: vec!["sleep 1000".to_owned(), "a\u{1b}[2J\nb".to_owned()],
    };
    odd.ended.survivors = vec![7, 9];
    check(
        &odd,
        "[exit 1, 1.2 s]\n[sandbox: the sandbox is read-only (/etc/motd); do without]\n[2 background processes were ended with the command: `sleep 1000`, `a␛[2J␊b`; `background: true` keeps them running]\n\
         [still running, could not be ended: pid 7, 9]",
    );
}

#[test]
fn a_timeout_is_held_between_a_second_and_the_limit() {
    let (default, max) = (Duration::from_secs(120), Duration::from_secs(600));
    for (asked, expect) in [
        (None, 120),
        (Some(0.0), 120),
        (Some(-3.0), 120),
        (Some(f64::NAN), 120),
        (Some(0.2), 1),
        (Some(30.0), 30),
        (Some(1e300), 600),
    ] {
        assert_eq!(
            timeout(asked, default, max),
            Duration::from_secs(expect),
            "{asked:?}"
        );
    }
}

#[test]
fn a_line_without_a_command_is_refused() {
    for line in ["", " \n\t", "echo \0"] {
        assert!(check_line(line).is_err(), "{line:?}");
    }
    assert_eq!(check_line(" ls ").ok(), Some(" ls "));
}
