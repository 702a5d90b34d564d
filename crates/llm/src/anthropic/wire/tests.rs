//! Request bodies of the Messages wire.

use serde_json::Value;

use super::*;
use crate::ToolDef;

fn part(text: &str, cache_breakpoint: bool) -> SystemPart {
    SystemPart {
        text: text.into(),
        cache_breakpoint,
    }
}

fn user(text: &str, cache_breakpoint: bool) -> Message {
    Message {
        role: Role::User,
        blocks: vec![Block::Text(text.into())],
        cache_breakpoint,
    }
}

fn sent(request: &Request) -> Value {
    serde_json::from_str(&body("claude-sonnet-5", request)).unwrap()
}

/// Returns the texts that carry a mark.
fn marked(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("cache_control") {
                found.push(fields["text"].as_str().unwrap().to_owned());
            }
            fields.values().for_each(|value| marked(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| marked(value, found)),
        _ => {}
    }
}

#[test]
fn the_whole_body_is_in_a_stable_order() {
    let request = Request {
        system: vec![part("rules", true)],
        tools: vec![ToolDef {
            name: "t".into(),
            description: "d".into(),
            input_schema: json!({ "z": 1, "a": 2 }),
        }],
        messages: vec![user("hi", false)],
        max_output_tokens: 0,
        effort: Some(Effort::Medium),
        cache_key: Some("unused".into()),
    };
    assert_eq!(
        body("claude-sonnet-5", &request),
        concat!(
            r#"{"model":"claude-sonnet-5","max_tokens":8192,"stream":true,"#,
            r#""thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"medium"},"#,
            r#""tools":[{"name":"t","description":"d","input_schema":{"z":1,"a":2}}],"#,
            r#""system":[{"type":"text","text":"rules","cache_control":{"type":"ephemeral"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}"#
        )
    );
}

#[test]
fn an_effort_is_sent_only_to_models_that_take_one() {
    #[track_caller]
    fn check(model: &str, expect: bool) {
        let request = Request {
            effort: Some(Effort::High),
            ..Request::default()
        };
        assert_eq!(body(model, &request).contains("effort"), expect, "{model}");
        assert!(
            !body(model, &Request::default()).contains("thinking"),
            "{model}"
        );
    }
    check("claude-sonnet-5", true);
    check("claude-opus-5-20260724", true);
    check("claude-fable-5-1", true);
    check("claude-sonnet-4-6", true);
    check("claude-opus-4-7", true);
    check("claude-haiku-4-5", false);
    check("claude-sonnet-4-20250514", false);
    check("claude-opus-4-1", false);
    check("claude-3-7-sonnet-latest", false);
}

#[test]
fn never_more_than_four_breakpoints_and_the_newest_stay() {
    #[track_caller]
    fn check(system: usize, messages: usize, expect: &[&str]) {
        let request = Request {
            system: (0..system)
                .map(|index| part(&format!("s{index}"), true))
                .collect(),
            messages: (0..messages)
                .map(|index| user(&format!("m{index}"), true))
                .collect(),
            ..Request::default()
        };
        let mut found = Vec::new();
        marked(&sent(&request), &mut found);
        assert_eq!(found, expect);
    }
    check(2, 1, &["s0", "s1", "m0"]);
    check(2, 5, &["s0", "s1", "m3", "m4"]);
    check(5, 0, &["s1", "s2", "s3", "s4"]);
    check(5, 3, &["s2", "s3", "s4", "m2"]);
    check(0, 6, &["m2", "m3", "m4", "m5"]);
}

#[test]
fn a_mark_stands_on_the_last_block_that_takes_one() {
    let opaque = Block::Opaque(crate::OpaqueBlock {
        wire: Wire::Messages,
        model: "claude-sonnet-5".into(),
        json: r#"{"type":"thinking","thinking":"","signature":"s"}"#.into(),
    });
    let blocks = vec![Block::Text("a".into()), opaque];
    let message = Message {
        role: Role::Assistant,
        blocks,
        cache_breakpoint: true,
    };
    let request = Request {
        messages: vec![message],
        ..Request::default()
    };
    let content = &sent(&request)["messages"][0]["content"];
    assert_eq!(content[0]["cache_control"]["type"], "ephemeral");
    assert_eq!(
        content[1],
        json!({ "type": "thinking", "thinking": "", "signature": "s" })
    );
}

