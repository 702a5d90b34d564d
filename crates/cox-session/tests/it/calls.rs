//! Calls: order, side by side, errors a model can act on, results in one message.

use cox_protocol::{Event, Item, StopReason};
use llm::{Block, Stop};
use serde_json::json;

use crate::harness::{Told, World, call, calls, says, text};

#[tokio::test]
async fn all_results_go_back_in_one_message_in_call_order() {
    let world = World::new(vec![
        calls(vec![
            call(
                "a",
                "look",
                json!({"id": "slow", "wait": true, "text": "first"}),
            ),
            call("b", "look", json!({"id": "quick", "text": "second"})),
        ]),
        says("fine"),
    ]);
    let mut run = world.open();
    run.prompt("go").await;
    run.until("the quick call's end", |event| {
        matches!(event, Event::ToolDone(_))
    })
    .await;
    assert_eq!(
        *world.look.log.lock().unwrap(),
        ["begin slow", "begin quick", "end quick"]
    );
    world.look.gate.notify_one();
    assert_eq!(run.turn_end().await, StopReason::EndTurn);

    let last = world.request(1).messages.pop().unwrap();
    let results: Vec<(String, String, bool)> = last
        .blocks
        .into_iter()
        .map(|block| match block {
            Block::Result {
                id, text, is_error, ..
            } => (id, text, is_error),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        results,
        [
            ("a".into(), "first".into(), false),
            ("b".into(), "second".into(), false)
        ]
    );
}

#[tokio::test]
async fn calls_on_one_path_run_one_after_the_other() {
    let world = World::new(vec![
        calls(vec![
            call(
                "a",
                "change",
                json!({"id": "one", "path": "f", "wait": true}),
            ),
            call("b", "change", json!({"id": "two", "path": "f"})),
            call("c", "change", json!({"id": "other", "path": "g"})),
        ]),
        says("fine"),
    ]);
    let mut run = world.open();
    run.prompt("go").await;
    run.until("the other file's end", |event| {
        matches!(event, Event::ToolDone(_))
    })
    .await;
    world.change.gate.notify_one();
    run.turn_end().await;
    let log = world.change.log.lock().unwrap().clone();
    let at = |entry: &str| log.iter().position(|line| line == entry).unwrap();
    assert!(at("end one") < at("begin two"), "{log:?}");
    assert!(at("end other") < at("end one"), "{log:?}");
}

#[tokio::test]
async fn a_call_that_cannot_be_read_is_answered_and_the_turn_goes_on() {
    let world = World::new(vec![
        Told::Reply(
            vec![
                Block::Call {
                    id: "a".into(),
                    name: "look".into(),
                    input: "{\"id\": ".into(),
                },
                call("b", "lok", json!({"id": "x"})),
                call("c", "look", json!({})),
                Block::Call {
                    id: "d".into(),
                    name: "look".into(),
                    input: "[1]".into(),
                },
                call("e", "look", json!({"id": "boom", "panic": true})),
            ],
            Stop::ToolUse,
        ),
        says("I see"),
    ]);
    let run = world.run("go").await;
    let texts: Vec<String> = run
        .done()
        .iter()
        .map(|done| done.visible.verbatim().to_owned())
        .collect();
    for (name, expected) in [
        ("invalid JSON", "the arguments of `look` are not valid JSON"),
        (
            "unknown tool",
            "there is no tool `lok`; the tools are: look, change, late_tool",
        ),
        (
            "missing argument",
            "bad arguments for `look`: missing field `id`",
        ),
        ("no object", "must be one JSON object; received: [1]"),
        ("panic", "the tool failed inside cox"),
    ] {
        assert!(
            texts.iter().any(|text| text.contains(expected)),
            "{name}: {texts:#?}"
        );
    }
    let Some(Item::ToolResults { results }) = run.items().get(2).cloned() else {
        panic!()
    };
    assert_eq!(results.len(), 5);
    assert!(results.iter().all(|result| result.is_error));
    assert_eq!(world.request_count(), 2);
}

#[tokio::test]
async fn a_long_output_is_shortened_with_a_pointer_and_archived_whole() {
    let mut world = World::new(vec![
        calls(vec![call(
            "a",
            "look",
            json!({"id": "x", "text": "a line\n", "times": 5000}),
        )]),
        says("long"),
    ]);
    world.limits.visible_bytes = 500;
    let run = world.run("go").await;
    let done = run.done().remove(0);
    let id = done.archive.unwrap();
    let whole = cox_store::Archive::new(world.home.clone())
        .read(id)
        .unwrap();
    assert_eq!(whole, "a line\n".repeat(5000).into_bytes());
    assert_eq!(done.bytes, 35_000);
    let visible = done.visible.verbatim();
    assert!(visible.len() < 900, "{}", visible.len());
    assert!(
        visible.contains(&format!("`expand` {id} shows the whole output")),
        "{visible}"
    );
}

#[tokio::test]
async fn a_discovered_tool_joins_behind_the_others() {
    let world = World::new(vec![
        calls(vec![call(
            "a",
            "look",
            json!({"id": "x", "discover": "late_tool"}),
        )]),
        says("found"),
    ]);
    world.run("go").await;
    let names = |index: usize| -> Vec<String> {
        world
            .request(index)
            .tools
            .into_iter()
            .map(|tool| tool.name)
            .collect()
    };
    assert_eq!(names(0), ["look", "change"]);
    assert_eq!(names(1), ["look", "change", "late_tool"]);
}

#[tokio::test]
async fn an_answer_that_was_cut_is_kept_marked_and_continued() {
    let world = World::new(vec![
        Told::Reply(
            vec![text("half of it")],
            Stop::Broken("connection reset".into()),
        ),
        says("the rest"),
    ]);
    let run = world.run("go").await;
    let Item::Assistant { complete, .. } = &run.items()[1] else {
        panic!()
    };
    assert!(!complete);
    let said: Vec<Block> = world.request(1).messages[1].blocks.clone();
    assert_eq!(
        said,
        [text("half of it"), text("[this answer was cut off here]")]
    );
    assert!(matches!(
        run.events.last(),
        Some(Event::TurnDone {
            stop: StopReason::EndTurn,
            ..
        })
    ));
}

#[tokio::test]
async fn an_answer_that_is_always_cut_ends_the_turn() {
    let cut = || Told::Reply(vec![text("…")], Stop::MaxTokens);
    let world = World::new(vec![cut(), cut(), cut()]);
    let mut run = world.open();
    let StopReason::Error { who, message } = run.turn("go").await else {
        panic!()
    };
    assert_eq!(who, "provider");
    assert!(message.contains("cut 3 times in a row"), "{message}");
}

#[tokio::test]
async fn an_output_that_cannot_be_archived_stops_the_turn() {
    let world = World::new(vec![
        calls(vec![call("a", "look", json!({"id": "x", "text": "seen"}))]),
        says("never asked"),
    ]);
    // A file where the archive's folder should be: nothing can be put into it.
    std::fs::create_dir_all(&world.home.root).unwrap();
    std::fs::write(world.home.archive_dir(), "").unwrap();
    let mut run = world.open();
    let StopReason::Error { who, message } = run.turn("go").await else {
        panic!()
    };
    assert_eq!(who, "us");
    assert!(
        message.starts_with("an output could not be kept: "),
        "{message}"
    );
    assert_eq!(world.request_count(), 1);
    let Some(Item::ToolResults { results }) = run.items().pop() else {
        panic!()
    };
    assert!(
        results[0]
            .text
            .starts_with("seen\n[the whole output could not be kept")
    );
}

#[tokio::test]
async fn every_call_of_a_conversation_has_an_id_of_its_own() {
    let one = |id: &str| call(id, "look", json!({"id": "x"}));
    let world = World::new(vec![
        calls(vec![one("a"), one("a"), one("")]),
        calls(vec![one("a"), one("b")]),
        says("fine"),
    ]);
    world.run("go").await;
    let request = world.request(2);
    let ids = |wanted: fn(&Block) -> Option<&String>| -> Vec<String> {
        let blocks = request.messages.iter().flat_map(|message| &message.blocks);
        blocks.filter_map(wanted).cloned().collect()
    };
    let called = ids(|block| match block {
        Block::Call { id, .. } => Some(id),
        _ => None,
    });
    let answered = ids(|block| match block {
        Block::Result { id, .. } => Some(id),
        _ => None,
    });
    assert_eq!(called, answered);
    let distinct: std::collections::BTreeSet<&String> = called.iter().collect();
    assert_eq!(distinct.len(), 5, "{called:?}");
    assert_eq!((called[0].as_str(), called[4].as_str()), ("a", "b"));
    assert!(called[1].starts_with("call_"), "{called:?}");
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_again_and_then_an_error() {
    let nothing = || Told::Reply(vec![text(" \n")], Stop::EndTurn);
    let world = World::new(vec![
        nothing(),
        says("here it is"),
        nothing(),
        nothing(),
        nothing(),
    ]);
    let mut run = world.open();
    assert_eq!(run.turn("go").await, StopReason::EndTurn);
    let again = world.request(1);
    assert_eq!(again.messages.len(), 1, "{again:?}");
    let said = format!("{:?}", again.messages[0]);
    assert!(said.contains("Your last answer was empty"), "{said}");
    let stop = run.turn("go on").await;
    let StopReason::Error { who, message } = &stop else {
        panic!("{stop:?}")
    };
    assert_eq!(who, "provider");
    assert!(
        message.starts_with("the model answered nothing 3 times in a row"),
        "{message}"
    );
}
