//! The official conformance suite, run as a test.
//!
//! `ci/conformance/run` does the work and holds the lists of what is known to fail; `docs/how/conformance.md` says what the
//! scenarios expect.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What is under test.
#[derive(Clone, Debug)]
pub enum Subject<'a> {
    /// A server at this URL, whose host is `localhost` or `127.0.0.1`.
    Server(&'a str),
    /// A client, as a line for `sh`; it gets the URL as one more argument and the scenario in its environment.
    Client(&'a str),
}

/// Runs all scenarios of a revision, `2025-11-25` or `2026-07-28`, and returns the report, which ends with the counts.
///
/// # Panics
///
/// When a scenario fails that is not listed, or one passes that is; the message is the report.
#[track_caller]
pub fn run(subject: &Subject<'_>, revision: &str) -> String {
    run_against(subject, revision, &[])
}

/// The same, with the list `ci/conformance/NAME` of what is known to fail.
///
/// # Panics
///
/// As [`run`].
#[track_caller]
pub fn run_with_baseline(subject: &Subject<'_>, revision: &str, name: &str) -> String {
    let file = folder().join(name);
    run_against(subject, revision, &["--baseline", file.to_str().unwrap()])
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/conformance")
}

#[track_caller]
fn run_against(subject: &Subject<'_>, revision: &str, more: &[&str]) -> String {
    let (side, target) = match subject {
        Subject::Server(url) => ("server", url),
        Subject::Client(command) => ("client", command),
    };
    let program = folder().join("run");
    let output = Command::new("python3")
        .arg(program)
        .args([side, target, "--revision", revision])
        .args(more)
        .env("COX_TEST_PEERS", crate::peers::dir())
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("python3: {error}"));
    let mut report = String::from_utf8_lossy(&output.stdout).into_owned();
    report.push_str(&String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{report}");
    report
}
