//! What there is: lists, trust, profiles, signatures.

use std::process::Command;

use serde_json::{Value, json};
use testkit::peers;

use crate::harness::{Mcpx, demo};

#[test]
fn ls_starts_no_server() {
    let mcpx = Mcpx::new();
    let marker = mcpx.work.path().join("started");
    let script = format!(
        "echo x >> '{}'; exec '{}' demo-server",
        marker.display(),
        crate::harness::PROGRAM
    );
    mcpx.home.write(
        ".config/mcpx/config.json",
        json!({"daemon": {"warm": false}, "mcpServers": {"demo": {"command": "sh", "args": ["-c", script]}}}).to_string(),
    );
    let ran = mcpx.ok(&["ls"]);
    assert!(
        ran.stdout
            .starts_with("NAMESPACE  TOOLS  SHARING  SCOPE   LIVE  STATE"),
        "{ran}"
    );
    assert!(ran.stdout.contains("unread"), "{ran}");
    ran.says(&["mcpx refresh"]);
    assert!(!marker.exists());
    mcpx.ok(&["refresh"]);
    assert!(marker.exists());
    mcpx.ok(&["stop"]);
    std::fs::remove_file(&marker).unwrap();
    // From what was kept.
    let (_, rows) = mcpx.json(&["ls"]);
    assert_eq!(
        (&rows[0]["tools"], &rows[0]["live"], &rows[0]["cached"]),
        (&json!(10), &json!(0), &json!(true))
    );
    assert!(
        mcpx.ok(&["search", "issue"])
            .stdout
            .contains("demo.create_issue")
    );
    assert!(!marker.exists());
}

#[test]
fn the_list_of_another_host_is_accepted_first_and_then_used() {
    let mcpx = Mcpx::new();
    let folder = mcpx.work.path().canonicalize().unwrap();
    mcpx.work.write("hello.txt", "hello from a file\n");
    let server = peers::mcp::filesystem(&folder);
    let entry = json!({"type": "stdio", "command": server.program, "args": server.args});
    mcpx.work.write(
        ".mcp.json",
        json!({"mcpServers": {"files": entry}}).to_string(),
    );

    let ran = mcpx.ok(&["ls"]);
    assert!(ran.stdout.contains("untrusted"), "{ran}");
    ran.says(&["mcpx servers trust"]);
    let ran = mcpx.run(&["call", "files.read_text_file", "path=hello.txt"]);
    assert_eq!(ran.code, 1, "{ran}");
    ran.says(&["nobody accepted", "mcpx servers trust"]);

    let ran = mcpx.ok(&["servers", "trust"]);
    assert!(
        ran.stdout.contains("[work]/.mcp.json:1") && ran.stdout.contains("server-filesystem"),
        "{ran}"
    );
    assert!(mcpx.ok(&["ls"]).stdout.contains("untrusted"));
    mcpx.ok(&["servers", "trust", "--yes"])
        .says(&["accepted: files"]);

    let path = folder.join("hello.txt").display().to_string();
    let ran = mcpx.ok(&["call", "files.read_text_file", &format!("path={path}")]);
    assert!(ran.stdout.contains("hello from a file"), "{ran}");
    assert!(
        mcpx.ok(&["search", "read", "file"])
            .stdout
            .contains("files.read_text_file")
    );
    assert!(
        mcpx.ok(&["types", "files.read_text_file"])
            .stdout
            .contains("path: string")
    );
    let ran = mcpx.ok(&["ls"]);
    assert!(ran.stdout.contains("ready"), "{ran}");

    mcpx.ok(&["servers", "trust", "--forget"])
        .says(&["no longer accepted: files"]);
    assert_eq!(
        mcpx.run(&["call", "files.read_text_file", "path=x"]).code,
        1
    );
}

#[test]
fn a_terminal_is_asked_once_and_what_is_accepted_is_used() {
    let mcpx = Mcpx::new();
    mcpx.work.write(
        ".mcp.json",
        json!({"mcpServers": {"demo": demo()}}).to_string(),
    );
    // `script` gives the command a terminal.
    let has_script = Command::new("script")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_script {
        return;
    }
    let mut command = Command::new("script");
    let line = format!("{} ls", crate::harness::PROGRAM);
    let inner = mcpx.command(&[]);
    command
        .args(["-qec", &line, "/dev/null"])
        .current_dir(mcpx.work.path())
        .env_clear();
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"y\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("accept them? [y/N]") && text.contains("the server `demo`"),
        "{text}"
    );
    assert_eq!(mcpx.ok(&["call", "demo.echo", "message=hi"]).stdout, "hi\n");
}

