//! What a child finds when it starts.

use std::{collections::BTreeMap, ffi::OsString, path::Path};

use child_process::{Env, Exit, Output, Program, Stdin, Wrap, find_program};

use crate::world::{run, shell};

fn callers() -> BTreeMap<OsString, OsString> {
    [
        ("PATH", "/bin"),
        ("HOME", "/h"),
        ("LC_ALL", "C"),
        ("LC_TIME", "C"),
        ("ANTHROPIC_API_KEY", "sk"),
        ("LD_PRELOAD", "x.so"),
        ("PATHS", "no"),
        ("lang", "no"),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value.into()))
    .collect()
}

#[test]
fn only_the_allowlist_and_the_extras_pass() {
    let env = Env::allowlisted(&callers())
        .set("NO_COLOR", "1")
        .set("HOME", "/other");
    let pairs: Vec<_> = env
        .iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    assert_eq!(
        pairs,
        [
            "HOME=/other",
            "LC_ALL=C",
            "LC_TIME=C",
            "NO_COLOR=1",
            "PATH=/bin"
        ]
    );
}

#[tokio::test]
async fn a_child_finds_its_environment_and_the_mark_alone() {
    let program = Program::new("/usr/bin/env").env(Env::allowlisted(&callers()));
    let (_, out, _) = run(program).await;
    let mut names: Vec<_> = out
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["CHILD_PROCESS_TREE", "HOME", "LC_ALL", "LC_TIME", "PATH"]
    );
}

#[tokio::test]
async fn a_child_leads_a_session_of_its_own_without_a_terminal_or_input() {
    let (_, out, _) = run(shell(
        "ps -o sid= -p $$ | tr -d ' '; echo $$; cat; tty; readlink /proc/$$/fd/0",
    ))
    .await;
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], lines[1]);
    assert_eq!(&lines[2..], ["not a tty", "/dev/null"]);
}

#[tokio::test]
async fn a_child_inherits_no_descriptor() {
    let (_, out, _) = run(Program::new("/bin/ls").arg("/proc/self/fd")).await;
    assert_eq!(
        out.split_whitespace().collect::<Vec<_>>(),
        ["0", "1", "2", "3"]
    );
}

#[tokio::test]
async fn bytes_are_fed_and_end() {
    let program = Program::new("/bin/cat").stdin(Stdin::Bytes(vec![b'x'; 300_000]));
    let (ended, out, _) = run(program).await;
    assert_eq!((ended.exit, out.len()), (Exit::Code(0), 300_000));
}

#[tokio::test]
async fn a_child_that_reads_no_input_is_no_failure() {
    let program = Program::new("/bin/true").stdin(Stdin::Bytes(vec![b'x'; 300_000]));
    assert_eq!(run(program).await.0.exit, Exit::Code(0));
}

#[tokio::test]
async fn a_wrap_stands_in_front_and_sets_its_variables() {
    let wrap = Wrap {
        program: "/usr/bin/env".into(),
        args: vec!["A=1".into()],
        env: vec![("TMPDIR".into(), "/private".into())],
        ..Wrap::default()
    };
    let (_, out, _) = run(shell("echo $A $TMPDIR").wrap(Some(wrap))).await;
    assert_eq!(out, "1 /private\n");
}

#[tokio::test]
async fn the_streams_are_merged_in_order_or_kept_apart() {
    let line = "echo a; echo b >&2; echo c; echo d >&2";
    let (_, out, err) = run(shell(line)).await;
    assert_eq!((out.as_str(), err.as_str()), ("a\nb\nc\nd\n", ""));
    let (_, out, err) = run(shell(line).output(Output::Separate)).await;
    assert_eq!((out.as_str(), err.as_str()), ("a\nc\n", "b\nd\n"));
}

#[tokio::test]
async fn what_cannot_be_started_is_named() {
    let check = async |program: Program, expect: &str| {
        let limits = crate::world::limits(std::time::Duration::from_secs(5));
        let error = program
            .run(limits, std::future::pending(), &mut |_, _| {})
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), expect);
    };
    check(
        Program::new("/nonexistent/p"),
        "cannot start `/nonexistent/p`",
    )
    .await;
    check(Program::new("/etc/passwd"), "cannot start `/etc/passwd`").await;
    check(
        Program::new("/bin/ls").cwd("/gone"),
        "cannot start in `/gone`: it is not a folder",
    )
    .await;
}

#[test]
fn programs_are_found_in_the_folders_that_are_named() {
    let check = |name: &str, dirs: &[&str], expect: Option<&str>| {
        assert_eq!(
            find_program(name, dirs).as_deref(),
            expect.map(Path::new),
            "{name}"
        );
    };
    check("sh", &["/nonexistent", "/bin"], Some("/bin/sh"));
    check("passwd", &["/etc"], None);
    check("../bin/sh", &["/etc"], None);
    check("/bin/sh", &["/"], None);
    check("", &["/bin"], None);
    check("sh\0", &["/bin"], None);
    check("init.d", &["/etc"], None);
}
