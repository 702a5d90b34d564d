//! Recorded Chat Completions streams, the odd ones above all.

use super::*;
use crate::answer::tests::replay;

fn run(chunks: &[&str], end: End) -> Result<(String, Reply), Fault> {
    let stream: String = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    replay(Box::new(Machine::new("m", 7)), &stream, end)
}

fn call(id: &str, name: &str, input: &str) -> Block {
    Block::Call {
        id: id.into(),
        name: name.into(),
        input: input.into(),
    }
}

fn opaque(json: &str) -> Block {
    Block::Opaque(OpaqueBlock {
        wire: Wire::Chat,
        model: "m".into(),
        json: json.into(),
    })
}

/// Checks what the deltas of one choice become. The server ends with `finish` and no `[DONE]`.
#[track_caller]
fn check(deltas: &[&str], finish: &str, blocks: &[Block], stop: Stop) {
    let mut chunks: Vec<_> = deltas
        .iter()
        .map(|delta| {
            format!(
                r#"{{"id":"r","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#
            )
        })
        .collect();
    chunks.push(format!(
        r#"{{"id":"r","choices":[{{"index":0,"delta":{{}},"finish_reason":"{finish}"}}]}}"#
    ));
    let chunks: Vec<_> = chunks.iter().map(String::as_str).collect();
    let (_, reply) = run(&chunks, End::Complete).unwrap();
    assert_eq!((reply.blocks.as_slice(), reply.stop), (blocks, stop));
}

#[test]
fn calls_come_together_by_index() {
    check(
        &[
            r#"{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\":"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"list","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#,
        ],
        "tool_calls",
        &[call("a", "read", r#"{"p":1}"#), call("b", "list", "{}")],
        Stop::ToolUse,
    );
}

#[test]
fn whole_calls_without_an_index_stay_apart() {
    check(
        &[
            r#"{"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}},{"id":"b","function":{"name":"read","arguments":"{\"p\":2}"}}]}"#,
        ],
        "stop",
        &[
            call("a", "read", r#"{"p":1}"#),
            call("b", "read", r#"{"p":2}"#),
        ],
        Stop::ToolUse,
    );
}

#[test]
fn calls_that_all_have_index_zero_stay_apart() {
    check(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"read","arguments":"{\"p\":2}"}}]}"#,
        ],
        "tool_calls",
        &[
            call("a", "read", r#"{"p":1}"#),
            call("b", "read", r#"{"p":2}"#),
        ],
        Stop::ToolUse,
    );
}

#[test]
fn repeated_and_empty_names_and_ids_add_nothing() {
    check(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":"}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":null}}]}"#,
        ],
        "tool_calls",
        &[call("a", "read", "{}")],
        Stop::ToolUse,
    );
}

#[test]
fn a_call_without_id_and_index_gets_an_id() {
    check(
        &[
            r#"{"tool_calls":[{"function":{"name":"read","arguments":"{\"p\""}}]}"#,
            r#"{"tool_calls":[{"function":{"arguments":":1}"}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"list","arguments":{"q":2}}}]}"#,
        ],
        "tool_calls",
        &[
            call("call_0000000000000007_0", "read", r#"{"p":1}"#),
            call("call_0000000000000007_1", "list", r#"{"q":2}"#),
        ],
        Stop::ToolUse,
    );
}

#[test]
fn thinking_goes_back_under_the_name_it_came_with() {
    check(
        &[
            r#"{"reasoning_content":"I "}"#,
            r#"{"reasoning_content":"see"}"#,
            r#"{"content":"a"}"#,
        ],
        "stop",
        &[
            opaque(r#"{"message":{"reasoning_content":"I see"},"calls":{}}"#),
            Block::Text("a".into()),
        ],
        Stop::EndTurn,
    );
    check(
        &[
            r#"{"reasoning":"x","reasoning_details":[{"type":"reasoning.text","text":"I ","index":0,"signature":null}]}"#,
            r#"{"reasoning_details":[{"type":"reasoning.text","text":"see","index":0,"signature":"sig"}]}"#,
            r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"zz","index":1}]}"#,
            r#"{"content":"a"}"#,
        ],
        "stop",
        &[
            opaque(concat!(
                r#"{"message":{"reasoning":"x","reasoning_details":[{"type":"reasoning.text","text":"I see","index":0,"#,
                r#""signature":"sig"},{"type":"reasoning.encrypted","data":"zz","index":1}]},"calls":{}}"#
            )),
            Block::Text("a".into()),
        ],
        Stop::EndTurn,
    );
}