#[test]
fn profiles_narrow_and_widen_what_is_listed() {
    let mcpx = Mcpx::with(&json!({"mcpServers": {
        "always": demo(),
        "web": {"command": crate::harness::PROGRAM, "args": ["demo-server"], "mcpx": {"profiles": ["web"], "default": false}},
    }}));
    let names = |args: &[&str]| -> Vec<String> {
        let (_, rows) = mcpx.json(args);
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| row["namespace"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&["ls"]), ["always"]);
    assert_eq!(names(&["--profile", "web", "ls"]), ["always", "web"]);
    assert_eq!(names(&["ls", "--profile=web", "--skip-default"]), ["web"]);
    assert_eq!(names(&["--all-profiles", "ls"]), ["always", "web"]);
}

#[test]
fn signatures_and_modules_are_printed_or_written() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    assert!(
        mcpx.ok(&["types", "demo.create_issue"])
            .stdout
            .contains("title: string")
    );
    let (_, document) = mcpx.json(&["types", "demo"]);
    assert!(document["text"].as_str().unwrap().contains("echo"));
    mcpx.ok(&["client", "-o", "client.ts"])
        .says(&["client.ts: "]);
    assert!(mcpx.work.read("client.ts").contains("create_issue"));
    let schema: Value = mcpx.ok(&["schema", "demo.echo"]).json();
    assert!(schema.to_string().contains("message"));
    assert!(
        mcpx.ok(&["catalog", "--budget", "400"])
            .stdout
            .contains("demo")
    );
    assert!(mcpx.ok(&["globals"]).stdout.contains("demo"));
    let openapi: Value = mcpx.ok(&["openapi"]).json();
    assert!(openapi["openapi"].as_str().unwrap().starts_with("3.1"));
}

#[test]
fn what_a_list_of_everything_leaves_out_is_told_and_an_empty_list_prints_nothing() {
    let mcpx = Mcpx::with(&json!({"mcpServers": {
        "fine": demo(),
        "missing": {"command": "no-such-program-here"},
    }}));
    for command in [
        "client",
        "schema",
        "globals",
        "tools",
        "resources",
        "prompts",
    ] {
        let ran = mcpx.ok(&[command]);
        ran.says(&["left out, because they cannot be read: missing;"]);
        assert!(ran.stdout.contains("fine"), "{command}: {ran}");
    }
    let mcpx = Mcpx::with(&json!({"mcpServers": {}}));
    for command in [
        "ls",
        "search x",
        "resources",
        "resources templates",
        "prompts",
        "history",
        "stats",
        "task",
        "restart",
        "servers",
        "batch []",
    ] {
        let args: Vec<&str> = command.split(' ').collect();
        let ran = mcpx.ok(&args);
        assert_eq!(ran.stdout, "", "{command}: {ran}");
        assert!(!ran.stderr.is_empty(), "{command}");
    }
}

#[test]
fn every_command_of_the_table_answers_and_its_json_is_one_document() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["call", "demo.echo", "message=hi"]);
    for line in [
        "ls",
        "ls -v",
        "tools demo.echo",
        "search issue -n 2",
        "types demo",
        "catalog",
        "client",
        "globals",
        "schema",
        "history",
        "resources",
        "resources templates",
        "prompts",
        "task list",
        "status",
        "status demo",
        "health",
        "protocol",
        "resolve",
        "resolve /tmp",
        "servers list",
        "servers",
        "settings list",
        "settings list --changed",
        "settings get pool.max",
        "log",
        "log -n 3 --reverse",
        "stats",
        "stats servers",
        "openapi",
        "daemons",
        "config",
        "config --sources",
        "config --path",
        "config --defaults",
        "config --schema",
        "doctor",
        "log sql --schema",
        "log sql --path",
        "reload",
        "refresh demo",
        "restart demo --lazy",
        "session release s1",
        "log record hello --level warn",
        "completion bash",
        "man",
        "daemon token",
        "daemon --detached",
        "servers trust",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        mcpx.ok(&args);
        let (code, document) = mcpx.json(&args);
        assert_eq!(code, 0, "{line}: {document}");
    }
}
