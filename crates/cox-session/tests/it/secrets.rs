//! Secrets: replaced wherever something is shown, stored or sent, also when a stream cuts them apart.

use std::path::Path;

use cox_protocol::Event;
use serde_json::json;

use crate::harness::{World, call, calls, says};

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
