//! Calls: arguments in every form, results in every form.

use serde_json::json;

use crate::harness::Mcpx;

#[test]
fn a_tool_of_the_demo_is_called_with_no_configuration() {
    let mcpx = Mcpx::new();
    let ran = mcpx.ok(&["--demo", "call", "demo.echo", r#"{"message":"hi"}"#]);
    assert_eq!(ran.stdout, "hi\n");
    assert_eq!(ran.stderr, "");
    let ran = mcpx.ok(&["call", "demo.echo", "message=hi", "--demo"]);
    assert_eq!(ran.stdout, "hi\n");
}

#[test]
fn arguments_are_read_by_the_schema_from_files_and_from_stdin() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let echo = |words: &[&str]| mcpx.ok(&[&["call", "demo.echo"], words].concat()).stdout;
    assert_eq!(echo(&["message=5"]), "5\n");
    assert_eq!(echo(&["message=true"]), "true\n");
    assert_eq!(echo(&[r#"message:="quoted""#]), "quoted\n");
    let file = mcpx.work.write("note.txt", "from a file");
    let whole = mcpx.work.write("args.json", r#"{"message": "whole"}"#);
    assert_eq!(echo(&["message=@note.txt"]), "from a file\n");
    assert_eq!(echo(&["@args.json"]), "whole\n");
    assert!(file.exists() && whole.exists());
    let ran = mcpx.run_with(&["call", "demo.echo", "-"], Some(r#"{"message":"piped"}"#));
    assert_eq!(ran.stdout, "piped\n", "{ran}");
    let ran = mcpx.run_with(&["call", "demo.echo", "message=@-"], Some("piped text"));
    assert_eq!(ran.stdout, "piped text\n", "{ran}");
    let ran = mcpx.ok(&[
        "call",
        "demo.create_issue",
        "title=1",
        "labels=bug",
        "labels=2",
    ]);
    assert!(ran.stdout.contains(r#""labels":["bug","2"]"#), "{ran}");
}

#[test]
fn a_tool_is_found_by_any_spelling_and_a_call_may_be_written_as_in_a_script() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    // Before anybody read the server's tools: a bare name, by pairs and by an object.
    for args in [["echo", "message=hi"], ["echo", r#"{"message":"hi"}"#]] {
        let fresh = Mcpx::with(
            &json!({"daemon": {"warm": false}, "mcpServers": {"demo": crate::harness::demo()}}),
        );
        let ran = fresh.ok(&[&["call"][..], &args].concat());
        assert_eq!(ran.stdout, "hi\n");
        ran.says(&["note: called `demo.echo`"]);
    }
    for (tool, words) in [
        ("demo.echo", &["message=hi"][..]),
        ("demo/echo", &["message=hi"]),
        ("demo", &["echo", "message=hi"]),
        ("demo", &["echo", r#"{"message":"hi"}"#]),
        ("demo__echo", &["message=hi"]),
        ("DEMO.Echo", &["message=hi"]),
        ("demo.echo", &["message:hi"]),
        (r#"demo.echo({ message: "hi" })"#, &[]),
        ("await demo.echo({message: 'hi',});", &[]),
        ("demo.echo(message: \"hi\")", &[]),
        ("demo", &["echo({ message: 'hi' })"]),
    ] {
        let ran = mcpx.ok(&[&["call", tool], words].concat());
        assert_eq!(ran.stdout, "hi\n", "{tool} {words:?}");
    }
    for tool in ["demo.createIssue", "demo.create-issue", "demo.CREATE_ISSUE"] {
        mcpx.ok(&["call", tool, "title=x"]);
    }
    let ran = mcpx.run(&["call", "demo.echo({ message: hi })"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["expected a value", "line 1, column 22", "^ here"]);
    let ran = mcpx.run(&["call", "ecko"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["did you mean `demo.echo`?"]);
    // What two servers have is nobody's by its name alone.
    let mcpx = Mcpx::with_demos(&["one", "two"]);
    mcpx.ok(&["refresh"]);
    let ran = mcpx.run(&["call", "echo", "message=hi"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["may mean several", "`one.echo`, `two.echo`"]);
}

#[test]
fn json_and_raw_are_whole_documents() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let (code, document) = mcpx.json(&["call", "demo.echo", "message=hi"]);
    assert_eq!(code, 0);
    assert_eq!(document["tool"], "echo");
    assert_eq!(document["server"], "demo");
    assert_eq!(document["result"]["content"][0]["text"], "hi");
    let ran = mcpx.ok(&["call", "demo.echo", "message=hi", "--raw"]);
    assert_eq!(ran.json()["content"][0]["text"], "hi");
}

#[test]
fn a_tool_that_failed_is_exit_1_with_its_own_words_first() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let ran = mcpx.run(&["call", "demo.flaky", "fail=isError"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(!ran.stdout.trim().is_empty(), "{ran}");
    let (code, document) = mcpx.json(&["call", "demo.flaky", "fail=isError"]);
    assert_eq!(code, 1);
    assert_eq!(document["result"]["isError"], true);
    let ran = mcpx.run(&["call", "demo.create_issue"]);
    assert_eq!(ran.code, 1, "{ran}");
    let (own, ours) = ran.stderr.split_once("was rejected").unwrap();
    assert!(own.contains("title"), "{ran}");
    assert!(ours.contains("create_issue"), "{ran}");
    let (code, document) = mcpx.json(&["call", "demo.create_issue"]);
    assert_eq!(code, 1);
    assert_eq!(document["diagnostics"][0]["field"], "title");
}

#[test]
fn a_big_result_is_put_aside_read_in_pieces_and_had_whole() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let ran = mcpx.ok(&["call", "demo.big", "bytes=300000"]);
    ran.says(&["was put aside", "mcpx read res-"]);
    assert!(ran.stdout.len() < 10_000);
    let handle = ran
        .stderr
        .split("mcpx read ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap()
        .to_owned();
    let piece = mcpx.ok(&["read", &handle, "--length", "100"]);
    assert_eq!(piece.stdout.trim_end().len(), 100, "{piece}");
    piece.says(&["100 of", "--offset 100"]);
    // Whole, through a pipe, to its last byte.
    let ran = mcpx.ok(&["call", "demo.big", "bytes=3000000", "--raw"]);
    assert!(ran.stdout.len() > 3_000_000);
    assert!(ran.json()["content"].is_array());
    let ran = mcpx.ok(&["call", "demo.big", "bytes=300000", "-o", "big.txt"]);
    assert_eq!(ran.stdout, "");
    ran.says(&["big.txt: "]);
    assert!(mcpx.work.read("big.txt").len() >= 300_000);
    // A setting of the call travels with it.
    let ran = mcpx.ok(&[
        "call",
        "demo.big",
        "bytes=300000",
        "--results-inline-max-bytes",
        "1MB",
    ]);
    assert!(ran.stdout.len() >= 300_000, "{}", ran.stderr);
}

#[test]
fn a_batch_goes_on_or_stops_as_it_was_told() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let calls = json!([
        {"tool": "demo.echo", "args": {"message": "one"}},
        {"tool": "demo.flaky", "args": {"fail": "isError"}},
        {"server": "demo", "tool": "echo", "args": {"message": "three"}},
    ])
    .to_string();
    let (code, document) = mcpx.json(&["batch", &calls]);
    assert_eq!((code, &document["failed"]), (1, &json!(1)));
    assert_eq!(document["results"][2]["status"], "skipped");
    let ran = mcpx.run(&["batch", "-c", &calls, "--no-stop-on-error"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("three"), "{ran}");
    mcpx.work.write(
        "calls.json",
        r#"[{"tool":"demo.echo","args":{"message":"file"}}]"#,
    );
    for args in [
        ["batch", "calls.json"],
        ["batch", "@calls.json"],
        ["batch", "--file=calls.json"],
    ] {
        assert!(mcpx.ok(&args).stdout.contains("file"));
    }
    let ran = mcpx.run_with(
        &["batch", "-", "--parallel"],
        Some(r#"{"tool":"demo.echo","args":{"message":"piped"}}"#),
    );
    assert!(ran.stdout.contains("piped"), "{ran}");
}

#[test]
fn a_call_has_a_time_limit_and_can_be_a_task() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let ran = mcpx.run(&["call", "demo.slow", "ms=60000", "--timeout", "200ms"]);
    assert_eq!(ran.code, 124, "{ran}");
    let task = mcpx.ok(&["call", "demo.slow", "ms=50", "--task"]).stdout;
    let task = task.trim();
    assert!(task.starts_with("task-"), "{task}");
    let result = mcpx.ok(&["task", "result", task]);
    assert!(!result.stdout.is_empty(), "{result}");
    assert!(mcpx.ok(&["task"]).stdout.contains(task));
    // What is not over in time waits: exit 75, and the document says for what.
    let task = mcpx.ok(&["call", "demo.slow", "ms=60000", "--task"]).stdout;
    let (code, document) = mcpx.json(&["task", "result", task.trim(), "--wait-ms", "50"]);
    assert_eq!(code, 75, "{document}");
    mcpx.ok(&["task", "cancel", task.trim()]);
}

#[test]
fn ctrl_c_ends_a_call_that_waits() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["call", "demo.echo", "message=warm"]);
    let child = mcpx
        .command(&["--json", "call", "demo.slow", "ms=60000"])
        .spawn()
        .unwrap();
    testkit::wait_until(
        "the call at the server",
        std::time::Duration::from_secs(20),
        || mcpx.ok(&["--json", "status"]).json()["servers"][0]["instances"][0]["holders"] == 1,
    );
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    let ran = mcpx.ran(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{ran}");
    assert_eq!(ran.json()["error"], "interrupted");
    testkit::wait_until(
        "the instance to be free",
        std::time::Duration::from_secs(20),
        || mcpx.ok(&["--json", "status"]).json()["servers"][0]["instances"][0]["holders"] == 0,
    );
}

#[test]
fn resources_prompts_and_completions_are_reached() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    assert!(mcpx.ok(&["resources"]).stdout.contains("demo://readme"));
    assert!(
        mcpx.ok(&["resources", "read", "demo/demo://readme"])
            .stdout
            .contains("issue")
    );
    assert!(mcpx.ok(&["prompts"]).stdout.contains("demo.triage"));
    let ran = mcpx.ok(&["prompts", "get", "demo.triage", "repo=acme/web"]);
    assert!(ran.stdout.contains("acme/web"), "{ran}");
    let ran = mcpx.ok(&["complete", "demo.triage", "repo=a"]);
    assert!(
        ran.stdout.lines().all(|line| line.starts_with('a')) && !ran.stdout.is_empty(),
        "{ran}"
    );
    let ran = mcpx.ok(&["tool", "mcpx_search", "q=issue"]);
    assert!(ran.stdout.contains("create_issue"), "{ran}");
}

#[test]
fn a_refusal_is_explained_by_the_tools_as_they_are_at_that_moment() {
    let mcpx = Mcpx::new();
    let call = |args: &[&str]| mcpx.run(&[&["--demo", "call"], args].concat());
    assert_eq!(call(&["demo.echo"]).code, 0);
    assert_eq!(call(&["demo.change_schema"]).code, 0);
    // At once: the announcement of the change may still be on its way.
    let ran = call(&["demo.echo"]);
    assert_eq!(ran.code, 1, "{ran}");
    ran.says(&[
        "message is required",
        "schema changed",
        "`message` became required",
        "await demo.echo({ message: \"\" })",
    ]);
    let (_, document) = mcpx.json(&["--demo", "call", "demo.echo"]);
    let finding = &document["diagnostics"][0];
    assert_eq!(finding["field"], "message", "{document}");
    assert_eq!(
        finding["changed"]["kind"], "argument-required",
        "{document}"
    );
    let history = mcpx.run(&["--demo", "history"]);
    assert!(history.stdout.contains("argument-required"), "{history}");
}
