//! Recorded Messages streams.

use super::*;
use crate::answer::tests::replay;

fn run(stream: &str, end: End) -> Result<(String, Reply), Fault> {
    replay(Box::new(Machine::new("claude-x")), stream, end)
}

const START: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x-20260101","content":[],"stop_reason":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":1}}}

event: ping
data: {"type": "ping"}

"#;

fn block(index: u64, start: &str, deltas: &[&str]) -> String {
    let mut text = format!(
        "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{start}}}\n\n"
    );
    for delta in deltas {
        text.push_str(&format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{delta}}}\n\n"
        ));
    }
    text + &format!(
        "event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":{index}}}\n\n"
    )
}

fn end(reason: &str) -> String {
    format!(
        "event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\",\"stop_sequence\":null}},\
         \"usage\":{{\"output_tokens\":9}}}}\n\nevent: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{}},\
         \"usage\":{{\"input_tokens\":14,\"output_tokens\":21}}}}\n\nevent: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
    )
}

fn opaque(json: &str) -> Block {
    Block::Opaque(OpaqueBlock {
        wire: Wire::Messages,
        model: "claude-x".into(),
        json: json.into(),
    })
}

#[test]
fn thinking_text_and_calls_become_blocks_in_order_and_the_last_usage_counts() {
    let stream = [
        START.to_owned(),
        block(
            0,
            r#"{"type":"thinking","thinking":"","signature":""}"#,
            &[
                r#"{"type":"thinking_delta","thinking":"I "}"#,
                r#"{"type":"thinking_delta","thinking":"see"}"#,
                r#"{"type":"signature_delta","signature":"Eq+/=="}"#,
            ],
        ),
        block(1, r#"{"type":"redacted_thinking","data":"ZZZ"}"#, &[]),
        block(
            2,
            r#"{"type":"text","text":""}"#,
            &[
                r#"{"type":"text_delta","text":"Look"}"#,
                r#"{"type":"text_delta","text":"ing"}"#,
            ],
        ),
        block(
            3,
            r#"{"type":"tool_use","id":"toolu_1","name":"read","input":{}}"#,
            &[
                r#"{"type":"input_json_delta","partial_json":""}"#,
                r#"{"type":"input_json_delta","partial_json":"{\"path\": \"a"}"#,
                r#"{"type":"input_json_delta","partial_json":".rs\"}"}"#,
            ],
        ),
        block(
            4,
            r#"{"type":"tool_use","id":"toolu_2","name":"list","input":{}}"#,
            &[],
        ),
        end("tool_use"),
    ]
    .concat();
    let (shown, reply) = run(&stream, End::Complete).unwrap();
    assert_eq!(shown, "<I ><see>Looking");
    assert_eq!(
        reply,
        Reply {
            blocks: vec![
                opaque(r#"{"type":"thinking","thinking":"I see","signature":"Eq+/=="}"#),
                opaque(r#"{"type":"redacted_thinking","data":"ZZZ"}"#),
                Block::Text("Looking".into()),
                Block::Call {
                    id: "toolu_1".into(),
                    name: "read".into(),
                    input: r#"{"path": "a.rs"}"#.into(),
                },
                Block::Call {
                    id: "toolu_2".into(),
                    name: "list".into(),
                    input: "{}".into()
                },
            ],
            stop: Stop::ToolUse,
            usage: Usage {
                input: 14,
                output: 21,
                cache_read: 2000,
                cache_write: 100
            },
            model: "claude-x-20260101".into(),
            request_id: Some("msg_1".into()),
        }
    );
}

#[test]
fn every_stop_reason_has_a_meaning() {
    #[track_caller]
    fn check(reason: &str, expect: Stop) {
        let text = block(0, r#"{"type":"text","text":"a"}"#, &[]);
        let (_, reply) = run(&[START, &text, &end(reason)].concat(), End::Complete).unwrap();
        assert_eq!(
            (reply.blocks, reply.stop),
            (vec![Block::Text("a".into())], expect)
        );
    }
    check("end_turn", Stop::EndTurn);
    check("stop_sequence", Stop::EndTurn);
    check("pause_turn", Stop::EndTurn);
    check("something_new", Stop::EndTurn);
    check("max_tokens", Stop::MaxTokens);
    check("model_context_window_exceeded", Stop::MaxTokens);
    check(
        "refusal",
        Stop::Refusal("the model declined to answer".into()),
    );
}

#[test]
fn a_broken_stream_keeps_whole_blocks_and_the_text_so_far() {
    let whole = block(
        0,
        r#"{"type":"tool_use","id":"t1","name":"read","input":{}}"#,
        &[],
    );
    let text = block(
        1,
        r#"{"type":"text","text":""}"#,
        &[r#"{"type":"text_delta","text":"half"}"#],
    );
    let cut = block(
        2,
        r#"{"type":"thinking","thinking":"x","signature":""}"#,
        &[],
    );
    let stop = "event: content_block_stop";
    let stream = [
        START,
        &whole,
        text.split(stop).next().unwrap(),
        cut.split(stop).next().unwrap(),
    ]
    .concat();
    let (_, reply) = run(&stream, End::Broken("cut".into())).unwrap();
    assert_eq!(
        (reply.blocks, reply.stop),
        (
            vec![
                Block::Call {
                    id: "t1".into(),
                    name: "read".into(),
                    input: "{}".into()
                },
                Block::Text("half".into())
            ],
            Stop::Broken("cut".into())
        )
    );
}

#[test]
fn an_error_event_names_its_class() {
    let error = r#"event: error
data: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}

"#;
    let fault = run(&[START, error].concat(), End::Complete).unwrap_err();
    let expect = ServerError {
        class: "overloaded_error".into(),
        message: "Overloaded".into(),
        ..ServerError::default()
    };
    assert_eq!(fault, Fault::Server(expect));
}

#[test]
fn events_and_deltas_of_a_later_version_are_skipped() {
    let stream = [
        START,
        "event: brand_new\ndata: {\"type\":\"brand_new\",\"delta\":{\"stop_reason\":null}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":9,\"delta\":{\"type\":\"new_delta\"}}\n\n",
        &block(0, r#"{"type":"text","text":""}"#, &[r#"{"type":"citations_delta","citation":{}}"#, r#"{"type":"text_delta","text":"a"}"#]),
        &end("end_turn"),
    ]
    .concat();
    let (shown, reply) = run(&stream, End::Complete).unwrap();
    assert_eq!(
        (shown.as_str(), reply.blocks),
        ("a", vec![Block::Text("a".into())])
    );
}

#[test]
fn thinking_that_the_cap_cut_before_its_signature_does_not_go_back() {
    let thinking = r#"{"type":"thinking","thinking":"","signature":""}"#;
    let half = r#"{"type":"thinking_delta","thinking":"hm"}"#;
    let blocks = |reason: &str| {
        let stream = format!("{}{}", block(0, thinking, &[half]), end(reason));
        run(&stream, End::Complete).unwrap().1.blocks
    };
    assert_eq!(blocks("max_tokens"), []);
    // Servers that sign nothing want it back all the same.
    assert_eq!(blocks("end_turn").len(), 1);
}
