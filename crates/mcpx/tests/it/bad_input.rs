//! What is wrong is told with what was received, what there is, and what to do; with `--json` as one document.

use proptest::prelude::*;
use serde_json::json;

use crate::harness::{Mcpx, demo};

#[test]
fn a_wrong_name_is_answered_with_the_nearest() {
    let mcpx = Mcpx::with_demos(&["demo", "tracker"]);
    let ran = mcpx.run(&["call", "trackr.echo"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["no server is called `trackr`", "did you mean `tracker`?"]);
    let ran = mcpx.run(&["call", "demo.create_isue", "title=x"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&[
        "has no tool `create_isue`",
        "did you mean `demo.create_issue`",
    ]);
    let ran = mcpx.run(&["types", "demo.ecko"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["`demo.echo`"]);
    let ran = mcpx.run(&["serch", "x"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["did you mean `search`?"]);
    let ran = mcpx.run(&["ls", "--pool-maks", "3"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["did you mean `--pool-max`"]);
    let ran = mcpx.run(&["call", "demo.echo", "--message", "hi"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["has no flag `--message`", "`message=…`"]);
    let ran = mcpx.run(&["tool", "mcpx_serch"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["did you mean `mcpx_search`"]);
    let ran = mcpx.run(&["prompts", "get", "demo.triag"]);
    assert_eq!(ran.code, 1, "{ran}");
    ran.says(&["hint: `mcpx prompts demo` shows what there is"]);
    let ran = mcpx.run(&["resources", "read", "demo://readme"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["`demo://readme` names no server", "`mcpx resources`"]);
    let ran = mcpx.run(&["ls", "demo"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["`mcpx types demo`"]);
    let ran = mcpx.run(&["types"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["`mcpx ls` shows the namespaces"]);
    let ran = mcpx.run(&["settings", "get", "pool.maxx"]);
    assert_ne!(ran.code, 0, "{ran}");
    ran.says(&["pool.max"]);
}

#[test]
fn wrong_json_is_told_with_its_place() {
    let mcpx = Mcpx::new();
    let ran = mcpx.run(&["--demo", "call", "demo.echo", r#"{"message":"hi" "x":1}"#]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran}");
    ran.says(&[
        "expected `,` or `}` at line 1, column 17\n",
        "\n  {\"message\":\"hi\" \"x\":1}\n                  ^ here\n",
        "hint: ",
    ]);
    let (code, document) = mcpx.json(&["--demo", "call", "demo.echo", "{'a':1}"]);
    assert_eq!(code, 2);
    assert_eq!(
        (&document["line"], &document["column"]),
        (&json!(1), &json!(2))
    );
    // No daemon was needed to say so.
    assert_eq!(mcpx.daemons(), Vec::<u64>::new());
}

#[test]
fn a_server_that_cannot_start_is_told_with_its_command_and_its_last_words() {
    let mcpx = Mcpx::with(&json!({"mcpServers": {
        "missing": {"command": "no-such-program-here", "args": ["--x"]},
        "dying": {"command": "sh", "args": ["-c", "echo the database is locked >&2; exit 3"]},
        "fine": demo(),
    }}));
    let ran = mcpx.run(&["call", "missing.x"]);
    assert_eq!(ran.code, 1, "{ran}");
    ran.says(&["no-such-program-here"]);
    let ran = mcpx.run(&["call", "dying.x"]);
    assert_eq!(ran.code, 1, "{ran}");
    ran.says(&["sh -c", "the database is locked"]);
    assert_eq!(
        mcpx.ok(&["call", "fine.echo", "message=still"]).stdout,
        "still\n"
    );
    let ran = mcpx.ok(&["ls"]);
    assert!(
        ran.stdout
            .lines()
            .any(|line| line.starts_with("dying") && line.contains("error")),
        "{ran}"
    );
    ran.says(&["dying: "]);
    let ran = mcpx.run(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(
        ran.stdout.contains("`no-such-program-here` is not on PATH"),
        "{ran}"
    );
}

#[test]
fn two_servers_on_one_namespace_are_told_with_both_files() {
    let mcpx = Mcpx::with(&json!({"mcpServers": {"my-server": demo()}}));
    mcpx.home.write(
        ".mcpx.json",
        json!({"mcpServers": {"my.server": demo()}}).to_string(),
    );
    let ran = mcpx.run(&["ls"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&[
        "my-server",
        "my.server",
        "[home]/.mcpx.json",
        "[home]/.config/mcpx/config.json",
    ]);
}

#[test]
fn a_broken_file_is_told_with_its_line_and_a_running_daemon_goes_on() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let path = ".config/mcpx/config.json";
    let good = mcpx.home.read(path);
    mcpx.home
        .write(path, "{\n  \"mcpServers\": {\n    oops\n  }\n}");
    let ran = mcpx.run(&["call", "demo.echo", "message=x"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["config.json:3"]);
    mcpx.home.write(path, &good);
    assert_eq!(mcpx.ok(&["call", "demo.echo", "message=a"]).stdout, "a\n");
    mcpx.home
        .write(path, "{\n  \"mcpServers\": {\n    oops\n  }\n}");
    let ran = mcpx.ok(&["call", "demo.echo", "message=b"]);
    assert_eq!(ran.stdout, "b\n");
    ran.says(&["config.json:3", "goes on with what it read before"]);
    assert_eq!(mcpx.run(&["reload"]).code, 2);
    mcpx.home.write(path, &good);
    mcpx.ok(&["reload"]);
}

#[test]
fn json_is_one_document_in_every_failure() {
    let mcpx = Mcpx::with(&json!({"mcpServers": {
        "demo": demo(),
        "dying": {"command": "sh", "args": ["-c", "exit 3"]},
    }}));
    for (expect, args) in [
        (2, &["nope"][..]),
        (2, &["ls", "--nope"]),
        (2, &["call"]),
        (2, &["call", "demo.echo", "{"]),
        (2, &["call", "demo.nope"]),
        (2, &["call", "nope.echo"]),
        (1, &["call", "dying.x"]),
        (1, &["call", "demo.create_issue"]),
        (124, &["call", "demo.slow", "ms=60000", "--timeout=100ms"]),
        (2, &["types", "nope"]),
        (2, &["task", "get", "tsk-00000000000000000000000000000000"]),
        (2, &["settings", "get", "no.such"]),
        (2, &["batch"]),
        (2, &["batch", "[1"]),
        (2, &["log", "sql", "delete from records"]),
        (2, &["ls", "--pool-max=many"]),
        (2, &["--config", "/no/such/file.json", "ls"]),
        (1, &["--daemon-endpoint=unix:///no/such/socket", "ls"]),
        (2, &["--daemon-endpoint=ftp://x", "ls"]),
        (2, &["session"]),
        (2, &["read", "res-nope"]),
    ] {
        let (code, document) = mcpx.json(args);
        assert_eq!(code, expect, "{args:?}: {document}");
        assert!(
            document["error"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{args:?}: {document}"
        );
        // The same word behind the command.
        let behind = mcpx.run(&[args, &["--json"]].concat());
        assert_eq!(behind.code, expect, "{args:?}\n{behind}");
        behind.json();
    }
    // And the variable.
    let mcpx = Mcpx::new().variable("MCPX_OUTPUT_JSON", "true");
    assert!(mcpx.run(&["nope"]).json()["error"].is_string());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_line_with_json_prints_one_document(words in proptest::collection::vec(word(), 0..6)) {
        let mcpx = Mcpx::new();
        let mut args = vec!["--json", "--no-daemon-autostart", "--demo"];
        args.extend(words.iter().map(String::as_str));
        let ran = mcpx.run(&args);
        prop_assert!([0, 1, 2].contains(&ran.code), "{:?}\n{}", words, ran);
        let is_document = serde_json::from_str::<serde_json::Value>(&ran.stdout).is_ok();
        prop_assert!(is_document, "{:?}\n{}", words, ran);
        prop_assert!(!ran.stderr.contains("panicked"), "{}", ran);
    }
}

/// Words of commands and flags, and any others; not of those that go on for ever, and `--json=false`.
fn word() -> impl Strategy<Value = String> {
    let known: Vec<String> = [
        "ls",
        "call",
        "demo.echo",
        "types",
        "servers",
        "add",
        "import",
        "--from",
        "cursor",
        "config",
        "--path",
        "settings",
        "get",
        "set",
        "pool.max",
        "log",
        "sql",
        "select 1",
        "--schema",
        "task",
        "read",
        "status",
        "search",
        "-n",
        "3",
        "--",
        "-",
        "=",
        "a=b",
        "{",
        "{}",
        "[1]",
        "@",
        "--pool-max",
        "--config",
        "--help",
        "--version",
        "doctor",
        "man",
        "completion",
        "bash",
        "batch",
        "-c",
        "stop",
        "daemons",
        "history",
        "x y",
    ]
    .map(str::to_owned)
    .to_vec();
    prop_oneof![4 => proptest::sample::select(known), 1 => "[^\0]{0,6}", 1 => "--[a-z-]{0,10}"]
}

#[test]
fn help_and_version_are_documents_too() {
    let mcpx = Mcpx::new();
    assert!(
        mcpx.json(&["--help"]).1["help"]
            .as_str()
            .unwrap()
            .contains("mcpx")
    );
    assert!(
        mcpx.json(&["call", "--help"]).1["help"]
            .as_str()
            .unwrap()
            .contains("key=value")
    );
    assert!(mcpx.json(&["--version"]).1["version"].is_string());
}
