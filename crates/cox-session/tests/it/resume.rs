//! Resume: the next request is the same to the byte, whatever ended the first run.

use cox_protocol::{Event, Item, SessionId};
use cox_store::Rollout;
use llm::Wire;
use serde_json::json;

use crate::harness::{World, call, calls, items, says};

/// Returns the body the next prompt sends, on each wire.
async fn next_request(world: &World) -> Vec<String> {
    world.tell(says("then"));
    let at = world.request_count();
    world.run("and then?").await;
    [Wire::Messages, Wire::Responses, Wire::Chat]
        .map(|wire| llm::request_json(wire, "told-1", &world.request(at)))
        .into()
}

#[tokio::test]
async fn a_resumed_session_sends_the_same_next_request() {
    let answers = || {
        vec![
            calls(vec![call(
                "a",
                "look",
                json!({"id": "x", "discover": "late_tool"}),
            )]),
            says("first"),
        ]
    };
    let mut resumed = World::new(answers());
    let run = resumed.run("go").await;
    resumed.resume = Some(run.handle.session);
    drop(run.close().await);
    let after_resume = next_request(&resumed).await;

    let whole = World::new(answers());
    whole.tell(says("then"));
    let mut run = whole.open();
    run.turn("go").await;
    run.turn("and then?").await;
    let at_once: Vec<String> = [Wire::Messages, Wire::Responses, Wire::Chat]
        .map(|wire| llm::request_json(wire, "told-1", &whole.request(2)))
        .into();
    // The session's own id is a routing key, not a part of the conversation.
    let without_key = |body: &String, world: &World| {
        body.replace(&world.request(0).cache_key.unwrap_or_default(), "KEY")
    };
    for (resumed_body, whole_body) in after_resume.iter().zip(&at_once) {
        assert_eq!(
            without_key(resumed_body, &resumed),
            without_key(whole_body, &whole)
        );
    }
}

/// Cuts the record of a session behind the first event that fits, as a killed process leaves it.
fn cut_after(world: &World, session: SessionId, fits: impl Fn(&Event) -> bool) {
    let path = world.home.rollout_path(session);
    let lines = std::fs::read_to_string(&path).unwrap();
    let replay = Rollout::read(&world.home, session).unwrap();
    let kept = replay
        .events
        .iter()
        .position(|stored| fits(&stored.event))
        .unwrap()
        + 1;
    let mut kept: String = lines.split_inclusive('\n').take(kept).collect();
    kept.push_str("{\"v\":1,\"seq\":99,\"ts\":\"20");
    std::fs::write(path, kept).unwrap();
}

fn recorded_items(world: &World, session: SessionId) -> Vec<Item> {
    let replay = Rollout::read(&world.home, session).unwrap();
    items(
        &replay
            .events
            .into_iter()
            .map(|stored| stored.event)
            .collect::<Vec<_>>(),
    )
}

#[tokio::test]
async fn text_that_was_shown_before_a_kill_is_kept() {
    let mut world = World::new(vec![says("said in several pieces")]);
    let run = world.run("go").await;
    let session = run.handle.session;
    drop(run.close().await);
    cut_after(
        &world,
        session,
        |event| matches!(event, Event::TextDelta { text } if text.verbatim().contains('p')),
    );
    world.resume = Some(session);
    world.tell(says("then"));
    let run = world.run("and then?").await;
    let kept = recorded_items(&world, session).remove(1);
    assert!(format!("{kept:?}").contains("said in"), "{kept:?}");
    let notices = format!(
        "{:?}",
        run.events
            .iter()
            .filter(|event| matches!(event, Event::Notice { .. }))
            .collect::<Vec<_>>()
    );
    assert!(notices.contains("1 damaged line"), "{notices}");
    let said = format!("{:?}", world.request(1).messages[1]);
    assert!(said.contains("[this answer was cut off here]"), "{said}");
}

