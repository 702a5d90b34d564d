//! Texts of refusals as common programs print them.

use std::path::PathBuf;

use super::denial;
use crate::{Mode, Policy};

fn policy(mode: Mode) -> Policy {
    Policy {
        mode,
        writable: vec![PathBuf::from("/w")],
        read_only_within: vec![PathBuf::from("/w/.git"), PathBuf::from("/w/.cox")],
        hidden: vec![PathBuf::from("/home/a/.ssh")],
        network: false,
    }
}

/// Checks what is read from a failed command's output in `workspace-write`.
fn check(output: &str, expect: Option<&str>) {
    let found = denial(1, output, &policy(Mode::WorkspaceWrite)).map(|denial| denial.to_string());
    assert_eq!(found.as_deref(), expect, "{output}");
}

const ROOTS: &str = "the sandbox lets only `/w` and `/tmp` be written";

#[test]
fn a_write_outside_names_the_path_and_the_roots() {
    let expect = format!("{ROOTS} (/etc/motd)");
    for output in [
        "/bin/bash: line 1: /etc/motd: Read-only file system",
        "bash: /etc/motd: Permission denied",
        "cp: cannot create regular file '/etc/motd': Read-only file system",
        "mv: cannot move '/w/a' to '/etc/motd': Read-only file system",
        "touch: cannot touch ‘/etc/motd’: Operation not permitted",
        "PermissionError: [Errno 13] Permission denied: '/etc/motd'",
        "OSError: [Errno 30] Read-only file system: '/etc/motd'",
        "Error: EROFS: read-only file system, open '/etc/motd'",
        "first\nerror: failed to write `/etc/motd`: Read-only file system (os error 30)\nlast",
    ] {
        check(output, Some(&expect));
    }
    check("error: Read-only file system (os error 30)", Some(ROOTS));
}

#[test]
fn what_is_protected_or_hidden_is_named() {
    check(
        "bash: .git/hooks/pre-commit: Read-only file system",
        Some("the sandbox keeps `/w/.git` read-only (.git/hooks/pre-commit)"),
    );
    check(
        "fatal: Unable to create '/w/.git/index.lock': Read-only file system",
        Some("the sandbox keeps `/w/.git` read-only (/w/.git/index.lock)"),
    );
    check(
        "cat: /home/a/.ssh/id_ed25519: Permission denied",
        Some("the sandbox hides `/home/a/.ssh` (/home/a/.ssh/id_ed25519)"),
    );
}

#[test]
fn a_refused_network_names_the_host() {
    let expect = |host: &str| format!("the sandbox has no network ({host})");
    for (output, host) in [
        (
            "curl: (6) Could not resolve host: example.com",
            "example.com",
        ),
        (
            "npm error getaddrinfo EAI_AGAIN registry.npmjs.org",
            "registry.npmjs.org",
        ),
        (
            "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
            "github.com",
        ),
        (
            "ERROR: HTTPSConnection to https://pypi.org/simple: Temporary failure in name resolution",
            "pypi.org",
        ),
        (
            "ssh: Could not resolve hostname host.example: x",
            "hostname",
        ),
    ] {
        let found = denial(1, output, &policy(Mode::WorkspaceWrite)).map(|it| it.to_string());
        if host != "hostname" {
            assert_eq!(found, Some(expect(host)), "{output}");
        } else {
            assert!(found.is_some(), "{output}");
        }
    }
    check(
        "connect: Network is unreachable",
        Some("the sandbox has no network"),
    );
    let open = Policy {
        network: true,
        ..policy(Mode::WorkspaceWrite)
    };
    assert_eq!(denial(1, "connect: Network is unreachable", &open), None);
}

#[test]
fn read_only_says_so() {
    let found = denial(
        1,
        "touch: cannot touch 'x': Read-only file system",
        &policy(Mode::ReadOnly),
    );
    assert_eq!(
        found.map(|denial| denial.to_string()).as_deref(),
        Some("the sandbox is read-only: only `/tmp` may be written")
    );
}

#[test]
fn an_ordinary_failure_is_no_denial() {
    check("error[E0308]: mismatched types", None);
    check("", None);
    let refused = "bash: /etc/motd: Permission denied";
    assert_eq!(denial(0, refused, &policy(Mode::WorkspaceWrite)), None);
    assert_eq!(denial(1, refused, &policy(Mode::DangerFullAccess)), None);
    // The file's own mode.
    check("bash: ./x.sh: Permission denied", None);
    check(
        "error: Permission denied",
        Some("the sandbox may have refused this"),
    );
}

#[test]
fn a_long_line_is_cut_between_characters() {
    let long = format!("{}: Read-only file system", "ä".repeat(400));
    let found = denial(1, &long, &policy(Mode::WorkspaceWrite)).map(|denial| denial.line);
    assert_eq!(found, Some(format!("{}…", "ä".repeat(200))));
}
