//! Whole answers: text, calls, thinking, tokens, and what is sent with the next request.

use llm::{Block, Image, Message, Reply, Role, Stop, Usage, Wire};
use serde_json::{Value, json};
use testkit::{Answer, FakeModel, fake_model::Tokens};

use crate::run::{WIRES, ask, call, config, once, provider, request, user};

/// Checks what one answer becomes, and that cutting it into single bytes changes nothing.
async fn check(answer: Answer, blocks: &[Block], stop: Stop, shown: &str) {
    for wire in WIRES {
        for answer in [answer.clone(), answer.clone().one_byte_chunks()] {
            let (_server, reply, seen) = once(wire, [answer], |_| {}).await;
            let reply = reply.unwrap();
            let expect = Reply {
                blocks: blocks.to_vec(),
                stop: stop.clone(),
                usage: Usage {
                    input: 10,
                    output: 5,
                    cache_read: 0,
                    cache_write: 0,
                },
                model: "fake-model".into(),
                request_id: reply.request_id.clone(),
            };
            assert_eq!((reply, seen.shown.as_str()), (expect, shown), "{wire:?}");
        }
    }
}

#[tokio::test]
async fn text_arrives() {
    let text = "grüße 🦀, \"quoted\"\n";
    check(
        Answer::text(text),
        &[Block::Text(text.into())],
        Stop::EndTurn,
        text,
    )
    .await;
}

#[tokio::test]
async fn a_call_keeps_its_json_as_it_was_written() {
    let input = r#"{"b": 1,  "a":2.50}"#;
    let blocks = [Block::Text("so".into()), call("c1", "add", input)];
    check(
        Answer::text("so").and_call("c1", "add", input),
        &blocks,
        Stop::ToolUse,
        "so",
    )
    .await;
}

