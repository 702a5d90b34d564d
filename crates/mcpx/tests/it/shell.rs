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
