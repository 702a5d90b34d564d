//! How commands end inside: what they leave is ended and told, bombs are killed, and terminals are their own.

use std::{future::pending, time::Duration};

use child_process::{Ended, Exit, Limits, Output, Pipe};

use crate::lab::{Lab, User, backends, users};

/// Runs a line to its end.
async fn run(
    lab: &Lab,
    detected: &sandbox::Detected,
    user: User,
    line: &str,
    change: impl Fn(child_process::Program) -> child_process::Program,
) -> (Ended, String) {
    let mut text = Vec::new();
    let mut sink = |_: Pipe, bytes: &[u8]| text.extend_from_slice(bytes);
    let limits = Limits {
        grace: Duration::from_millis(300),
        ..Limits::deadline(Duration::from_secs(20))
    };
    let program = change(lab.program(detected, &lab.policy, user, line));
    let ended = program.run(limits, pending(), &mut sink).await.unwrap();
    (ended, String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test]
async fn what_a_command_left_behind_is_ended_counted_and_named() {
    let lab = Lab::new();
    for (name, detected) in backends() {
        for user in users() {
            for (line, names) in [
                ("true", [].as_slice()),
                ("sleep 1000 &", &["sleep 1000"]),
                (
                    "setsid sleep 1000 & sleep 2000 &",
                    &["sleep 1000", "sleep 2000"],
                ),
                ("(setsid sleep 1000 &) ; sleep 0.1", &["sleep 1000"]),
                (
                    "(env -i setsid sleep 1000 &); sleep 0.1; exit 3",
                    &["sleep 1000"],
                ),
                (
                    "trap '' TERM; sleep 1000 & sleep 0.2; kill -STOP $!",
                    &["sleep 1000"],
                ),
                ("sleep 0.01 &", &[]),
            ] {
                let (ended, text) = run(&lab, &detected, user, line, |program| program).await;
                let case = format!("{name}, {user:?}, {line}: {ended:?} {text}");
                let code = if line.ends_with("exit 3") { 3 } else { 0 };
                let mut found = ended.left_behind.names.clone();
                found.sort();
                assert_eq!(
                    (ended.exit, found.as_slice()),
                    (
                        Exit::Code(code),
                        names
                            .iter()
                            .map(|name| (*name).to_owned())
                            .collect::<Vec<_>>()
                            .as_slice()
                    ),
                    "{case}"
                );
                assert_eq!(ended.left_behind.count, names.len(), "{case}");
                assert_eq!(ended.survivors, [0_i32; 0], "{case}");
                assert!(ended.elapsed < Duration::from_secs(5), "{case}");
            }
        }
    }
}

#[tokio::test]
async fn what_a_command_left_behind_cannot_lie_about_it() {
    let lab = Lab::new();
    for (name, detected) in backends() {
        // Whatever descriptors there are, none leads to whoever asks.
        let line = "for fd in /proc/self/fd/*; do n=${fd##*/}; [ $n -gt 2 ] && echo 77 >&$n; done 2>/dev/null; true";
        let (ended, text) = run(&lab, &detected, User::Current, line, |program| program).await;
        assert_eq!(ended.left_behind.count, 0, "{name}: {ended:?} {text}");
    }
}

/// Waits until no other test of this user runs a bomb: where the limit is the user's, each would count for all.
fn turn() -> std::fs::File {
    let user = rustix::process::geteuid().as_raw();
    let path = std::env::temp_dir().join(format!("child-process-bombs.{user}.lock"));
    let file = std::fs::File::create(path).unwrap();
    file.lock().unwrap();
    file
}

/// Bombs run under a small limit, which the kernel holds root to by a control group.
#[tokio::test]
async fn a_fork_bomb_is_killed_at_its_limit() {
    let lab = Lab::new();
    for (name, detected) in backends() {
        for user in users() {
            for line in [
                ":(){ :|:& };:; sleep 9",
                "python3 -c 'import os\nwhile True: os.fork()'",
                "perl -e 'fork while 1'",
                "python3 -c 'import os\nwhile True:\n  if os.fork() == 0: os.setsid()'",
            ] {
                let turn = turn();
                let (ended, text) = run(&lab, &detected, user, line, |program| {
                    program.max_processes(200)
                })
                .await;
                drop(turn);
                let case = format!("{name}, {user:?}, {line}: {ended:?} {text}");
                // Only for root does the kernel tell afterwards. Another user's bomb that a refused fork ends may be over
                // before anybody looks: then its output says it.
                if ended.exit == Exit::Code(1) && !is_root(user) {
                    let denial = sandbox::denial(1, &text, &lab.policy);
                    let rule = denial.map(|denial| denial.rule).unwrap_or_default();
                    assert!(rule.contains("processes"), "{case}");
                } else {
                    assert_eq!(ended.exit, Exit::TooMany, "{case}");
                }
                assert_eq!(ended.survivors, [0_i32; 0], "{case}");
                assert!(ended.elapsed < Duration::from_secs(15), "{case}");
            }
        }
    }
}

fn is_root(user: User) -> bool {
    user == User::Current && rustix::process::geteuid().is_root()
}

/// Runs a line until it says `ready`, then cancels it.
async fn cancel(
    lab: &Lab,
    detected: &sandbox::Detected,
    user: User,
    line: &str,
) -> (Ended, String) {
    let mut text = Vec::new();
    let ready = tokio::sync::Notify::new();
    let mut sink = |_: Pipe, bytes: &[u8]| {
        text.extend_from_slice(bytes);
        if text.starts_with(b"ready\n") {
            ready.notify_one();
        }
    };
    let limits = Limits {
        grace: Duration::from_secs(10),
        ..Limits::deadline(Duration::from_secs(20))
    };
    let program = lab.program(detected, &lab.policy, user, line);
    let ended = program
        .run(limits, ready.notified(), &mut sink)
        .await
        .unwrap();
    (ended, String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test]
async fn a_command_that_is_ended_is_asked_first() {
    let lab = Lab::new();
    for (name, detected) in backends() {
        for user in users() {
            for (line, said) in [
                (
                    "trap 'echo bye; exit' TERM; echo ready; while :; do read -t 0.01 <> <(:); done",
                    "ready\nbye\n",
                ),
                (
                    "trap 'wait; exit' TERM; (trap 'echo bye; exit' TERM; echo ready; while :; do read -t 0.01 <> <(:); done) & wait",
                    "ready\nbye\n",
                ),
                (
                    "trap : TERM; setsid bash -c 'trap \"echo bye; exit\" TERM; echo ready; while :; do read -t 0.01 <> <(:); done' & wait; wait",
                    "ready\nbye\n",
                ),
                ("echo ready; exec sleep 1000", "ready\n"),
            ] {
                let (ended, text) = cancel(&lab, &detected, user, line).await;
                let case = format!("{name}, {user:?}, {line}: {ended:?}");
                assert_eq!(
                    (ended.exit, text.as_str()),
                    (Exit::Cancelled, said),
                    "{case}"
                );
                assert_eq!(ended.survivors, [0_i32; 0], "{case}");
                // Nothing waits for the wrap once what it holds has gone.
                assert!(ended.elapsed < Duration::from_secs(8), "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_command_on_a_terminal_has_one_of_its_own() {
    let lab = Lab::new();
    for (name, detected) in backends() {
        for user in users() {
            let line = "test -t 0 && test -t 1 && stty size && cat && cat < /dev/tty && echo x > /dev/tty; sleep 1000 &";
            let (ended, text) = run(&lab, &detected, user, line, |program| {
                program.output(Output::Terminal)
            })
            .await;
            let case = format!("{name}, {user:?}: {ended:?}");
            assert_eq!(text, "40 120\nx\n", "{case}");
            assert_eq!(
                (ended.exit, ended.left_behind.count),
                (Exit::Code(0), 1),
                "{case}"
            );
            assert!(ended.elapsed < Duration::from_secs(5), "{case}");
            // TIOCSTI types for the person.
            let line = "python3 -c 'import fcntl; fcntl.ioctl(0, 0x5412, b\"x\")'";
            let (ended, text) = run(&lab, &detected, user, line, |program| {
                program.output(Output::Terminal)
            })
            .await;
            assert_eq!(ended.exit, Exit::Code(1), "{case}");
            assert!(text.contains("not permitted"), "{case}: {text}");
        }
    }
}
