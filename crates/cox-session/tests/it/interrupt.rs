//! Interrupts: in the stream, in a call; the session stays valid and says nothing after the turn's end.

use cox_protocol::{Command, Event, Item, StopReason};
use serde_json::json;

use crate::harness::{Told, World, call, calls, says};

#[tokio::test]
async fn an_interrupt_in_the_stream_keeps_what_was_said() {
    let world = World::new(vec![Told::Hang("I was about to"), says("again")]);
    let mut run = world.open();
    run.prompt("go").await;
    world.model.hanging.notified().await;
    run.send(Command::Interrupt).await;
    assert_eq!(run.turn_end().await, StopReason::Interrupted);
    let Item::Assistant { blocks, complete } = &run.items()[1] else {
        panic!()
    };
    assert!(!complete);
    assert_eq!(format!("{blocks:?}").matches("I was about to").count(), 1);

    assert_eq!(run.turn("go on").await, StopReason::EndTurn);
    let roles: Vec<_> = world
        .request(1)
        .messages
        .iter()
        .map(|message| message.role)
        .collect();
    assert_eq!(
        roles,
        [llm::Role::User, llm::Role::Assistant, llm::Role::User]
    );
}

#[tokio::test]
async fn an_interrupt_in_a_call_answers_every_call() {
    let world = World::new(vec![
        calls(vec![
            call(
                "a",
                "change",
                json!({"id": "stuck", "path": "f", "wait": true}),
            ),
            call("b", "change", json!({"id": "behind", "path": "f"})),
            call("c", "look", json!({"id": "quick"})),
        ]),
        says("again"),
    ]);
    let mut run = world.open();
    run.prompt("go").await;
    run.until("the quick call's end", |event| {
        matches!(event, Event::ToolDone(_))
    })
    .await;
    run.send(Command::Interrupt).await;
    assert_eq!(run.turn_end().await, StopReason::Interrupted);
    let Some(Item::ToolResults { results }) = run.items().pop() else {
        panic!()
    };
    let told: Vec<(String, bool)> = results
        .into_iter()
        .map(|result| (result.text, result.is_error))
        .collect();
    assert_eq!(
        told,
        [
            ("cancelled before it was done".to_owned(), true),
            ("cancelled before it ran".to_owned(), true),
            ("done".to_owned(), false)
        ]
    );
    assert_eq!(*world.change.log.lock().unwrap(), ["begin stuck"]);
    assert_eq!(run.turn("go on").await, StopReason::EndTurn);
}

#[tokio::test]
async fn nothing_is_said_between_a_turns_end_and_the_next_turn() {
    let world = World::new(vec![
        calls(vec![call(
            "a",
            "look",
            json!({"id": "x", "print": ["one\n", "two\n"]}),
        )]),
        says("first"),
        says("second"),
    ]);
    let mut run = world.open();
    run.turn("go").await;
    run.turn("go on").await;
    let events = run.close().await;
    let mut open = false;
    for event in &events {
        match event {
            Event::TurnStarted { .. } => open = true,
            Event::TurnDone { .. } => open = false,
            Event::SessionStarted { .. } | Event::PrefixBuilt { .. } | Event::Notice { .. } => {}
            other => assert!(open, "{other:?} outside a turn"),
        }
    }
}

#[tokio::test]
async fn an_interrupt_with_nothing_running_is_nothing() {
    let world = World::new(vec![says("fine")]);
    let mut run = world.open();
    run.send(Command::Interrupt).await;
    assert_eq!(run.turn("go").await, StopReason::EndTurn);
}
