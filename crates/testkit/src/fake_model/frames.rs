//! The events of an answer on each wire, as the public documentation shows them.

use serde_json::{Value, json};

use super::answer::{Answer, Say};

/// Returns the events, each with its closing empty line.
pub(super) fn frames(path: &str, answer: &Answer) -> Vec<String> {
    let path = path.split('?').next().unwrap_or_default();
    if path.ends_with("/messages") {
        messages(answer)
    } else if path.ends_with("/responses") {
        responses(answer)
    } else if path.ends_with("/chat/completions") {
        chat(answer)
    } else {
        vec![format!(
            "data: {}\n\n",
            json!({ "error": { "message": format!("no wire at {path}") } })
        )]
    }
}

fn named(data: &Value) -> String {
    format!(
        "event: {}\ndata: {data}\n\n",
        data["type"].as_str().unwrap()
    )
}

/// Cuts a text in two, so that every reader has to join.
fn halves(text: &str) -> [&str; 2] {
    let middle = text
        .char_indices()
        .nth(text.chars().count() / 2)
        .map_or(0, |(index, _)| index);
    [&text[..middle], &text[middle..]]
}

fn has_call(answer: &Answer) -> bool {
    answer
        .blocks
        .iter()
        .any(|block| matches!(block, Say::Call { .. }))
}

fn messages(answer: &Answer) -> Vec<String> {
    let tokens = answer.tokens;
    let mut events = vec![
        json!({ "type": "message_start", "message": {
            "id": "msg_fake", "type": "message", "role": "assistant", "model": "fake-model", "content": [],
            "stop_reason": null, "stop_sequence": null,
            "usage": { "input_tokens": tokens.input, "output_tokens": 1,
                "cache_read_input_tokens": tokens.cache_read, "cache_creation_input_tokens": tokens.cache_write } } }),
        json!({ "type": "ping" }),
    ];
    for (index, block) in answer.blocks.iter().enumerate() {
        let (start, deltas) = match block {
            Say::Text(text) => (
                json!({ "type": "text", "text": "" }),
                halves(text)
                    .map(|half| json!({ "type": "text_delta", "text": half }))
                    .to_vec(),
            ),
            Say::Thinking { text, signature } => {
                let thinking = |half| json!({ "type": "thinking_delta", "thinking": half });
                let mut deltas = halves(text).map(thinking).to_vec();
                deltas.push(json!({ "type": "signature_delta", "signature": signature }));
                (
                    json!({ "type": "thinking", "thinking": "", "signature": "" }),
                    deltas,
                )
            }
            Say::Call { id, name, input } => (
                json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                halves(input)
                    .map(|half| json!({ "type": "input_json_delta", "partial_json": half }))
                    .to_vec(),
            ),
        };
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        for delta in deltas {
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let natural = if has_call(answer) {
        "tool_use"
    } else {
        "end_turn"
    };
    let stop = answer.stop.as_deref().unwrap_or(natural);
    events.push(
        json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null },
        "usage": { "output_tokens": tokens.output } }),
    );
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(named).collect()
}

fn responses(answer: &Answer) -> Vec<String> {
    let mut events = vec![json!({ "type": "response.created", "response": {
        "id": "resp_fake", "object": "response", "status": "in_progress", "model": "fake-model", "output": [] } })];
    let mut output = Vec::new();
    for (index, block) in answer.blocks.iter().enumerate() {
        let (begun, deltas, item) = match block {
            Say::Text(text) => {
                let item = |content: Value| {
                    json!({ "type": "message", "id": format!("msg_{index}"),
                    "role": "assistant", "status": "completed", "content": content })
                };
                let delta = |half| {
                    json!({ "type": "response.output_text.delta", "output_index": index,
                    "content_index": 0, "item_id": format!("msg_{index}"), "delta": half })
                };
                let part = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
                (
                    item(json!([])),
                    halves(text).map(delta).to_vec(),
                    item(part),
                )
            }
            Say::Thinking { text, signature } => {
                let item = |summary: Value| {
                    json!({ "type": "reasoning", "id": format!("rs_{index}"),
                    "encrypted_content": signature, "summary": summary })
                };
                let delta = |half| {
                    json!({ "type": "response.reasoning_summary_text.delta",
                    "output_index": index, "summary_index": 0, "item_id": format!("rs_{index}"), "delta": half })
                };
                let summary = json!([{ "type": "summary_text", "text": text }]);
                (
                    item(json!([])),
                    halves(text).map(delta).to_vec(),
                    item(summary),
                )
            }
            Say::Call { id, name, input } => {
                let item = |arguments: &str| {
                    json!({ "type": "function_call", "id": format!("fc_{index}"),
                    "call_id": id, "name": name, "arguments": arguments, "status": "completed" })
                };
                let delta = |half| {
                    json!({ "type": "response.function_call_arguments.delta",
                    "output_index": index, "item_id": format!("fc_{index}"), "delta": half })
                };
                (item(""), halves(input).map(delta).to_vec(), item(input))
            }
        };
        events.push(
            json!({ "type": "response.output_item.added", "output_index": index, "item": begun }),
        );
        events.extend(deltas);
        events.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
        );
        output.push(item);
    }
    let tokens = answer.tokens;
    let (kind, status, details) = match answer.stop.as_deref() {
        None | Some("completed") => ("response.completed", "completed", Value::Null),
        Some(reason) => (
            "response.incomplete",
            "incomplete",
            json!({ "reason": reason }),
        ),
    };
    events.push(json!({ "type": kind, "response": { "id": "resp_fake", "object": "response", "status": status,
        "incomplete_details": details, "model": "fake-model", "output": output, "usage": {
            "input_tokens": tokens.input + tokens.cache_read,
            "input_tokens_details": { "cached_tokens": tokens.cache_read },
            "output_tokens": tokens.output, "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": tokens.input + tokens.cache_read + tokens.output } } }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events.iter().map(named).collect()
}

fn chat(answer: &Answer) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        json!({ "id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 0, "model": "fake-model",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
    };
    let mut chunks = vec![chunk(
        json!({ "role": "assistant", "content": "" }),
        Value::Null,
    )];
    let mut calls = 0;
    for block in &answer.blocks {
        match block {
            Say::Text(text) => {
                chunks.extend(
                    halves(text).map(|half| chunk(json!({ "content": half }), Value::Null)),
                );
            }
            Say::Thinking { text, .. } => chunks.extend(
                halves(text).map(|half| chunk(json!({ "reasoning_content": half }), Value::Null)),
            ),
            Say::Call { id, name, input } => {
                let call = |fields: Value| chunk(json!({ "tool_calls": [fields] }), Value::Null);
                chunks.push(call(json!({ "index": calls, "id": id, "type": "function",
                    "function": { "name": name, "arguments": "" } })));
                chunks.extend(halves(input).map(|half| {
                    call(json!({ "index": calls, "function": { "arguments": half } }))
                }));
                calls += 1;
            }
        }
    }
    let natural = if has_call(answer) {
        "tool_calls"
    } else {
        "stop"
    };
    chunks.push(chunk(
        json!({}),
        answer.stop.as_deref().unwrap_or(natural).into(),
    ));
    let tokens = answer.tokens;
    let mut usage = chunk(json!({}), Value::Null);
    usage["choices"] = json!([]);
    usage["usage"] = json!({ "prompt_tokens": tokens.input + tokens.cache_read, "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.cache_read + tokens.output,
        "prompt_tokens_details": { "cached_tokens": tokens.cache_read } });
    chunks.push(usage);
    let mut frames: Vec<_> = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}
