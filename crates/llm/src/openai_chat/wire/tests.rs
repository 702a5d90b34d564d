//! Request bodies of the Chat Completions wire.

use super::*;
use crate::{OpaqueBlock, SystemPart, ToolDef};

fn message(role: Role, blocks: Vec<Block>) -> Message {
    Message {
        role,
        blocks,
        cache_breakpoint: true,
    }
}

fn sent(messages: Vec<Message>) -> Value {
    let request = Request {
        messages,
        ..Request::default()
    };
    let body: Value = serde_json::from_str(&body("m", &request, Dialect::Other)).unwrap();
    body["messages"].clone()
}

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
        messages: vec![message(Role::User, vec![Block::Text("hi".into())])],
        max_output_tokens: 5,
        effort: Some(Effort::High),
        cache_key: Some("k".into()),
    };
    assert_eq!(
        body("m", &request, Dialect::Other),
        concat!(
            r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"reasoning_effort":"high","#,
            r#""tools":[{"type":"function","function":{"name":"t","description":"d","parameters":{"z":1,"a":2}}}],"#,
            r#""messages":[{"role":"system","content":"a\n\nb"},{"role":"user","content":"hi"}]}"#
        )
    );
    let own = body("m", &request, Dialect::of("api.openai.com"));
    assert!(
        own.contains(
            r#""max_completion_tokens":5,"reasoning_effort":"high","prompt_cache_key":"k""#
        ),
        "{own}"
    );
}

#[test]
fn results_follow_the_calls_directly_and_their_images_come_after_all_of_them() {
    let image = || Image {
        media_type: "image/png".into(),
        base64: "aGk=".into(),
    };
    let result = |id: &str, text: &str, images| Block::Result {
        id: id.into(),
        text: text.into(),
        is_error: false,
        images,
    };
    let blocks = vec![
        result("c1", "", vec![image()]),
        Block::Text("and now?".into()),
        result("c2", "", vec![]),
    ];
    let url = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,aGk=" } });
    assert_eq!(
        sent(vec![message(Role::User, blocks)]),
        json!([
            { "role": "tool", "tool_call_id": "c1", "content": "(see the image)" },
            { "role": "tool", "tool_call_id": "c2", "content": "(no output)" },
            { "role": "user", "content": [
                { "type": "text", "text": "Images from the result of call c1:" }, url,
                { "type": "text", "text": "and now?" }] }])
    );
}

#[test]
fn what_a_model_wants_back_stands_where_it_came_from() {
    let opaque = OpaqueBlock {
        wire: Wire::Chat,
        model: "m".into(),
        json: json!({ "message": { "reasoning_content": "hm" }, "calls": { "c1": { "extra_content": { "s": 1 } } } })
            .to_string(),
    };
    let call = |id: &str| Block::Call {
        id: id.into(),
        name: "t".into(),
        input: String::new(),
    };
    let blocks = vec![Block::Opaque(opaque), call("c1"), call("c2")];
    let function = json!({ "name": "t", "arguments": "{}" });
    assert_eq!(
        sent(vec![message(Role::Assistant, blocks)]),
        json!([{ "role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
            { "id": "c1", "type": "function", "function": function, "extra_content": { "s": 1 } },
            { "id": "c2", "type": "function", "function": function }] }])
    );
}

#[test]
fn an_answer_of_which_nothing_is_left_is_not_sent() {
    let opaque = OpaqueBlock {
        wire: Wire::Messages,
        model: "m".into(),
        json: "{}".into(),
    };
    let user = |text: &str| message(Role::User, vec![Block::Text(text.into())]);
    assert_eq!(
        sent(vec![
            user("a"),
            message(Role::Assistant, vec![Block::Opaque(opaque)]),
            message(Role::Assistant, vec![]),
            user("b"),
        ]),
        json!([{ "role": "user", "content": "a" }, { "role": "user", "content": "b" }])
    );
}
