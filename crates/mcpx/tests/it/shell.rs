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
