//! Running lines of shell, and looking at who lives.

use std::{
    fs,
    future::pending,
    time::{Duration, Instant},
};

use child_process::{Ended, Env, Limits, Pipe, Program};

/// A line of shell as a program.
pub(crate) fn shell(line: &str) -> Program {
    Program::new("/bin/bash")
        .args(["-c", line])
        .env(Env::empty().set("PATH", "/usr/local/bin:/usr/bin:/bin"))
}

/// Short limits: nothing here is slow.
pub(crate) fn limits(deadline: Duration) -> Limits {
    Limits {
        grace: Duration::from_millis(300),
        ..Limits::deadline(deadline)
    }
}

/// Runs a program that is expected to end by itself; returns how, and what it printed to each pipe.
pub(crate) async fn run(program: Program) -> (Ended, String, String) {
    run_for(program, Duration::from_secs(20)).await
}

/// Runs a program for at most `deadline`.
pub(crate) async fn run_for(program: Program, deadline: Duration) -> (Ended, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut sink = |pipe: Pipe, bytes: &[u8]| match pipe {
        Pipe::Out => out.extend_from_slice(bytes),
        Pipe::Err => err.extend_from_slice(bytes),
    };
    let ended = program
        .run(limits(deadline), pending(), &mut sink)
        .await
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (ended, text(out), text(err))
}

/// Whether a process lives: a zombie does not.
pub(crate) fn lives(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap()
            .trim_start()
            .starts_with(['Z', 'X'])
    })
}

/// Waits until a condition holds.
pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < until, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns the process ids that a line printed, one a line.
pub(crate) fn pids(text: &str) -> Vec<i32> {
    text.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

/// Whether this is a process of this test's own. If not, runs the test in one and checks that it passes there: what
/// it looks at belongs to the whole process.
pub(crate) fn is_alone(test: &str) -> bool {
    is_alone_within(test, &[])
}

/// The same, started by another program that comes with its arguments.
pub(crate) fn is_alone_within(test: &str, starter: &[&str]) -> bool {
    const ALONE: &str = "CHILD_PROCESS_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let own = std::env::current_exe().unwrap();
    let mut command = match starter.split_first() {
        Some((program, args)) => {
            let mut command = std::process::Command::new(program);
            command.args(args).arg(own);
            command
        }
        None => std::process::Command::new(own),
    };
    let output = command
        .args(["--exact", test])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}
