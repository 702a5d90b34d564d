//! The real binary against a model server that nobody of us wrote, in a fresh git repository, on each wire.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start git and write their fixtures"
)]

#[path = "../it/harness.rs"]
#[expect(
    dead_code,
    reason = "shared with the other target, which uses all of it"
)]
mod harness;

use std::process::Command;

use serde_json::json;
use testkit::peers::{Conversation, Peer, Turn, aimock};

use harness::{Cox, Ran};

/// A script without a final newline and with Windows line ends, whose middle line is wrong.
const BEFORE: &[u8] = b"#!/bin/sh\nwanted=3\r\necho \"$((1 + 1))\" # s\xfcm\nexit 0";
const AFTER: &[u8] = b"#!/bin/sh\nwanted=3\r\necho \"$((1 + 2))\" # s\xfcm\nexit 0";

fn conversation() -> Conversation {
    Conversation::new()
        .prompt("the sum is wrong")
        .reply(
            Turn::new()
                .text("I look for it.")
                .call("grep", json!({ "pattern": "1 \\+ 1" }))
                .call("read", json!({ "path": "sum.sh" })),
        )
        .reply(Turn::new().text("There it is.").call(
            "edit",
            json!({ "path": "sum.sh", "old": "$((1 + 1))", "new": "$((1 + 2))" }),
        ))
        .reply(Turn::new().call("bash", json!({ "command": "sh sum.sh" })))
        .reply(Turn::new().text("The sum is 3 now.").usage(1000, 50))
}

struct Repository {
    cox: Cox,
    _model: Peer,
}

impl Repository {
    fn new(api: &str) -> Self {
        let cox = Cox::new();
        std::fs::remove_dir_all(cox.work.path().join(".git")).unwrap();
        cox.work.write("sum.sh", BEFORE);
        cox.work.write("other.txt", "nobody touches this\n");
        let repository = Self {
            _model: {
                let model = aimock(&conversation());
                let base_url = match api {
                    "messages" => model.url().to_owned(),
                    _ => model.url_v1(),
                };
                cox.home.write(
                    ".cox/config.toml",
                    format!(
                        "[core]\nprovider = \"mock\"\n\n[providers.mock]\nbase_url = \"{base_url}\"\napi = \"{api}\"\n\
                         model = \"mock-1\"\napi_key_env = \"MOCK_KEY\"\n"
                    ),
                );
                model
            },
            cox: cox.variable("MOCK_KEY", "a-key-of-the-mock-server"),
        };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.git(&["add", "."]);
        repository.git(&["commit", "--quiet", "--message=start"]);
        repository
    }

    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@localhost",
                "-c",
                "core.autocrlf=false",
            ])
            .args(args)
            .current_dir(self.cox.work.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.cox.home.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn run(&self, format: &str) -> Ran {
        self.cox.run(&[
            "run",
            "-p",
            "the sum is wrong, repair it",
            "--permission-mode",
            "auto",
            "--allowed-tools",
            "Bash(sh sum.sh)",
            "--output-format",
            format,
        ])
    }
}

#[track_caller]
fn reads_edits_and_runs(api: &str) {
    let repository = Repository::new(api);
    let ran = repository.run("json");
    assert_eq!(ran.code, 0, "{ran}");
    let document = ran.json();
    assert_eq!(document["result"], "The sum is 3 now.", "{ran}");
    assert_eq!(document["turns"], 4, "{ran}");
    assert_eq!(document["denied"], json!([]), "{ran}");

    let changed = std::fs::read(repository.cox.work.path().join("sum.sh")).unwrap();
    assert_eq!(changed, AFTER, "{}", String::from_utf8_lossy(&changed));
    assert_eq!(repository.git(&["status", "--porcelain"]), " M sum.sh\n");
    let stat = repository.git(&["diff", "--numstat"]);
    assert_eq!(stat, "1\t1\tsum.sh\n");

    let session = document["session"].as_str().unwrap();
    let shown = repository.cox.run(&["sessions", "--grep", "sum is 3"]);
    assert!(shown.stdout.contains(session), "{shown}");
    let shown = repository.cox.run(&["stats"]);
    assert!(shown.code == 0 && shown.stdout.contains(session), "{shown}");
    let shown = repository.cox.run(&["config", "show", "--sources"]);
    assert!(
        shown
            .stdout
            .lines()
            .any(|line| line.contains("core.provider") && line.contains("config.toml:2")),
        "{shown}"
    );
}

#[test]
fn messages_reads_edits_and_runs_in_a_git_repository() {
    reads_edits_and_runs("messages");
}

#[test]
fn responses_reads_edits_and_runs_in_a_git_repository() {
    reads_edits_and_runs("responses");
}

#[test]
fn chat_reads_edits_and_runs_in_a_git_repository() {
    reads_edits_and_runs("chat");
}

#[test]
fn every_call_of_the_session_can_be_expanded() {
    let repository = Repository::new("messages");
    let ran = repository.run("stream-json");
    assert_eq!(ran.code, 0, "{ran}");
    let events = ran.json_lines();
    let done: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "tool_done")
        .collect();
    assert_eq!(done.len(), 4, "{ran}");
    for event in done {
        let id = event["archive"].as_str().unwrap();
        let shown = repository.cox.run(&["expand", id]);
        assert_eq!(
            shown.stdout.trim_end(),
            event["visible"].as_str().unwrap().trim_end()
        );
    }
    let preimage = events
        .iter()
        .find_map(|event| event["preimages"][0][1].as_str())
        .unwrap();
    let shown = repository
        .cox
        .command(&["expand", preimage])
        .output()
        .unwrap();
    assert_eq!(shown.stdout, BEFORE, "the pre-image is exact");
    assert!(
        events.last().unwrap()["type"] == "result",
        "{:?}",
        events.last()
    );
}
