//! The stable prefix: what was sent once is sent again to the byte.

use llm::{Message, Request, Wire};
use serde_json::json;

use crate::harness::{World, call, calls, says};

fn without_marks(request: &Request) -> (String, Vec<Message>) {
    let messages = request
        .messages
        .iter()
        .map(|message| Message {
            cache_breakpoint: false,
            ..message.clone()
        })
        .collect();
    (format!("{:?}{:?}", request.system, request.tools), messages)
}

#[tokio::test]
async fn every_request_begins_with_the_one_before_it() {
    let world = World::new(vec![
        calls(vec![call("a", "look", json!({"id": "x"}))]),
        says("first"),
        calls(vec![call("b", "change", json!({"id": "y", "path": "f"}))]),
        says("second"),
    ]);
    let mut run = world.open();
    run.turn("go").await;
    run.turn("go on").await;
    for index in 1..4 {
        let (prefix, messages) = without_marks(&world.request(index - 1));
        let (next_prefix, next_messages) = without_marks(&world.request(index));
        assert_eq!(prefix, next_prefix);
        assert_eq!(
            messages[..],
            next_messages[..messages.len()],
            "request {index}"
        );
    }
}

#[tokio::test]
async fn the_bytes_on_each_wire_share_their_start() {
    let world = World::new(vec![
        calls(vec![call("a", "look", json!({"id": "x"}))]),
        says("done"),
    ]);
    world.run("go").await;
    for wire in [Wire::Messages, Wire::Responses, Wire::Chat] {
        let body = |index: usize| -> serde_json::Value {
            serde_json::from_str(&llm::request_json(wire, "told-1", &world.request(index))).unwrap()
        };
        let (first, second) = (body(0), body(1));
        for part in ["system", "instructions", "tools"] {
            assert_eq!(first.get(part), second.get(part), "{wire:?} {part}");
        }
    }
}

#[tokio::test]
async fn the_cache_may_end_after_the_system_and_the_last_two_messages_of_the_person() {
    let world = World::new(vec![
        calls(vec![call("a", "look", json!({"id": "x"}))]),
        says("done"),
    ]);
    world.run("go").await;
    let request = world.request(1);
    let marks: Vec<bool> = request
        .messages
        .iter()
        .map(|message| message.cache_breakpoint)
        .collect();
    assert_eq!(marks, [true, false, true]);
    assert_eq!(
        request
            .system
            .iter()
            .filter(|part| part.cache_breakpoint)
            .count(),
        1
    );
}
