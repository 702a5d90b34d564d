//! Who may let a call run, and what is recorded of it.

use cox_permission::Mode;
use cox_protocol::{Command, DecidedBy, Decision, Event, Item, StopReason};
use cox_session::Approver;
use serde_json::json;

use crate::harness::{World, call, calls, says};

fn asking_world() -> World {
    let mut world = World::new(vec![
        calls(vec![call("a", "change", json!({"id": "one", "path": "f"}))]),
        calls(vec![call("b", "change", json!({"id": "two", "path": "f"}))]),
        says("done"),
    ]);
    world.mode = Some(Mode::Default);
    world.approver = Approver::Surface;
    world
}

fn decisions(events: &[Event]) -> Vec<(bool, DecidedBy)> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::ApprovalDecided { allowed, by, .. } => Some((*allowed, *by)),
            _ => None,
        })
        .collect()
}

async fn answer(world: &World, answers: Vec<Decision>) -> Vec<Event> {
    let mut run = world.open();
    run.prompt("go").await;
    for decision in answers {
        let asked = run
            .until("an approval", |event| {
                matches!(event, Event::ApprovalRequired { .. })
            })
            .await;
        let Event::ApprovalRequired { call, .. } = asked else {
            unreachable!()
        };
        run.send(Command::Approve { call, decision }).await;
    }
    assert_eq!(run.turn_end().await, StopReason::EndTurn);
    run.events
}

#[tokio::test]
async fn a_person_allows_once_and_is_asked_again() {
    let world = asking_world();
    let events = answer(&world, vec![Decision::Allow, Decision::Allow]).await;
    assert_eq!(
        decisions(&events),
        [(true, DecidedBy::Person), (true, DecidedBy::Person)]
    );
    assert_eq!(world.change.log.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_session_grant_covers_the_same_file_from_then_on() {
    let world = asking_world();
    let events = answer(&world, vec![Decision::AllowForSession]).await;
    assert_eq!(
        decisions(&events),
        [(true, DecidedBy::Person), (true, DecidedBy::Engine)]
    );
}

#[tokio::test]
async fn a_refusal_reaches_the_model_with_its_reason() {
    let world = asking_world();
    let no = || Decision::Deny {
        reason: Some("not this file".into()),
    };
    let events = answer(&world, vec![no(), no()]).await;
    assert_eq!(decisions(&events), [(false, DecidedBy::Person); 2]);
    assert!(world.change.log.lock().unwrap().is_empty());
    let Item::ToolResults { results } = &crate::harness::items(&events)[2] else {
        panic!()
    };
    assert!(results[0].is_error);
    assert!(
        results[0].text.starts_with("denied: not this file"),
        "{}",
        results[0].text
    );
}

#[tokio::test]
async fn with_nobody_to_ask_an_ask_is_a_deny() {
    let mut world = asking_world();
    world.approver = Approver::Nobody;
    let run = world.run("go").await;
    assert_eq!(decisions(&run.events), [(false, DecidedBy::Nobody); 2]);
    assert!(run.done().iter().all(|done| done.denied && !done.ok));
}

#[tokio::test]
async fn an_approval_that_nobody_answers_in_time_is_a_deny() {
    let mut world = asking_world();
    world.limits.approval_timeout = std::time::Duration::from_millis(10);
    let run = world.run("go").await;
    assert_eq!(decisions(&run.events), [(false, DecidedBy::Nobody); 2]);
}

#[tokio::test]
async fn an_open_approval_holds_up_only_its_own_call() {
    let mut world = World::new(vec![
        calls(vec![
            call("a", "change", json!({"id": "waits", "path": "f"})),
            call("b", "look", json!({"id": "goes on", "path": "g"})),
        ]),
        says("done"),
    ]);
    world.mode = Some(Mode::Default);
    world.approver = Approver::Surface;
    let mut run = world.open();
    run.prompt("go").await;
    run.until("the read's end", |event| {
        matches!(event, Event::ToolDone(_))
    })
    .await;
    assert_eq!(world.look.log.lock().unwrap().len(), 2);
    let call = run.call_named("waits");
    run.send(Command::Approve {
        call,
        decision: Decision::Allow,
    })
    .await;
    assert_eq!(run.turn_end().await, StopReason::EndTurn);
}

#[tokio::test]
async fn plan_mode_only_reads_and_asks_nobody() {
    let mut world = asking_world();
    world.mode = Some(Mode::Plan);
    let run = world.run("go").await;
    assert_eq!(decisions(&run.events), [(false, DecidedBy::Engine); 2]);
    assert!(world.change.log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn bypass_cannot_be_switched_on_in_a_session() {
    let mut world = asking_world();
    world.approver = Approver::Nobody;
    let mut run = world.open();
    run.send(Command::SetMode { mode: Mode::Bypass }).await;
    run.turn("go").await;
    assert_eq!(decisions(&run.events), [(false, DecidedBy::Nobody); 2]);
}

#[tokio::test]
async fn a_question_of_a_tool_is_answered_by_the_person() {
    let mut world = World::new(vec![
        calls(vec![call(
            "a",
            "look",
            json!({"id": "x", "ask": "which one?"}),
        )]),
        says("done"),
    ]);
    world.approver = Approver::Surface;
    let mut run = world.open();
    run.prompt("go").await;
    let asked = run
        .until("the question", |event| {
            matches!(event, Event::QuestionAsked { .. })
        })
        .await;
    let Event::QuestionAsked { call, question, .. } = asked else {
        unreachable!()
    };
    assert_eq!(question.verbatim(), "which one?");
    run.send(Command::Answer {
        call,
        text: Some("the second".into()),
    })
    .await;
    run.turn_end().await;
    assert_eq!(run.done()[0].visible.verbatim(), "Text(\"the second\")");
}
