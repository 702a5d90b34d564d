//! A conversation larger than the window: old outputs become pointers, or the turn says that it cannot go on.

use cox_protocol::{Event, StopReason};
use llm::{Block, ErrorKind, Request};
use serde_json::json;

use crate::harness::{Told, World, call, calls, says};

fn big(id: &str) -> Told {
    calls(vec![call(
        id,
        "look",
        json!({"id": id, "text": "some line of output\n", "times": 300}),
    )])
}

/// Shows every output whole, so that only the window decides.
fn uncapped(mut world: World) -> World {
    world.limits.visible_bytes = 100_000;
    world.limits.head_lines = 1_000;
    world
}

fn result_texts(request: &Request) -> Vec<String> {
    request
        .messages
        .iter()
        .flat_map(|message| &message.blocks)
        .filter_map(|block| match block {
            Block::Result { text, .. } => Some(text.clone()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn old_outputs_become_pointers_when_the_window_is_nearly_full() {
    let mut world = uncapped(World::new(vec![
        big("a"),
        big("b"),
        big("c"),
        big("d"),
        says("done"),
    ]));
    world.model_mut().window = 6_000;
    world.model_mut().usage = llm::Usage::default();
    let run = world.run("go").await;
    assert!(
        run.events
            .iter()
            .any(|event| matches!(event, Event::Compacted { .. }))
    );
    let texts = result_texts(&world.request(4));
    assert!(
        texts[0].contains("old output of 6000 bytes left out; `expand`"),
        "{}",
        texts[0]
    );
    assert_eq!(texts[3], "some line of output\n".repeat(300));
}

#[tokio::test]
async fn a_provider_that_says_too_long_gets_a_smaller_request_once() {
    let world = uncapped(World::new(vec![
        big("a"),
        big("b"),
        Told::Fail(ErrorKind::ContextTooLong, "prompt is too long"),
        says("done"),
    ]));
    let mut run = world.open();
    assert_eq!(run.turn("go").await, StopReason::EndTurn);
    let texts = result_texts(&world.request(3));
    assert!(texts[0].contains("left out"), "{}", texts[0]);
    assert!(!texts[1].contains("left out"), "{}", texts[1]);
}

#[tokio::test]
async fn what_cannot_be_made_smaller_says_so_before_it_is_sent() {
    let mut world = World::new(vec![]);
    world.model_mut().window = 1_000;
    let mut run = world.open();
    let StopReason::Error { who, message } = run.turn(&"word ".repeat(2_000)).await else {
        panic!()
    };
    assert_eq!(who, "us");
    assert!(
        message.contains("more than the model's window of 1000 holds"),
        "{message}"
    );
    assert_eq!(world.request_count(), 0);
}

#[tokio::test]
async fn results_of_one_answer_that_are_too_large_together_do_not_end_the_session() {
    let one = |id: &str| {
        call(
            id,
            "look",
            json!({"id": id, "text": "some line of output\n", "times": 300}),
        )
    };
    let mut world = uncapped(World::new(vec![
        calls(vec![one("a"), one("b"), one("c"), one("d"), one("e")]),
        says("in parts, then"),
    ]));
    world.model_mut().window = 6_000;
    world.model_mut().usage = llm::Usage::default();
    let mut run = world.open();
    assert_eq!(run.turn("go").await, StopReason::EndTurn);
    let texts = result_texts(&world.request(1));
    assert!(texts[0].contains("left out; `expand`"), "{}", texts[0]);
    assert_eq!(texts[4], "some line of output\n".repeat(300));
}
