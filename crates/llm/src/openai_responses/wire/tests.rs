//! Request bodies of the Responses wire.

use super::*;
use crate::{SystemPart, ToolDef};

#[test]
fn the_whole_body_is_in_a_stable_order() {
    let system = |text: &str| SystemPart {
        text: text.into(),
        cache_breakpoint: true,
    };
    let request = Request {
        system: vec![system("a"), system("b")],
        tools: vec![ToolDef {
            name: "t".into(),
            description: "d".into(),
            input_schema: json!({ "z": 1, "a": 2 }),
        }],
        messages: vec![Message {
            role: Role::User,
            blocks: vec![Block::Text("hi".into())],
            cache_breakpoint: true,
        }],
        max_output_tokens: 5,
        effort: Some(Effort::Low),
        cache_key: Some("k".into()),
    };
    assert_eq!(
        body("gpt-5", &request),
        concat!(
            r#"{"model":"gpt-5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"#,
            r#""reasoning":{"effort":"low","summary":"auto"},"prompt_cache_key":"k","max_output_tokens":5,"#,
            r#""tools":[{"type":"function","name":"t","description":"d","parameters":{"z":1,"a":2},"strict":false}],"#,
            r#""instructions":"a\n\nb","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#
        )
    );
    for plain in ["gpt-4.1-mini", "gpt-5-chat-latest"] {
        let body = body(plain, &request);
        assert!(!body.contains("reasoning"), "{body}");
    }
}

#[test]
fn texts_between_calls_and_results_keep_their_place() {
    let call = |id: &str| Block::Call {
        id: id.into(),
        name: "t".into(),
        input: "{}".into(),
    };
    let result = |id: &str| Block::Result {
        id: id.into(),
        text: "r".into(),
        is_error: false,
        images: vec![],
    };
    let text = |text: &str| Block::Text(text.into());
    let message = |role, blocks| Message {
        role,
        blocks,
        cache_breakpoint: false,
    };
    let request = Request {
        messages: vec![
            message(
                Role::Assistant,
                vec![text("a"), text("b"), call("1"), text("c")],
            ),
            message(Role::User, vec![result("1"), text("d")]),
        ],
        ..Request::default()
    };
    let sent: serde_json::Value = serde_json::from_str(&body("m", &request)).unwrap();
    let said = |role: &str, kind: &str, texts: &[&str]| {
        let content: Vec<_> = texts
            .iter()
            .map(|text| json!({ "type": kind, "text": text }))
            .collect();
        json!({ "type": "message", "role": role, "content": content })
    };
    assert_eq!(
        sent["input"],
        json!([
            said("assistant", "output_text", &["a", "b"]),
            { "type": "function_call", "call_id": "1", "name": "t", "arguments": "{}" },
            said("assistant", "output_text", &["c"]),
            { "type": "function_call_output", "call_id": "1", "output": "r" },
            said("user", "input_text", &["d"])])
    );
}

#[test]
fn a_text_goes_back_with_the_phase_it_had() {
    let phase = |phase: &str| {
        Block::Opaque(crate::OpaqueBlock {
            wire: Wire::Responses,
            model: "m".into(),
            json: phase_block(phase),
        })
    };
    let text = |text: &str| Block::Text(text.into());
    let blocks = vec![
        phase("commentary"),
        text("a"),
        phase("final_answer"),
        text("b"),
    ];
    let message = Message {
        role: Role::Assistant,
        blocks,
        cache_breakpoint: false,
    };
    let request = Request {
        messages: vec![message],
        ..Request::default()
    };
    let sent: serde_json::Value = serde_json::from_str(&body("m", &request)).unwrap();
    let said = |text: &str, phase: &str| {
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }],
            "phase": phase })
    };
    assert_eq!(
        sent["input"],
        json!([said("a", "commentary"), said("b", "final_answer")])
    );
}