#[tokio::test]
async fn two_parallel_calls_stay_apart() {
    let answer = Answer::call("c1", "add", r#"{"a":1}"#).and_call("c2", "add", r#"{"a":2}"#);
    let blocks = [
        call("c1", "add", r#"{"a":1}"#),
        call("c2", "add", r#"{"a":2}"#),
    ];
    check(answer, &blocks, Stop::ToolUse, "").await;
}

#[tokio::test]
async fn a_call_with_invalid_json_is_kept_and_can_be_sent_back() {
    let blocks = [call("c1", "add", r#"{"a": "#)];
    check(
        Answer::call("c1", "add", r#"{"a": "#),
        &blocks,
        Stop::ToolUse,
        "",
    )
    .await;
    for wire in WIRES {
        let mut request = request();
        request.messages.push(Message {
            role: Role::Assistant,
            blocks: blocks.to_vec(),
            cache_breakpoint: false,
        });
        let json = llm::request_json(wire, "fake-model", &request);
        assert!(serde_json::from_str::<Value>(&json).is_ok(), "{wire:?}");
        assert!(json.contains("_invalid_json"), "{wire:?}: {json}");
    }
}

#[tokio::test]
async fn the_cap_on_the_answer_is_reported_and_a_cut_call_left_out() {
    for (wire, reason) in WIRES
        .into_iter()
        .zip(["max_tokens", "max_output_tokens", "length"])
    {
        let answer = Answer::text("so far")
            .and_call("c1", "add", r#"{"a":"#)
            .stop(reason);
        let (_server, reply, _) = once(wire, [answer], |_| {}).await;
        let reply = reply.unwrap();
        assert_eq!(
            (reply.blocks, reply.stop),
            (vec![Block::Text("so far".into())], Stop::MaxTokens),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn cached_tokens_are_counted_apart() {
    let tokens = Tokens {
        input: 7,
        output: 3,
        cache_read: 900,
        cache_write: 40,
    };
    for wire in WIRES {
        let (_server, reply, _) = once(wire, [Answer::text("a").tokens(tokens)], |_| {}).await;
        let cache_write = if wire == Wire::Messages { 40 } else { 0 };
        let expect = Usage {
            input: 7,
            output: 3,
            cache_read: 900,
            cache_write,
        };
        assert_eq!(reply.unwrap().usage, expect, "{wire:?}");
    }
}

/// Sends a first request, its answer and a result, and returns the second request's messages or input.
async fn second_request(wire: Wire, answer: Answer) -> Value {
    let server = FakeModel::start([answer, Answer::text("done")]);
    let provider = provider(config(wire, server.url()));
    let mut request = request();
    let (reply, _) = ask(provider.as_ref(), &request).await;
    let blocks = reply.unwrap().blocks;
    request.messages.push(Message {
        role: Role::Assistant,
        blocks,
        cache_breakpoint: false,
    });
    request.messages.push(user(vec![Block::Result {
        id: "c1".into(),
        text: "3".into(),
        is_error: true,
        images: vec![Image {
            media_type: "image/png".into(),
            base64: "aGk=".into(),
        }],
    }]));
    ask(provider.as_ref(), &request).await.0.unwrap();
    let requests = server.requests();
    let body = |index: usize| requests[index].body.clone();
    let key = if wire == Wire::Responses {
        "input"
    } else {
        "messages"
    };
    for stable in ["tools", "system", "instructions", "model"] {
        assert_eq!(body(0)[stable], body(1)[stable], "{wire:?} {stable}");
    }
    body(1)[key].clone()
}

#[tokio::test]
async fn thinking_calls_and_results_go_back_as_each_wire_wants_them() {
    let answer = || {
        Answer::default()
            .and_thinking("hmm", "sig")
            .and_text("I add")
            .and_call("c1", "add", r#"{"a":1}"#)
    };
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(
        second_request(Wire::Messages, answer()).await,
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "hi", "cache_control": mark }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hmm", "signature": "sig" },
                { "type": "text", "text": "I add" },
                { "type": "tool_use", "id": "c1", "name": "add", "input": { "a": 1 } }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c1", "content": [
                { "type": "text", "text": "3" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } },
            ], "is_error": true, "cache_control": mark }] }])
    );
    assert_eq!(
        second_request(Wire::Responses, answer()).await,
        json!([
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hi" }] },
            { "type": "reasoning", "id": "rs_0", "encrypted_content": "sig",
                "summary": [{ "type": "summary_text", "text": "hmm" }] },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I add" }] },
            { "type": "function_call", "call_id": "c1", "name": "add", "arguments": "{\"a\":1}" },
            { "type": "function_call_output", "call_id": "c1", "output": [
                { "type": "input_text", "text": "3" },
                { "type": "input_image", "image_url": "data:image/png;base64,aGk=" }] }])
    );
    assert_eq!(
        second_request(Wire::Chat, answer()).await,
        json!([
            { "role": "system", "content": "be brief" },
            { "role": "user", "content": "hi" },
            { "role": "assistant", "content": "I add", "reasoning_content": "hmm", "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1}" } }] },
            { "role": "tool", "tool_call_id": "c1", "content": "3" },
            { "role": "user", "content": [
                { "type": "text", "text": "Images from the result of call c1:" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,aGk=" } }] }])
    );
}

#[tokio::test]
async fn an_opaque_block_goes_only_to_its_wire_and_model() {
    let answer = || Answer::default().and_thinking("hmm", "sig").and_text("a");
    for wire in WIRES {
        let (_server, reply, seen) = once(wire, [answer()], |_| {}).await;
        assert_eq!(seen.shown, "<h><mm>a", "{wire:?}");
        let mut request = request();
        let blocks = reply.unwrap().blocks;
        request.messages.push(Message {
            role: Role::Assistant,
            blocks,
            cache_breakpoint: false,
        });
        for other in WIRES {
            for model in ["fake-model", "other-model"] {
                let json = llm::request_json(other, model, &request);
                let is_own = other == wire && model == "fake-model";
                assert_eq!(
                    json.contains("hmm"),
                    is_own,
                    "{wire:?} to {other:?} {model}: {json}"
                );
            }
        }
    }
}

#[tokio::test]
async fn each_wire_has_its_address_its_key_header_and_its_stable_fields() {
    let paths = ["/v1/messages", "/responses", "/chat/completions"];
    for (wire, path) in WIRES.into_iter().zip(paths) {
        let (server, reply, _) = once(wire, [Answer::text("a")], |config| {
            config.base_url.push('/');
            config.headers = vec![("X-Team".into(), "blue".into())];
        })
        .await;
        reply.unwrap();
        let sent = &server.requests()[0];
        assert_eq!((sent.method.as_str(), sent.path.as_str()), ("POST", path));
        let (name, value) = match wire {
            Wire::Messages => ("x-api-key", "sk-secret-0123456789"),
            _ => ("authorization", "Bearer sk-secret-0123456789"),
        };
        assert_eq!(sent.header(name), Some(value), "{wire:?}");
        assert_eq!(sent.header("x-team"), Some("blue"), "{wire:?}");
        let version = (wire == Wire::Messages).then_some("2023-06-01");
        assert_eq!(sent.header("anthropic-version"), version, "{wire:?}");
        assert_eq!(
            sent.text,
            llm::request_json(wire, "fake-model", &request()),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn a_provider_without_a_key_sends_no_key_header() {
    for wire in WIRES {
        let (server, reply, _) = once(wire, [Answer::text("a")], |config| {
            config.api_key = None;
            config.api_key_env = None;
        })
        .await;
        reply.unwrap();
        let sent = &server.requests()[0];
        assert_eq!(
            (sent.header("authorization"), sent.header("x-api-key")),
            (None, None)
        );
    }
}

#[tokio::test]
async fn a_provider_serves_the_next_request_too() {
    for wire in WIRES {
        let server = FakeModel::start([Answer::text("a"), Answer::text("b")]);
        let provider = provider(config(wire, server.url()));
        for expect in ["a", "b"] {
            let (reply, _) = ask(provider.as_ref(), &request()).await;
            assert_eq!(
                reply.unwrap().blocks,
                [Block::Text(expect.into())],
                "{wire:?}"
            );
        }
    }
}
