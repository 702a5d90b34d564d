//! Secrets: replaced wherever something is shown, stored or sent, also when a stream cuts them apart.

use std::path::Path;

use cox_permission::Mode;
use cox_protocol::{Command, Decision, Event, StopReason};
use cox_session::Approver;
use llm::ErrorKind;
use serde_json::json;

use crate::harness::{Told, World, call, calls, says};

/// Made for this test; opens nothing.
const SECRET: &str = "sk-ant-api03-Zq7Lw2Kx9Vn4Bt6Yc1Md8Rf3Hs5Jp0Qa";

fn files_below(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_below(&path, found),
            false => found.push(path),
        }
    }
}

#[tokio::test]
async fn a_secret_is_nowhere_in_the_events_the_requests_or_on_disk() {
    let halves = SECRET.split_at(15);
    let mut world = World::new(vec![
        calls(vec![
            call(
                "a",
                "look",
                json!({"id": "x", "print": [halves.0, halves.1, "\n"]}),
            ),
            call(
                "b",
                "look",
                json!({"id": "y", "text": format!("key = {SECRET}\n")}),
            ),
            call(
                "c",
                "look",
                json!({"id": SECRET, "text": "value-of-the-variable"}),
            ),
        ]),
        says(&format!("the key is {SECRET} as you see")),
        says("again"),
    ]);
    world.secrets = vec!["value-of-the-variable".into()];
    let mut run = world.open();
    run.turn(&format!("use {SECRET}")).await;
    run.turn("go on").await;
    let told: String = run
        .events
        .iter()
        .filter_map(|event| match event {
            Event::TextDelta { text } => Some(text.verbatim()),
            _ => None,
        })
        .collect();
    assert!(!told.contains(SECRET), "{told}");
    assert!(told.contains("as you see"), "{told}");
    drop(run.close().await);

    let mut files = Vec::new();
    files_below(&world.home.root, &mut files);
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let bytes = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!bytes.contains(SECRET), "{}", file.display());
        assert!(
            !bytes.contains("value-of-the-variable"),
            "{}",
            file.display()
        );
    }
    for index in 0..world.request_count() {
        let request = format!("{:?}", world.request(index));
        assert!(!request.contains(SECRET), "request {index}: {request}");
    }
}

#[tokio::test]
async fn a_failure_that_quotes_a_secret_hides_it() {
    let world = World::new(vec![Told::Fail(
        ErrorKind::Auth,
        "incorrect key: sk-ant-api03-Zq7Lw2Kx9Vn4Bt6Yc1Md8Rf3Hs5Jp0Qa",
    )]);
    let mut run = world.open();
    let StopReason::Error { message, .. } = run.turn("go").await else {
        panic!()
    };
    assert!(message.starts_with("incorrect key: [redacted"), "{message}");
}

#[tokio::test]
async fn an_approval_and_its_decision_hide_secrets() {
    let mut world = World::new(vec![
        calls(vec![call(
            "a",
            "change",
            json!({"id": SECRET, "path": SECRET}),
        )]),
        says("fine"),
    ]);
    world.mode = Some(Mode::Default);
    world.approver = Approver::Surface;
    let mut run = world.open();
    run.prompt("go").await;
    let asked = run
        .until("an approval", |event| {
            matches!(event, Event::ApprovalRequired { .. })
        })
        .await;
    let Event::ApprovalRequired { call, .. } = asked else {
        unreachable!()
    };
    let decision = Decision::AllowForSession;
    run.send(Command::Approve { call, decision }).await;
    run.turn_end().await;
    let said = format!("{:?}", run.events);
    assert!(!said.contains(SECRET), "{said}");
}

#[tokio::test]
async fn what_only_names_things_hides_secrets_too() {
    let mut world = World::new(vec![
        calls(vec![llm::Block::Call {
            id: format!("id-{SECRET}"),
            name: format!("tool-{SECRET}"),
            input: format!("{{\"cut\": \"{SECRET}"),
        }]),
        calls(vec![llm::Block::Call {
            id: "b".into(),
            name: "look".into(),
            // Cut for the model in the middle of the secret.
            input: format!(
                "{}{SECRET}",
                " ".repeat(240) + "[\"abcdefghijklmnopqrstuvwxyz "
            ),
        }]),
        Told::Reply(
            vec![llm::Block::Text("half".into())],
            llm::Stop::Broken(format!("an event `{SECRET}` that is no JSON")),
        ),
        says("fine"),
    ]);
    world.instructions = cox_extensions::Instructions {
        files: vec![cox_extensions::InstructionFile {
            path: "/work/AGENTS.md".into(),
            text: format!("the key is {SECRET}"),
        }],
        notices: Vec::new(),
    };
    let mut run = world.open();
    assert_eq!(run.turn("go").await, StopReason::EndTurn);
    let events = format!("{:?}", run.events);
    let requests = format!("{:?}", world.model.requests.lock().unwrap());
    drop(run.close().await);
    let mut files = Vec::new();
    files_below(&world.home.root, &mut files);
    let stored: String = files
        .iter()
        .map(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned())
        .collect();
    // Not even its start.
    let start = &SECRET[..20];
    for (place, text) in [
        ("the events", events),
        ("the requests", requests),
        ("the disk", stored),
    ] {
        let at = text.find(start).unwrap_or_default();
        assert!(!text.contains(start), "{place}: {}", &text[at..at + 60]);
    }
}
