//! SIGKILL in mid-turn: what was reported is on disk, and a resumed session sends it to the model.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use testkit::{Answer, FakeModel, wait_until};

use crate::harness::Cox;

/// A run whose standard output is read line by line.
struct Live {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    seen: Vec<Value>,
}

impl Live {
    fn start(cox: &Cox, args: &[&str]) -> Self {
        let mut child = cox
            .command(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            lines,
            seen: Vec::new(),
        }
    }

    fn until(&mut self, what: &str, fits: impl Fn(&Value) -> bool) {
        for line in &mut self.lines {
            let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let found = fits(&event);
            self.seen.push(event);
            if found {
                return;
            }
        }
        panic!("the run ended before {what}: {:#?}", self.seen);
    }

    /// Kills the process and returns every event that it had reported.
    fn kill(mut self) -> Vec<Value> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let rest = self
            .lines
            .map_while(Result::ok)
            .filter_map(|line| serde_json::from_str(&line).ok());
        self.seen.extend(rest);
        self.seen
    }
}

fn rollout(cox: &Cox) -> PathBuf {
    let folder = cox.home.path().join(".cox/sessions");
    let files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Checks that every reported event stands in the record.
#[track_caller]
fn assert_recorded(cox: &Cox, reported: &[Value]) {
    let record = std::fs::read_to_string(rollout(cox)).unwrap();
    let recorded: BTreeSet<String> = record
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|line| line["event"].to_string())
        .collect();
    assert!(reported.len() > 3, "{reported:#?}");
    for event in reported {
        assert!(recorded.contains(&event.to_string()), "lost: {event}");
    }
}

#[test]
fn a_kill_while_a_command_runs_loses_nothing_and_leaves_no_process() {
    let model = FakeModel::start([
        Answer::text("First I read.").and_call("c1", "read", json!({ "path": "notes.txt" })),
        Answer::text("Now the long one.").and_call("c2", "bash", json!({ "command": "./long" })),
    ]);
    let cox = Cox::with_model(&model);
    cox.work.write("notes.txt", "remember the milk\n");
    let script = cox.work.write(
        "long",
        "#!/bin/sh\necho $$ > pid\necho half of the work is done\nsleep 600\n",
    );
    make_executable(&script);
    let args = [
        "--permission-mode",
        "auto",
        "--allowed-tools",
        "Bash(./long)",
    ];
    let mut live = Live::start(
        &cox,
        &[
            &["run", "-p", "work", "--output-format", "stream-json"],
            &args[..],
        ]
        .concat(),
    );
    live.until("the command's output", |event| {
        event["type"] == "tool_output"
            && event["text"]
                .as_str()
                .is_some_and(|text| text.contains("half"))
    });
    let reported = live.kill();
    assert_recorded(&cox, &reported);
    wait_until(
        "the command to end with cox",
        Duration::from_secs(10),
        || !is_running("./long"),
    );

    model.push(Answer::text("I go on."));
    let ran = cox.run(&[
        "run",
        "-p",
        "go on",
        "--continue",
        "--output-format",
        "stream-json",
    ]);
    assert_eq!(ran.code, 0, "{ran}");
    let sent = model.requests().pop().unwrap().text;
    for part in [
        "First I read.",
        "remember the milk",
        "Now the long one.",
        "half of the work is done",
        "cox ended before this call did",
    ] {
        assert!(sent.contains(part), "{part} is not in {sent}");
    }
    let sessions = cox.run(&["sessions", "--json"]).json();
    assert_eq!(
        sessions["sessions"].as_array().map(Vec::len),
        Some(1),
        "{sessions}"
    );
}

#[test]
fn a_kill_while_the_model_speaks_keeps_what_it_said() {
    // The role and both halves of the text; what would end the answer never comes.
    let model = FakeModel::start([Answer::text("The first sentence. The second sentence.")
        .one_byte_chunks()
        .stall_after(3)]);
    let cox = Cox::with_model(&model);
    let mut live = Live::start(
        &cox,
        &["run", "-p", "talk", "--output-format", "stream-json"],
    );
    live.until("some text", |event| event["type"] == "text_delta");
    let reported = live.kill();
    assert_recorded(&cox, &reported);
    let said: String = reported
        .iter()
        .filter(|event| event["type"] == "text_delta")
        .filter_map(|event| event["text"].as_str())
        .collect();
    assert!(!said.is_empty());

    model.push(Answer::text("I go on."));
    let ran = cox.run(&["run", "-p", "go on", "--continue"]);
    assert_eq!(ran.code, 0, "{ran}");
    let body = model.requests().pop().unwrap().body;
    let answer = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|message| message["role"] == "assistant")
        .unwrap()
        .to_string();
    assert!(
        answer.contains(said.trim_end()),
        "{said} is not in {answer}"
    );
    assert!(answer.contains("cut off"), "{answer}");
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Says whether a process runs whose command line holds `words`.
fn is_running(words: &str) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    processes.filter_map(Result::ok).any(|process| {
        std::fs::read(process.path().join("cmdline")).is_ok_and(|line| {
            let line: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            line.contains(&words.as_bytes()) && line.len() <= 3
        })
    })
}