#[test]
fn a_signature_on_a_call_goes_back_on_that_call() {
    check(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"read","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
        &[
            opaque(
                r#"{"message":{},"calls":{"a":{"extra_content":{"google":{"thought_signature":"s"}}}}}"#,
            ),
            call("a", "read", "{}"),
        ],
        Stop::ToolUse,
    );
}

#[test]
fn every_finish_reason_has_a_meaning() {
    let text = [Block::Text("a".into())];
    let deltas = [r#"{"content":[{"type":"text","text":"a"}]}"#];
    check(&deltas, "stop", &text, Stop::EndTurn);
    check(&deltas, "tool_calls", &text, Stop::EndTurn);
    check(&deltas, "eos", &text, Stop::EndTurn);
    check(&deltas, "length", &text, Stop::MaxTokens);
    let filtered = "the provider's content filter ended the answer".to_owned();
    check(&deltas, "content_filter", &text, Stop::Refusal(filtered));
    check(
        &[r#"{"refusal":"I "}"#, r#"{"refusal":"won't"}"#],
        "stop",
        &[],
        Stop::Refusal("I won't".into()),
    );
}

#[test]
fn usage_may_come_late_in_every_chunk_or_never() {
    #[track_caller]
    fn check(chunks: &[&str], expect: Usage) {
        let (_, reply) = run(chunks, End::Complete).unwrap();
        assert_eq!(reply.usage, expect);
    }
    let stop = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    check(&[stop, "[DONE]"], Usage::default());
    check(
        &[
            stop,
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60}}}"#,
            "[DONE]",
        ],
        Usage {
            input: 40,
            output: 5,
            cache_read: 60,
            cache_write: 0,
        },
    );
    check(
        &[
            r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":4}}"#,
        ],
        Usage {
            input: 5,
            output: 2,
            cache_read: 4,
            cache_write: 0,
        },
    );
    check(
        &[
            stop,
            r#"{"choices":null,"usage":{"prompt_tokens":3,"prompt_tokens_details":{"cached_tokens":60}}}"#,
        ],
        Usage {
            input: 0,
            output: 0,
            cache_read: 60,
            cache_write: 0,
        },
    );
}

#[test]
fn an_error_inside_the_stream_is_found_in_any_shape() {
    #[track_caller]
    fn check(chunk: &str, code: &str, message: &str) {
        let Err(Fault::Server(error)) = run(&[chunk], End::Complete) else {
            panic!("{chunk}")
        };
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            (code, message)
        );
    }
    check(r#"{"error":{"message":"busy","code":503}}"#, "503", "busy");
    check(r#"{"error":"busy"}"#, "", "busy");
    check(
        r#"{"id":"x","choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":"server_error","message":"gone","metadata":{"raw":"upstream"}}}"#,
        "server_error",
        "gone: upstream",
    );
    assert!(matches!(
        run(&["{\"cut"], End::Complete),
        Err(Fault::Malformed(_))
    ));
    assert!(matches!(
        run(&["[1]"], End::Complete),
        Err(Fault::Malformed(_))
    ));
}

#[test]
fn odd_kinds_of_what_only_describes_an_answer_do_not_lose_it() {
    let chunk = r#"{"id":5,"model":7,"choices":[{"delta":{"content":"a","reasoning":{},"tool_calls":[{"index":"0","id":7,"function":{"name":"n","arguments":{"a":1}}}]},"finish_reason":"tool_calls"}]}"#;
    let (_, reply) = run(&["null", chunk], End::Complete).unwrap();
    assert_eq!(
        reply.blocks,
        [Block::Text("a".into()), call("7", "n", r#"{"a":1}"#)]
    );
}
