//! Programs on a pseudo-terminal.

use std::{future::pending, time::Duration};

use child_process::{Exit, Output, Program};

use crate::world::{limits, lives, pids, run, run_for, shell};

fn on_terminal(line: &str) -> Program {
    shell(line).output(Output::Terminal)
}

async fn check(line: &str, expect: &str) {
    let (ended, out, _) = run(on_terminal(line)).await;
    assert_eq!(
        (ended.exit, out.as_str()),
        (Exit::Code(0), expect),
        "{line}"
    );
    assert!(ended.elapsed < Duration::from_secs(4), "{line}: {ended:?}");
}

#[tokio::test]
async fn a_program_finds_a_terminal_of_its_own() {
    check("test -t 0 && test -t 1 && test -t 2 && echo yes", "yes\n").await;
    check("stty size", "40 120\n").await;
    check("echo a; echo b >&2; printf c > /dev/tty", "a\nb\nc").await;
    check(
        "[ \"$(ps -o tty= -p $$)\" = \"$(tty | cut -c6-)\" ] && echo same",
        "same\n",
    )
    .await;
    check(
        "[ \"$(ps -o sid= -p $$ | tr -d ' ')\" = $$ ] && echo leader",
        "leader\n",
    )
    .await;
}

#[tokio::test]
async fn the_terminal_is_not_the_caller_s() {
    let (_, out, _) = run(on_terminal("tty")).await;
    let own = std::fs::read_link("/proc/self/fd/0").unwrap();
    assert!(out.starts_with("/dev/pts/"), "{out}");
    assert_ne!(out.trim_end(), own.to_string_lossy());
}

#[tokio::test]
async fn nothing_waits_for_input() {
    check("cat; cat; cat < /dev/tty; echo done", "done\n").await;
    check("read -r line || echo end", "end\n").await;
    check(
        "python3 -c 'input()' 2>&1 | tail -1",
        "EOFError: EOF when reading a line\n",
    )
    .await;
    // Discards what was typed before it asks.
    check(
        "python3 -c 'import getpass; getpass.getpass(\"?\")' 2>&1 | tail -1",
        "?EOFError\n",
    )
    .await;
    // Waits for readiness before it reads.
    check(
        "node -e 'process.stdin.on(\"end\", () => console.log(\"end\")).resume()'",
        "end\n",
    )
    .await;
}

#[tokio::test]
async fn a_tree_on_a_terminal_ends_as_a_whole() {
    let line =
        "setsid sleep 1000 & echo $!; sleep 1000 & echo $!; trap '' HUP TERM; sleep 1000 & echo $!";
    let (ended, out, _) = run(on_terminal(line)).await;
    assert_eq!((ended.exit, ended.survivors.len()), (Exit::Code(0), 0));
    for pid in pids(&out) {
        assert!(!lives(pid), "{pid} is left");
    }
    let (ended, out, _) = run_for(
        on_terminal("echo $$; sleep 1000 & echo $!; wait"),
        Duration::from_millis(300),
    )
    .await;
    assert_eq!(ended.exit, Exit::TimedOut);
    for pid in pids(&out) {
        assert!(!lives(pid), "{pid} is left");
    }
}

#[tokio::test]
async fn much_output_arrives_whole() {
    let mut bytes = 0_u64;
    let ended = on_terminal("head -c 50000000 /dev/zero")
        .run(
            limits(Duration::from_secs(60)),
            pending(),
            &mut |_, chunk| {
                bytes += chunk.len() as u64;
            },
        )
        .await
        .unwrap();
    assert_eq!((ended.exit, bytes), (Exit::Code(0), 50_000_000));
}
