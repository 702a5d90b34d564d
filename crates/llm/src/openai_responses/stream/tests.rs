//! Recorded Responses streams.

use serde_json::json;

use super::*;
use crate::answer::tests::replay;

fn run(events: &[Value], end: End) -> Result<(String, Reply), Fault> {
    let stream: String = events
        .iter()
        .map(|event| {
            format!(
                "event: {}\ndata: {event}\n\n",
                event["type"].as_str().unwrap()
            )
        })
        .collect();
    replay(Box::new(Machine::new("gpt-x")), &stream, end)
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
}

fn done(index: u64, item: &Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": index, "item": item })
}

fn response(kind: &str, fields: &Value) -> Value {
    let mut response = json!({ "id": "resp_1", "model": "gpt-x-2026", "output": [], "usage": {
        "input_tokens": 100, "input_tokens_details": { "cached_tokens": 64 }, "output_tokens": 30,
        "output_tokens_details": { "reasoning_tokens": 20 } } });
    for (name, value) in fields.as_object().unwrap() {
        response[name] = value.clone();
    }
    json!({ "type": kind, "response": response })
}

#[test]
fn reasoning_stays_whole_before_its_call() {
    let reasoning = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA==",
        "summary": [{ "type": "summary_text", "text": "ab" }], "new_field": [1.50] });
    let call = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read",
        "arguments": "{\"p\": 1}", "status": "completed" });
    let events = [
        json!({ "type": "response.created", "response": { "id": "resp_1", "model": "gpt-x-2026" } }),
        json!({ "type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0 }),
        json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "a" }),
        json!({ "type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 1 }),
        json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 1, "delta": "b" }),
        done(0, &reasoning),
        json!({ "type": "response.output_text.delta", "output_index": 1, "delta": "Look" }),
        json!({ "type": "response.output_text.delta", "output_index": 1, "delta": "ing" }),
        done(1, &message("Looking")),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"p\"" }),
        json!({ "type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"p\": 1}" }),
        done(2, &call),
        response(
            "response.completed",
            &json!({ "output": [reasoning, message("Looking"), call] }),
        ),
    ];
    let (shown, reply) = run(&events, End::Complete).unwrap();
    assert_eq!(shown, "<a><\n\n><b>Looking");
    assert_eq!(
        reply,
        Reply {
            blocks: vec![
                Block::Opaque(OpaqueBlock {
                    wire: Wire::Responses,
                    model: "gpt-x".into(),
                    json: reasoning.to_string(),
                }),
                Block::Text("Looking".into()),
                Block::Call {
                    id: "call_1".into(),
                    name: "read".into(),
                    input: r#"{"p": 1}"#.into()
                },
            ],
            stop: Stop::ToolUse,
            usage: Usage {
                input: 36,
                output: 30,
                cache_read: 64,
                cache_write: 0
            },
            model: "gpt-x-2026".into(),
            request_id: Some("resp_1".into()),
        }
    );
}

#[test]
fn items_without_an_event_of_their_own_are_taken_from_the_end() {
    let events = [response(
        "response.completed",
        &json!({ "output": [message("whole")] }),
    )];
    let (shown, reply) = run(&events, End::Complete).unwrap();
    assert_eq!(
        (shown.as_str(), reply.blocks),
        ("whole", vec![Block::Text("whole".into())])
    );
}

#[test]
fn an_incomplete_answer_says_why() {
    #[track_caller]
    fn check(reason: &str, expect: Stop) {
        let end = response(
            "response.incomplete",
            &json!({ "incomplete_details": { "reason": reason } }),
        );
        let (_, reply) = run(&[done(0, &message("a")), end], End::Complete).unwrap();
        assert_eq!(
            (reply.blocks, reply.stop),
            (vec![Block::Text("a".into())], expect)
        );
    }
    check("max_output_tokens", Stop::MaxTokens);
    let filtered = "the provider's content filter ended the answer".to_owned();
    check("content_filter", Stop::Refusal(filtered));
}

#[test]
fn a_refusal_is_no_answer() {
    let item =
        json!({ "type": "message", "content": [{ "type": "refusal", "refusal": "I won't" }] });
    let events = [
        json!({ "type": "response.refusal.delta", "output_index": 0, "delta": "I " }),
        json!({ "type": "response.refusal.delta", "output_index": 0, "delta": "won't" }),
        done(0, &item),
        response("response.completed", &json!({})),
    ];
    let (shown, reply) = run(&events, End::Complete).unwrap();
    assert_eq!(shown, "I won't");
    assert_eq!(
        (reply.blocks, reply.stop),
        (vec![], Stop::Refusal("I won't".into()))
    );
}

#[test]
fn a_failure_is_found_in_both_of_its_shapes() {
    #[track_caller]
    fn check(event: &Value, code: &str) {
        let Err(Fault::Server(error)) = run(std::slice::from_ref(event), End::Complete) else {
            panic!("{event}")
        };
        assert_eq!((error.code.as_str(), error.message.as_str()), (code, "no"));
    }
    check(
        &response(
            "response.failed",
            &json!({ "error": { "code": "server_error", "message": "no" } }),
        ),
        "server_error",
    );
    check(
        &json!({ "type": "error", "code": "rate_limit_exceeded", "message": "no", "param": null }),
        "rate_limit_exceeded",
    );
    check(
        &json!({ "type": "error", "error": { "type": "x", "code": "context_length_exceeded", "message": "no" } }),
        "context_length_exceeded",
    );
}

#[test]
fn a_broken_stream_keeps_whole_items_and_the_text_so_far() {
    let call = json!({ "type": "function_call", "call_id": "c", "name": "t", "arguments": "" });
    let events = [
        done(0, &call),
        json!({ "type": "response.output_text.delta", "output_index": 1, "delta": "half" }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"p\"" }),
    ];
    let (_, reply) = run(&events, End::Broken("cut".into())).unwrap();
    let call = Block::Call {
        id: "c".into(),
        name: "t".into(),
        input: "{}".into(),
    };
    assert_eq!(
        (reply.blocks, reply.stop),
        (
            vec![call, Block::Text("half".into())],
            Stop::Broken("cut".into())
        )
    );
}

#[test]
fn the_phase_of_a_text_stands_before_it() {
    let mut item = message("a");
    item["phase"] = "commentary".into();
    let (_, reply) = run(
        &[done(0, &item), response("response.completed", &json!({}))],
        End::Complete,
    )
    .unwrap();
    let phase = OpaqueBlock {
        wire: Wire::Responses,
        model: "gpt-x".into(),
        json: r#"{"phase":"commentary"}"#.into(),
    };
    assert_eq!(
        reply.blocks,
        [Block::Opaque(phase), Block::Text("a".into())]
    );
}
