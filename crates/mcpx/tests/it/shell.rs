//! What shells and `man` read, and how the command behaves in a pipe.

use std::io::Read as _;
use std::process::Command;

use crate::harness::{Mcpx, PROGRAM};

#[test]
fn completion_scripts_and_the_manual_page_are_printed() {
    let mcpx = Mcpx::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = mcpx.ok(&["completion", shell]).stdout;
        assert!(
            script.contains("mcpx") && script.contains("pool-max"),
            "{shell}"
        );
    }
    let script = mcpx
        .work
        .write("c.bash", mcpx.ok(&["completion", "bash"]).stdout);
    let checked = Command::new("bash")
        .arg("-n")
        .arg(&script)
        .output()
        .unwrap();
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
    let page = mcpx.ok(&["man"]).stdout;
    for part in [
        ".TH MCPX",
        "mcpx call",
        "servers import",
        "pool.callTimeout",
        ".SH EXIT STATUS",
    ] {
        assert!(page.contains(&part.replace('-', "\\-")), "{part}");
    }
    assert_eq!(mcpx.daemons(), Vec::<u64>::new());
}

/// What bash offers for a line, with the script as it is printed.
fn offered(mcpx: &Mcpx, line: &str) -> Vec<String> {
    let script = mcpx.ok(&["completion", "bash"]).stdout;
    let path = mcpx.work.write("c.bash", script);
    // What readline does: the words apart at blanks and at `=` and `:`.
    let body = r#"
        source "$1"; line=$2
        COMP_LINE=$line COMP_POINT=${#line} COMP_WORDS=()
        rest=$line
        while [[ $rest =~ ^[[:space:]]*([=:]|[^[:space:]=:]+)(.*)$ ]]; do
            COMP_WORDS+=("${BASH_REMATCH[1]}"); rest=${BASH_REMATCH[2]}
        done
        [[ $line == *[[:space:]] ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        COMP_WORDS[0]=$3
        compopt() { :; }
        _mcpx_words "$3" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let inner = mcpx.command(&[]);
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", body, "bash"])
        .arg(&path)
        .args([line, PROGRAM])
        .current_dir(mcpx.work.path())
        .env_clear();
    for (name, value) in inner.get_envs() {
        bash.env(name, value.unwrap_or_default());
    }
    let output = bash.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.stderr.is_empty(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_namespaces_tools_arguments_and_settings() {
    let mcpx = Mcpx::with_demos(&["demo", "tracker"]);
    // Without a daemon: the namespaces as they are configured; none is started for it.
    assert_eq!(offered(&mcpx, "mcpx call "), ["demo.", "tracker."]);
    assert_eq!(mcpx.daemons(), Vec::<u64>::new());
    mcpx.ok(&["refresh"]);
    for (line, expect) in [
        ("mcpx call d", &["demo.echo", "demo.search"][..]),
        ("mcpx call tracker.cr", &["tracker.create_issue"]),
        ("mcpx --json types demo.cl", &["demo.close_issue"]),
        ("mcpx call --timeout 3s demo.fl", &["demo.flaky"]),
        (
            "mcpx call demo.create_issue ",
            &["title=", "body=", "labels="],
        ),
        ("mcpx call demo.create_issue title=x b", &["body="]),
        ("mcpx call demo.big kind=", &["text", "json"]),
        ("mcpx call demo.big kind=j", &["json"]),
        ("mcpx restart tr", &["tracker"]),
        ("mcpx settings get pool.ma", &["pool.max"]),
        ("mcpx prompts get demo.", &["demo.triage"]),
    ] {
        let found = offered(&mcpx, line);
        let first: Vec<&str> = found
            .iter()
            .map(String::as_str)
            .take(expect.len())
            .collect();
        assert_eq!(first, expect, "{line}: {found:?}");
    }
    // Commands and flags are the script's own.
    assert!(offered(&mcpx, "mcpx sear").contains(&"search".to_owned()));
    assert!(offered(&mcpx, "mcpx call demo.echo --ti").contains(&"--timeout".to_owned()));
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let mcpx = Mcpx::new();
    let mut child = mcpx.command(&["man"]).spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let ran = mcpx.ran(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran}");
}

#[test]
fn lines_are_cut_on_a_terminal_only() {
    let mcpx = Mcpx::with(
        &serde_json::json!({"mcpServers": {"demo": {"command": PROGRAM, "args": ["demo-server"], "mcpx": {"description": "long ".repeat(60)}}}}),
    );
    let piped = mcpx.ok(&["ls"]).stdout;
    assert!(piped.contains(&"long ".repeat(50)), "{piped}");
    assert!(!piped.contains('\u{1b}'));
    let colored = mcpx.ok(&["ls", "--output-color=always"]).stdout;
    assert!(colored.contains('\u{1b}'));
}

#[test]
fn a_line_fits_the_terminal() {
    let mcpx = Mcpx::with(
        &serde_json::json!({"mcpServers": {"demo": {"command": PROGRAM, "args": ["demo-server"], "mcpx": {"description": "long ".repeat(60)}}}}),
    );
    mcpx.ok(&["ls"]);
    // `script` gives the command a terminal.
    let line = format!("stty cols 60 && '{PROGRAM}' ls");
    let mut command = Command::new("script");
    command
        .args(["-qec", &line, "/dev/null"])
        .current_dir(mcpx.work.path())
        .env_clear();
    let inner = mcpx.command(&[]);
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let Ok(output) = command.stdin(std::process::Stdio::null()).output() else {
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout)
        .replace("\u{1b}[1m", "")
        .replace("\u{1b}[0m", "");
    assert!(text.contains('…'), "{text}");
    assert!(
        text.lines()
            .filter(|line| line.starts_with("demo "))
            .all(|line| line.trim_end().chars().count() <= 60),
        "{text}"
    );
}
