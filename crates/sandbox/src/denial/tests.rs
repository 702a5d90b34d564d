//! Texts of refusals as common programs print them.

use std::path::PathBuf;

use super::denial;
use crate::{Mode, Policy};

fn policy(mode: Mode) -> Policy {
    Policy {
        mode,
        writable: vec![PathBuf::from("/w")],
        read_only_within: vec![PathBuf::from("/w/.git"), PathBuf::from("/w/.cox")],
        hidden: vec![
            PathBuf::from("/home/a/.ssh"),
            PathBuf::from("/w/deep/key.pem"),
        ],
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
fn a_path_may_stand_around_the_refusal() {
    let expect = format!("{ROOTS} (/etc/made)");
    for output in [
        "Caused by:\n  failed to create directory `/etc/made`\n\nCaused by:\n  Read-only file system (os error 30)",
        "zip I/O error: Read-only file system\nzip error: Could not create output file (/etc/made)",
        "mv: inter-device move failed: 'file' to '/etc/made'; unable to remove target: Read-only file system",
        "sh: 1: cannot create /etc/made: Read-only file system",
        "/usr/bin/ld: cannot open output file /etc/made: Read-only file system\ncollect2: error: ld returned 1 exit status",
        "Error: unable to open database \"/etc/made\": unable to open database file",
        "W: Problem unlinking the file /etc/made - PrepareFiles (13: Permission denied)",
        "error: couldn't create a temp dir: Read-only file system (os error 30) at path \"/etc/made\"",
        "node:fs:600\n  handleErrorFromBinding(ctx);\nError: EROFS: read-only file system, open '/etc/made'\n  code: 'EROFS',",
        "pyenv: cannot rehash: /etc/made isn't writable",
    ] {
        check(output, Some(&expect));
    }
    check("Read-only file system at -e line 1.", Some(ROOTS));
    check("unable to open database file", None);
    check(
        "error: could not lock config file .git/config: Read-only file system",
        Some("the sandbox keeps `/w/.git` read-only (.git/config)"),
    );
    check(
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        Some("the sandbox hides the sockets of container engines"),
    );
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
fn a_hidden_file_is_known_by_its_relative_name() {
    for path in ["deep/key.pem", "./deep/key.pem", "/w/deep/key.pem"] {
        check(
            &format!("PermissionError: [Errno 13] Permission denied: '{path}'"),
            Some(&format!("the sandbox hides `/w/deep/key.pem` ({path})")),
        );
    }
    check("cat: deep/other: Permission denied", None);
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
            "host.example",
        ),
        (
            "ssh: Could not resolve hostname github.com: Temporary failure in name resolution\nfatal: Could not read from remote repository.",
            "github.com",
        ),
        (
            "Resolving example.com (example.com)... failed: Temporary failure in name resolution.\nwget: unable to resolve host address ‘example.com’",
            "example.com",
        ),
        (
            "wget: unable to resolve host address ‘example.com’",
            "example.com",
        ),
        (
            "bash: line 1: example.com: Temporary failure in name resolution",
            "example.com",
        ),
        (
            "  [6] Could not resolve hostname (Could not resolve host: index.crates.io)",
            "index.crates.io",
        ),
        (
            "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\nnpm error request to https://registry.npmjs.org/left-pad failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
            "registry.npmjs.org",
        ),
        (
            "WARNING: Retrying: HTTPSConnectionPool(host='pypi.org', port=443): Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
            "pypi.org",
        ),
        (
            "go: dial tcp: lookup proxy.golang.org: Temporary failure in name resolution",
            "proxy.golang.org",
        ),
        (
            "Caused by: java.net.UnknownHostException: repo.maven.apache.org",
            "repo.maven.apache.org",
        ),
        (
            "Failed to open TCP connection to rubygems.org:443 (getaddrinfo: Name or service not known)",
            "rubygems.org",
        ),
        (
            "curl: (7) Failed to connect to 192.0.2.7 port 80 after 0 ms: Couldn't connect to server",
            "192.0.2.7",
        ),
    ] {
        let found = denial(1, output, &policy(Mode::WorkspaceWrite)).map(|it| it.to_string());
        assert_eq!(found, Some(expect(host)), "{output}");
    }
    check(
        "curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server",
        None,
    );
    check(
        "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
        Some("the sandbox has no network"),
    );
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
fn a_process_too_many_is_told_with_the_limit() {
    let expect = "the sandbox lets at most 8192 processes and threads run at a time";
    for output in [
        "bash: fork: retry: Resource temporarily unavailable",
        "  File \"<string>\", line 2, in <module>\n    os.fork()\nBlockingIOError: [Errno 11] Resource temporarily unavailable",
        "RuntimeError: can't start new thread",
        "Error: spawn /bin/sh EAGAIN",
        "thread 'main' panicked: failed to spawn thread: Os { code: 11, kind: WouldBlock, message: \"Resource temporarily unavailable\" }",
    ] {
        check(output, Some(expect));
    }
    check("read: Resource temporarily unavailable", None);
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
