//! A policy that cannot be held is refused, and a helper that cannot confine itself runs nothing.

use std::{path::Path, time::Duration};

use child_process::{Program, run_briefly};
use sandbox::{Backend, Choice, Detected, Mode, Policy, detect, wrap};

use crate::lab::helper;

fn policy(mode: Mode) -> Policy {
    Policy {
        mode,
        ..Policy::default()
    }
}

#[test]
fn without_a_backend_only_full_access_runs() {
    let none = detect(Choice::None, helper());
    assert_eq!(none, Detected::none("the sandbox backend is set to `none`"));
    for mode in [Mode::ReadOnly, Mode::WorkspaceWrite] {
        let refused = wrap(&none, &policy(mode), Path::new("/"))
            .unwrap_err()
            .to_string();
        let expect = format!(
            "the sandbox mode is `{}` but nothing on this machine can hold a command to it: \
             the sandbox backend is set to `none`\nhint: install bubblewrap (`apt install bubblewrap`, \
             `dnf install bubblewrap`), or run without a sandbox: `--sandbox danger-full-access`",
            mode.as_str()
        );
        assert_eq!(refused, expect);
    }
    assert!(
        wrap(&none, &policy(Mode::DangerFullAccess), Path::new("/"))
            .unwrap()
            .is_none()
    );
}

#[test]
fn a_helper_that_is_not_there_is_no_backend() {
    let detected = detect(Choice::Landlock, Path::new("/nonexistent/helper"));
    assert_eq!(detected.backend, Backend::None);
    assert!(
        detected.why.contains("/nonexistent/helper"),
        "{}",
        detected.why
    );
}

#[test]
fn a_helper_with_a_spec_it_cannot_read_runs_nothing() {
    for spec in ["", "{}", "null", "{\"sockets\": 1}"] {
        let program = Program::new(helper()).args(["__sandbox", spec, "--", "/bin/echo", "it ran"]);
        let brief = run_briefly(&program, Duration::from_secs(10)).unwrap();
        assert_eq!(
            (brief.code, brief.stdout.as_slice()),
            (Some(126), b"".as_slice()),
            "{spec}"
        );
    }
}

#[test]
fn a_command_that_is_not_there_says_so() {
    for (name, detected) in crate::lab::backends() {
        let wrap = wrap(&detected, &policy(Mode::ReadOnly), Path::new("/")).unwrap();
        let program = Program::new("/nonexistent").wrap(wrap).cwd("/");
        let brief = run_briefly(&program, Duration::from_secs(10)).unwrap();
        let said = String::from_utf8_lossy(&brief.stderr).into_owned();
        assert_eq!(brief.code, Some(127), "{name}: {said}");
        assert!(
            said.contains("cannot start `/nonexistent`"),
            "{name}: {said}"
        );
    }
}