#[test]
fn what_the_wire_refuses_is_left_out() {
    let result = Block::Result {
        id: "c".into(),
        text: " \n".into(),
        is_error: true,
        images: vec![],
    };
    let request = Request {
        system: vec![part("", true), part("rules", false)],
        messages: vec![
            user("hi", false),
            Message {
                role: Role::Assistant,
                blocks: vec![Block::Text(" \n".into())],
                cache_breakpoint: true,
            },
            Message {
                role: Role::User,
                blocks: vec![result],
                cache_breakpoint: false,
            },
        ],
        ..Request::default()
    };
    let sent = sent(&request);
    assert_eq!(sent["system"], json!([{ "type": "text", "text": "rules" }]));
    assert_eq!(
        sent["messages"],
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "hi" }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c",
                "content": [{ "type": "text", "text": "(no output)" }], "is_error": true }] }])
    );
}

#[test]
fn the_prefix_of_a_longer_conversation_is_the_same_bytes() {
    let mut request = Request {
        system: vec![part("rules", true)],
        messages: vec![user("hi", false)],
        ..Request::default()
    };
    let first = body("claude-sonnet-5", &request);
    let input = r#"{"b": 1.0,  "a":"é\u00e9"}"#;
    let blocks = vec![Block::Call {
        id: "c".into(),
        name: "t".into(),
        input: input.into(),
    }];
    request.messages.push(Message {
        role: Role::Assistant,
        blocks,
        cache_breakpoint: false,
    });
    let second = body("claude-sonnet-5", &request);
    let prefix = first.strip_suffix("]}").unwrap();
    assert!(second.starts_with(prefix), "{second}");
    assert!(second.contains(input), "{second}");
}

#[test]
fn names_and_ids_that_no_wire_takes_are_written_in_another_way_on_every_wire() {
    let request = Request {
        messages: vec![
            user("a", false),
            Message {
                role: Role::Assistant,
                blocks: vec![Block::Call {
                    id: "functions.read:0".into(),
                    name: String::new(),
                    input: "{}".into(),
                }],
                cache_breakpoint: false,
            },
            Message {
                role: Role::User,
                blocks: vec![Block::Result {
                    id: "functions.read:0".into(),
                    text: "b".into(),
                    is_error: true,
                    images: Vec::new(),
                }],
                cache_breakpoint: false,
            },
        ],
        ..Request::default()
    };
    let body = |wire| -> Value {
        serde_json::from_str(&crate::request_json(wire, "m", &request)).unwrap()
    };
    let id = "functions_read_0-5b4c7fc9f36ea68e";
    let messages = body(Wire::Messages);
    let sent = |pointer: &str| messages.pointer(pointer).unwrap();
    assert_eq!(sent("/messages/1/content/0/name"), "unnamed");
    assert_eq!(sent("/messages/1/content/0/id"), id);
    assert_eq!(sent("/messages/2/content/0/tool_use_id"), id);
    let responses = body(Wire::Responses);
    let sent = |pointer: &str| responses.pointer(pointer).unwrap();
    assert_eq!(sent("/input/1/name"), "unnamed");
    assert_eq!(sent("/input/1/call_id"), id);
    assert_eq!(sent("/input/2/call_id"), id);
    // Some chat templates read the id, so it stays as it came.
    let chat = body(Wire::Chat);
    let sent = |pointer: &str| chat.pointer(pointer).unwrap();
    assert_eq!(sent("/messages/1/tool_calls/0/function/name"), "unnamed");
    assert_eq!(sent("/messages/1/tool_calls/0/id"), "functions.read:0");
}
