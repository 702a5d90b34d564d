//! `cox run -p` against a model server of our own.

use serde_json::{Value, json};
use testkit::{Answer, FakeModel};

use crate::harness::Cox;

#[test]
fn without_a_key_one_line_names_the_variable_and_the_local_way() {
    let cox = Cox::new();
    let ran = cox.run(&["run", "-p", "hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(
        ran.stderr.contains("ANTHROPIC_API_KEY") && ran.stderr.contains("--provider local"),
        "{ran}"
    );
    assert!(
        !cox.home.path().join(".cox").exists(),
        "nothing is written before a session is open"
    );

    let document = cox
        .run(&["run", "-p", "hi", "--output-format", "json"])
        .json();
    assert_eq!(
        (
            &document["type"],
            &document["exit_code"],
            &document["is_error"],
            &document["session"]
        ),
        (&json!("result"), &json!(1), &json!(true), &Value::Null)
    );
}

#[test]
fn the_answer_goes_to_stdout_and_the_rest_to_stderr() {
    let model = FakeModel::start([
        Answer::text("I look.").and_call("c1", "read", json!({ "path": "notes.txt" })),
        Answer::text("It says hello."),
    ]);
    let cox = Cox::with_model(&model);
    cox.work.write("notes.txt", "hello\n");
    let ran = cox.run(&["run", "-p", "what do the notes say?"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "It says hello.\n"),
        "{ran}"
    );
    assert!(
        ran.stderr.contains("I look.\n* read notes.txt\n  ok, "),
        "{ran}"
    );
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn a_call_that_nobody_may_answer_for_is_denied_and_ends_with_2() {
    let model = FakeModel::start([
        Answer::call("c1", "bash", json!({ "command": "touch made" })),
        Answer::text("I may not."),
    ]);
    let cox = Cox::with_model(&model);
    let ran = cox.run(&["run", "-p", "make a file", "--output-format", "json"]);
    let document = ran.json();
    assert_eq!(ran.code, 2, "{ran}");
    assert_eq!(document["result"], "I may not.");
    assert_eq!(
        (
            &document["denied"][0]["tool"],
            &document["denied"][0]["subject"]
        ),
        (&json!("bash"), &json!("touch made"))
    );
    assert_eq!(
        (&document["turns"], &document["stop"]),
        (&json!(2), &json!("end_turn"))
    );
    assert_eq!(
        document["usage"],
        json!({ "input": 20, "output": 10, "cache_read": 0, "cache_write": 0 })
    );
    assert!(!cox.work.path().join("made").exists());
}

#[test]
fn a_program_answers_on_stdin() {
    let model = FakeModel::start([
        Answer::call(
            "c1",
            "write",
            json!({ "path": "made.txt", "content": "x\n" }),
        ),
        Answer::text("Done."),
    ]);
    let cox = Cox::with_model(&model);
    let mut child = cox
        .command(&[
            "run",
            "-p",
            "make a file",
            "--approve",
            "on-request",
            "--output-format",
            "stream-json",
        ])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut last = Value::Null;
    for line in std::io::BufRead::lines(stdout) {
        last = serde_json::from_str(&line.unwrap()).unwrap();
        if last["type"] == "approval_required" {
            let answer = json!({ "approve": last["call"] });
            std::io::Write::write_all(&mut stdin, format!("nonsense\n{answer}\n").as_bytes())
                .unwrap();
        }
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (&last["type"], &last["exit_code"]),
        (&json!("result"), &json!(0)),
        "{last}"
    );
    assert_eq!(cox.work.read("made.txt"), "x\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("ignored a line of stdin"));
}

#[test]
fn when_stdin_ends_every_ask_is_a_deny() {
    let model = FakeModel::start([
        Answer::call(
            "c1",
            "write",
            json!({ "path": "made.txt", "content": "x\n" }),
        ),
        Answer::text("I may not."),
    ]);
    let cox = Cox::with_model(&model);
    let ran = cox.run(&[
        "run",
        "-p",
        "make a file",
        "--approve",
        "on-request",
        "--output-format",
        "stream-json",
    ]);
    assert_eq!(ran.code, 2, "{ran}");
    assert_eq!(ran.json_lines().last().unwrap()["type"], "result");
    assert!(!cox.work.path().join("made.txt").exists());
}

#[test]
fn the_prompt_may_come_from_stdin() {
    let model = FakeModel::start([Answer::text("Hello.")]);
    let cox = Cox::with_model(&model).stdin("say hello\n");
    let ran = cox.run(&["run", "-p", "-"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Hello.\n"), "{ran}");
    assert!(model.requests()[0].text.contains("say hello"));
}

#[test]
fn a_server_that_refuses_is_quoted_and_ends_with_1() {
    let model =
        FakeModel::start([Answer::status(401).body(r#"{"error":{"message":"who are you"}}"#)]);
    let ran = Cox::with_model(&model).run(&["run", "-p", "hi"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("who are you"), "{ran}");
}

#[test]
fn a_second_run_continues_the_session() {
    let model = FakeModel::start([Answer::text("One."), Answer::text("Two.")]);
    let cox = Cox::with_model(&model);
    let first = cox
        .run(&["run", "-p", "first", "--output-format", "json"])
        .json();
    let second = cox
        .run(&[
            "run",
            "-p",
            "second",
            "--continue",
            "--output-format",
            "json",
        ])
        .json();
    assert_eq!(first["session"], second["session"]);
    let request = &model.requests()[1].text;
    assert!(
        request.contains("first") && request.contains("One.") && request.contains("second"),
        "{request}"
    );
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_turn_with_its_own_code_and_a_result() {
    #[track_caller]
    fn check(signal: &str, code: i32) {
        let model = FakeModel::start([Answer::hang()]);
        let cox = Cox::with_model(&model);
        let child = cox
            .command(&["run", "-p", "hi", "--output-format", "json"])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let limit = std::time::Duration::from_secs(20);
        testkit::wait_until("the request", limit, || !model.requests().is_empty());
        let kill = std::process::Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&document["stop"], &document["exit_code"]),
            (&json!("interrupted"), &json!(code))
        );
    }
    check("-INT", 4);
    check("-TERM", 143);
}

#[test]
fn a_session_can_be_listed_shown_searched_expanded_and_added_up() {
    let model = FakeModel::start([
        Answer::call("c1", "read", json!({ "path": "notes.txt" })),
        Answer::text("It speaks of walruses."),
    ]);
    let cox = Cox::with_model(&model);
    cox.work.write("notes.txt", "the walrus sleeps\n");
    let ran = cox.run(&[
        "run",
        "-p",
        "what do the notes say?",
        "--output-format",
        "stream-json",
    ]);
    let events = ran.json_lines();
    let session = events.last().unwrap()["session"]
        .as_str()
        .unwrap()
        .to_owned();

    let list = cox.run(&["sessions", "--json"]).json();
    assert_eq!(
        (
            &list["sessions"][0]["session"],
            &list["sessions"][0]["title"]
        ),
        (&json!(session), &json!("what do the notes say?"))
    );
    let shown = cox.run(&["sessions", &session]).stdout;
    for words in [
        "> what do the notes say?",
        "* read notes.txt",
        "It speaks of walruses.",
    ] {
        assert!(shown.contains(words), "{words} is missing:\n{shown}");
    }
    let found = cox.run(&["sessions", "--grep", "walrus"]);
    assert!(
        found.code == 0 && found.stdout.contains(&session),
        "{found}"
    );
    assert_eq!(cox.run(&["sessions", "--grep", "nowhere"]).code, 1);

    let done = events
        .iter()
        .find(|event| event["type"] == "tool_done")
        .unwrap();
    let archived = done["archive"].as_str().unwrap();
    assert!(
        cox.run(&["expand", archived])
            .stdout
            .contains("the walrus sleeps")
    );
    assert!(
        cox.run(&["expand", archived, "--lines", "1"])
            .stdout
            .contains("the walrus sleeps")
    );
    assert_eq!(cox.run(&["expand", archived, "--lines", "900-"]).code, 1);

    let stats = cox.run(&["stats", "--json"]).json();
    assert_eq!(
        (&stats["total"]["requests"], &stats["total"]["unpriced"]),
        (&json!(2), &json!(0))
    );
    let stats = cox.run(&["stats", "--session", &session, "--json"]).json();
    assert_eq!(stats["rows"][0]["key"], "fake/fake-model");
    assert_eq!(cox.run(&["stats", "--month"]).code, 0);
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_ends_the_run_without_a_panic() {
    let model = FakeModel::start([Answer::hang()]);
    let cox = Cox::with_model(&model);
    let mut child = cox
        .command(&["run", "-p", "hi", "--output-format", "stream-json"])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}

/// A picture of one pixel.
const DOT: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\x0DIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3A\x7E\x9B\x55\
\0\0\0\x0AIDAT\x78\xDA\x63\x60\0\0\0\x02\0\x01\xE5\x27\xDE\xFC\0\0\0\0IEND\xAE\x42\x60\x82";

#[test]
fn an_image_that_is_cut_off_is_refused_before_any_request() {
    let model = FakeModel::start([]);
    let cox = Cox::with_model(&model);
    cox.work.write("cut.png", &DOT[..40]);
    let ran = cox.run(&["run", "-p", "x", "--image", "cut.png"]);
    assert_eq!(ran.code, 5, "{ran}");
    let begins = "error: the image cut.png begins as image/png but is damaged or cut off: ";
    assert!(ran.stderr.starts_with(begins), "{ran}");
    assert!(model.requests().is_empty());
}

#[test]
fn an_image_goes_with_the_prompt() {
    let model = FakeModel::start([Answer::text("A dot.")]);
    let cox = Cox::with_model(&model);
    cox.work.write("dot.png", DOT);
    let ran = cox.run(&["run", "-p", "what is it?", "--image", "dot.png"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "A dot.\n"), "{ran}");
    assert!(
        model.requests()[0]
            .text
            .contains("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB")
    );
}

#[test]
fn an_image_that_is_too_large_is_refused_before_any_request() {
    let model = FakeModel::start([]);
    let cox = Cox::with_model(&model);
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.resize(3_750_001, 0);
    cox.work.write("big.png", bytes);
    let ran = cox.run(&["run", "-p", "x", "--image", "big.png"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (
            5,
            "error: the image big.png is larger than 3750000 bytes\nhint: make it smaller\n"
        )
    );
    assert!(model.requests().is_empty());
}

#[test]
fn limits_have_exit_codes_of_their_own() {
    let again = || Answer::call("c1", "read", json!({ "path": "notes.txt" }));
    let model = FakeModel::start([again(), again(), again()]);
    let cox = Cox::with_model(&model);
    cox.work.write("notes.txt", "x\n");
    let ran = cox.run(&[
        "run",
        "-p",
        "go",
        "--max-turns",
        "2",
        "--output-format",
        "json",
    ]);
    let document = ran.json();
    assert_eq!(
        (ran.code, &document["stop"], &document["turns"]),
        (1, &json!("max_turns"), &json!(2))
    );
}

#[test]
fn a_wrong_rule_or_provider_fails_before_anything_is_sent() {
    let model = FakeModel::start([]);
    let cox = Cox::with_model(&model);
    let ran = cox.run(&["run", "-p", "x", "--allowed-tools", "Bash(git"]);
    assert!(
        ran.code == 5 && ran.stderr.contains("`Bash(git` from --allowed-tools"),
        "{ran}"
    );
    let ran = cox.run(&["run", "-p", "x", "--provider", "nobody"]);
    assert!(
        ran.code == 5
            && ran
                .stderr
                .starts_with("error: --provider: there is no provider `nobody`"),
        "{ran}"
    );
    let ran =
        cox.variable("OPENAI_API_KEY", "sk-x")
            .run(&["run", "-p", "x", "--provider", "openai"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("has no model"),
        "{ran}"
    );
    assert!(model.requests().is_empty());
}

#[test]
fn an_escape_sequence_of_a_model_does_not_reach_the_terminal() {
    let model = FakeModel::start([Answer::text("red \u{1b}[31malarm\u{202e}")]);
    let ran = Cox::with_model(&model).run(&["run", "-p", "x"]);
    assert!(
        ran.code == 0 && !ran.stdout.contains(['\u{1b}', '\u{202e}']),
        "{ran}"
    );
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_running_command_with_the_turn() {
    use std::io::BufRead as _;
    let model = FakeModel::start([Answer::call("c1", "bash", json!({ "command": "sleep 60" }))]);
    let cox = Cox::with_model(&model);
    let mut child = cox
        .command(&[
            "run",
            "-p",
            "wait",
            "--allowed-tools",
            "Bash(sleep 60)",
            "--output-format",
            "stream-json",
        ])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    let mut events = Vec::new();
    for line in std::io::BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["type"] == "approval_decided" {
            assert_eq!(event["allowed"], true);
            assert!(
                std::process::Command::new("kill")
                    .args(["-INT", &pid])
                    .status()
                    .unwrap()
                    .success()
            );
        }
        events.push(event);
    }
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let types: Vec<&str> = events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    assert_eq!(types[types.len() - 2..], ["turn_done", "result"]);
}

#[test]
fn an_escape_sequence_that_never_ends_takes_no_line_with_it() {
    let model = FakeModel::start([
        Answer::text("I look. \u{1b}]0;title").and_call(
            "c1",
            "read",
            json!({ "path": "no\u{1b}]tes.txt" }),
        ),
        Answer::text("Done."),
    ]);
    let cox = Cox::with_model(&model);
    let ran = cox.run(&["run", "-p", "x \u{1b}]0;"]);
    assert!(
        ran.stderr.contains("I look. \n* read no\n") && ran.stderr.contains("  failed, "),
        "{ran}"
    );
    let id = ran
        .stderr
        .split("session ")
        .nth(1)
        .unwrap()
        .get(..26)
        .unwrap();
    let shown = cox.run(&["sessions", id]);
    assert!(
        shown.stdout.contains("> x\n") && shown.stdout.contains("* read no\n"),
        "{shown}"
    );
}

#[test]
fn the_spend_cap_ends_with_3() {
    let tokens = testkit::fake_model::Tokens {
        input: 10_000_000,
        ..Default::default()
    };
    let model = FakeModel::start([
        Answer::call("c1", "read", json!({ "path": "notes.txt" })).tokens(tokens),
        Answer::text("never asked for"),
    ]);
    let cox = Cox::new().variable("ANTHROPIC_API_KEY", "sk-ant-x");
    cox.work.write("notes.txt", "x\n");
    cox.home.write(
        ".cox/config.toml",
        format!("[providers.anthropic]\nbase_url = \"{}\"\n", model.url()),
    );
    let ran = cox.run(&[
        "run",
        "read the notes",
        "--budget",
        "0.5",
        "--output-format",
        "json",
    ]);
    let document = ran.json();
    assert_eq!(
        (
            ran.code,
            &document["stop"],
            &document["exit_code"],
            &document["turns"]
        ),
        (3, &json!("budget"), &json!(3), &json!(1)),
        "{ran}"
    );
    assert!(
        document["error"]
            .as_str()
            .is_some_and(|error| error.starts_with("the spend cap of $0.50 is reached: $")),
        "{ran}"
    );
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn answers_that_answer_nothing_are_named() {
    let model = FakeModel::start([
        Answer::call(
            "c1",
            "write",
            json!({ "path": "made.txt", "content": "x\n" }),
        ),
        Answer::text("Done."),
    ]);
    let cox = Cox::with_model(&model);
    let mut child = cox
        .command(&[
            "run",
            "x",
            "--approve",
            "on-request",
            "--output-format",
            "stream-json",
        ])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut call = String::new();
    for line in std::io::BufRead::lines(stdout) {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["type"] == "approval_required" {
            call = event["call"].as_str().unwrap().to_owned();
            let long = "x".repeat(3_000_000);
            let lines = format!(
                "[1]\n{long}\n{}\n{}\n{}\n{}\n",
                json!({ "approve": "01K9ZQ3T7N8V5W2X4Y6A8B0C1D" }),
                json!({ "answer": call, "text": "yes" }),
                json!({ "approve": call }),
                json!({ "deny": call }),
            );
            std::io::Write::write_all(&mut stdin, lines.as_bytes()).unwrap();
        }
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), cox.work.read("made.txt")),
        (Some(0), "x\n".to_owned())
    );
    let told = String::from_utf8_lossy(&output.stderr).replace(&call, "[call]");
    let expected = "expected {\"approve\": id}, {\"deny\": id, \"reason\": text} or {\"answer\": id, \"text\": text}";
    for line in [
        format!("not a JSON object: {expected}"),
        "it has more than 1048576 bytes".to_owned(),
        "01K9ZQ3T7N8V5W2X4Y6A8B0C1D waits for no answer: it was answered, has ended, or never asked".to_owned(),
        "[call] waits for `approve` or `deny`, not for `answer`".to_owned(),
        "[call] waits for no answer: it was answered, has ended, or never asked".to_owned(),
    ] {
        let line = format!("warning: ignored a line of stdin: {line}\n");
        assert_eq!(told.matches(&line).count(), 1, "{line}{told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_an_error_and_a_reader_that_left_is_not() {
    #[track_caller]
    fn check(args: &[&str], code: i32) {
        let model = FakeModel::start([Answer::text("hi")]);
        let cox = Cox::with_model(&model);
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = cox
            .command(args)
            .stdin(std::process::Stdio::null())
            .stdout(full)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(
            told.contains("error: cannot write to stdout: No space left on device"),
            "{told}"
        );
    }
    check(&["run", "x"], 1);
    check(&["run", "x", "--output-format", "json"], 1);
    check(&["run", "x", "--output-format", "stream-json"], 1);
    check(&["config", "show"], 1);
    check(&["doctor", "--json"], 1);
    check(&["man"], 1);
}

#[cfg(target_os = "linux")]
mod signals {
    use std::{
        process::{Child, Command, Stdio},
        time::Duration,
    };

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn start(command: &mut Command) -> Child {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    #[track_caller]
    fn kill(signal: &str, child: &Child) {
        let told = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(told.unwrap().success());
    }

    #[test]
    fn a_second_signal_ends_a_command_that_does_not_listen_and_tells_the_result() {
        let line = "trap '' TERM INT; echo > up; sleep 98123; sleep 98123";
        let model = FakeModel::start([Answer::call("c1", "bash", json!({ "command": line }))]);
        let cox = Cox::with_model(&model);
        let mut command = cox.command(&[
            "run",
            "x",
            "--permission-mode",
            "bypass",
            "--sandbox",
            "danger-full-access",
            "--json",
        ]);
        let mut child = start(&mut command);
        let up = cox.work.path().join("up");
        testkit::wait_until("the command", LIMIT, || up.exists());
        kill("-INT", &child);
        kill("-INT", &child);
        let begun = std::time::Instant::now();
        while child.try_wait().unwrap().is_none() {
            // The first may have been told only now: signals of one kind do not queue.
            drop(
                Command::new("kill")
                    .args(["-INT", &child.id().to_string()])
                    .stderr(Stdio::null())
                    .status(),
            );
            assert!(begun.elapsed() < LIMIT, "it does not end");
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(4));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (
                &document["stop"],
                &document["exit_code"],
                &document["error"]
            ),
            (&json!("interrupted"), &json!(4), &json!("interrupted"))
        );
        testkit::wait_until("the command to be gone", LIMIT, || {
            let found = Command::new("pgrep").args(["-f", "sleep 98123"]).output();
            found.unwrap().stdout.is_empty()
        });
    }

    #[test]
    fn two_signals_end_a_run_whose_reader_stands_still() {
        let model = FakeModel::start([Answer::text("word ".repeat(200_000))]);
        let cox = Cox::with_model(&model);
        let mut child = start(&mut cox.command(&["run", "x", "--output-format", "stream-json"]));
        let wait = format!("/proc/{}/wchan", child.id());
        testkit::wait_until("a full pipe", LIMIT, || {
            std::fs::read_to_string(&wait).is_ok_and(|place| place.contains("pipe"))
                || !model.requests().is_empty()
        });
        let begun = std::time::Instant::now();
        while child.try_wait().unwrap().is_none() {
            kill("-INT", &child);
            assert!(begun.elapsed() < LIMIT, "it does not end");
        }
        assert_eq!(child.wait().unwrap().code(), Some(4));
    }

    #[test]
    fn a_terminal_that_goes_away_ends_with_129_unless_nohup_said_otherwise() {
        let model = FakeModel::start([Answer::hang(), Answer::hang()]);
        let cox = Cox::with_model(&model);
        let child = start(&mut cox.command(&["run", "x", "--json"]));
        testkit::wait_until("the request", LIMIT, || !model.requests().is_empty());
        kill("-HUP", &child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(129));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["exit_code"], json!(129));

        let inner = cox.command(&["run", "x", "--json"]);
        let mut command = Command::new("sh");
        command
            .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
            .arg(inner.get_program())
            .args(inner.get_args())
            .current_dir(cox.work.path())
            .env("HOME", cox.home.path());
        let child = start(&mut command);
        testkit::wait_until("the request", LIMIT, || model.requests().len() == 2);
        kill("-HUP", &child);
        kill("-TERM", &child);
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
    }
}

#[test]
fn a_session_is_named_by_the_start_of_its_id() {
    let model = FakeModel::start([Answer::text("One."), Answer::text("Two.")]);
    let cox = Cox::with_model(&model);
    let id = cox.run(&["run", "first", "--json"]).json()["session"]
        .as_str()
        .unwrap()
        .to_owned();
    let start = id[..16].to_ascii_lowercase();
    assert_eq!(
        cox.run(&["sessions", &start]).stdout,
        cox.run(&["sessions", &id]).stdout
    );
    assert_eq!(cox.run(&["stats", "--session", &start]).code, 0);
    let again = cox
        .run(&["run", "second", "--resume", &start, "--json"])
        .json();
    assert_eq!(again["session"], json!(id));
    let ran = cox.run(&["sessions", "0000"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (
            1,
            "error: no session begins with 0000\nhint: `cox sessions` lists them\n"
        )
    );
    let ran = cox.run(&["expand", &id]);
    assert!(
        ran.code == 1 && ran.stderr.contains("is a session, not an archived output"),
        "{ran}"
    );
    assert_eq!(
        cox.run(&["stats", "--by-model", "--json"]).json()["rows"][0]["key"],
        "fake/fake-model"
    );
    let ran = cox.run(&["sessions", "--grep", ""]);
    assert_eq!(ran.code, 5, "{ran}");
    let ran = cox.run(&["sessions", "--grep", "-zzz"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (1, "no session has all of these words\n")
    );
}