#[tokio::test]
async fn calls_that_ended_before_a_kill_keep_their_results_and_the_others_are_answered() {
    let mut world = World::new(vec![
        calls(vec![
            call("a", "look", json!({"id": "x", "text": "found it"})),
            call(
                "b",
                "change",
                json!({"id": "y", "path": "f", "print": ["half\n"]}),
            ),
        ]),
        says("done"),
    ]);
    let run = world.run("go").await;
    let session = run.handle.session;
    drop(run.close().await);
    cut_after(&world, session, |event| matches!(event, Event::ToolDone(_)));
    world.resume = Some(session);
    world.tell(says("then"));
    world.run("and then?").await;
    let kept = recorded_items(&world, session).remove(2);
    let Item::ToolResults { results } = kept else {
        panic!("{kept:?}")
    };
    assert_eq!(results.len(), 2);
    let told: Vec<&str> = results.iter().map(|result| result.text.as_str()).collect();
    assert!(
        told.contains(&"found it") || told.contains(&"half\ndone"),
        "{told:?}"
    );
    assert!(
        told.iter()
            .any(|text| text.starts_with("cox ended before this call did")),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_session_that_ended_well_needs_no_repair() {
    let mut world = World::new(vec![says("one"), says("two")]);
    let run = world.run("go").await;
    world.resume = Some(run.handle.session);
    drop(run.close().await);
    let mut run = world.open();
    assert!(matches!(
        run.next().await,
        Some(Event::SessionStarted { resumed: true, .. })
    ));
    run.turn("go on").await;
    assert_eq!(
        run.events
            .iter()
            .filter(|event| matches!(event, Event::PrefixBuilt { .. }))
            .count(),
        0
    );
}

/// Says what is wrong with a conversation: every call has one result in the next message, in order, and nothing else is
/// answered.
fn complaint(request: &llm::Request) -> Option<String> {
    let mut open: Vec<String> = Vec::new();
    if request.messages.first().map(|message| message.role) != Some(llm::Role::User) {
        return Some("it does not begin with the person".to_owned());
    }
    for message in &request.messages {
        let answered: Vec<String> = message
            .blocks
            .iter()
            .filter_map(|block| match block {
                llm::Block::Result { id, .. } => Some(id.clone()),
                _ => None,
            })
            .collect();
        if answered != open {
            return Some(format!("{open:?} were answered by {answered:?}"));
        }
        open = message
            .blocks
            .iter()
            .filter_map(|block| match block {
                llm::Block::Call { id, .. } => Some(id.clone()),
                _ => None,
            })
            .collect();
    }
    None
}

#[tokio::test]
async fn whichever_line_is_damaged_the_next_request_is_a_valid_conversation() {
    let mut world = World::new(vec![
        calls(vec![
            call("a", "look", json!({"id": "x", "text": "found x"})),
            call("b", "look", json!({"id": "y", "text": "found y"})),
        ]),
        calls(vec![call("c", "look", json!({"id": "z"}))]),
        says("done"),
    ]);
    let run = world.run("go").await;
    let session = run.handle.session;
    drop(run.close().await);
    let path = world.home.rollout_path(session);
    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    world.resume = Some(session);
    for at in 0..lines.len() {
        let damaged: String = lines
            .iter()
            .enumerate()
            .map(|(index, line)| if index == at { "{\"v\":1,\n" } else { line })
            .collect();
        std::fs::write(&path, damaged).unwrap();
        world.tell(says("then"));
        let request = world.request_count();
        let mut run = world.open();
        assert_eq!(
            run.turn("and then?").await,
            cox_protocol::StopReason::EndTurn
        );
        drop(run.close().await);
        let request = world.request(request);
        assert_eq!(
            complaint(&request),
            None,
            "without {}: {:#?}",
            lines[at],
            request.messages
        );
        // What a result said is kept even when its call is lost.
        let is_results = lines[at].contains("tool_results");
        let kept = format!("{:?}", request.messages).contains("found x");
        assert!(kept || is_results, "without {}", lines[at]);
    }
}

#[tokio::test]
async fn room_is_made_at_the_same_moment_after_a_resume() {
    let big = |id: &str| {
        calls(vec![call(
            id,
            "look",
            json!({"id": id, "text": "some line of output\n", "times": 150}),
        )])
    };
    let more = "and then? ".repeat(400);
    let answers = || vec![big("a"), big("b"), says("first")];
    let world = || {
        let mut world = World::new(answers());
        world.limits.visible_bytes = 100_000;
        world.limits.head_lines = 1_000;
        world.limits.keep_turns = 0;
        // The provider counts far more than we estimate, so only what was learned makes room, and only with the second prompt.
        world.model_mut().window = 10_000;
        world.model_mut().usage = llm::Usage {
            input: 7_000,
            ..llm::Usage::default()
        };
        world
    };
    let mut resumed = world();
    let run = resumed.run("go").await;
    resumed.resume = Some(run.handle.session);
    drop(run.close().await);
    resumed.tell(says("then"));
    resumed.run(&more).await;

    let whole = world();
    whole.tell(says("then"));
    let mut run = whole.open();
    run.turn("go").await;
    run.turn(&more).await;
    // The pointers name entries of the archive, whose ids differ.
    let shape = |world: &World| -> Vec<usize> {
        let request = world.request(3);
        let blocks = request.messages.iter().flat_map(|message| &message.blocks);
        blocks.map(|block| format!("{block:?}").len()).collect()
    };
    assert_eq!(shape(&resumed), shape(&whole));
    assert!(
        format!("{:?}", whole.request(3)).contains("left out"),
        "no room was made"
    );
}
