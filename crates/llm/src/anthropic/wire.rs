//! Our request as a Messages body. See: platform.claude.com/docs, Messages API, prompt caching, adaptive thinking.

use serde_json::json;

use crate::{
    Block, Effort, Image, Message, Request, Role, SystemPart, Wire,
    json_text::{Object, arguments, array, text_of},
    names::{call_id, tool_name},
};

/// The version header the body is written for.
pub(crate) const VERSION: &str = "2023-06-01";

/// Most cache breakpoints of one request.
const MAX_BREAKPOINTS: usize = 4;

/// The cap when the request has none; the wire demands one.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// Writes the body. The parts that stay the same from turn to turn come first.
pub(crate) fn body(model: &str, request: &Request) -> String {
    let breakpoints = Breakpoints::of(request);
    let max_tokens = match request.max_output_tokens {
        0 => DEFAULT_MAX_TOKENS,
        cap => cap,
    };
    let mut object = Object::new()
        .field("model", model)
        .field("max_tokens", &max_tokens)
        .field("stream", &true);
    if let Some(effort) = request.effort.filter(|_| takes_effort(model)) {
        // Newer models leave the text of their thinking out unless they are asked for a summary.
        object = object
            .field(
                "thinking",
                &json!({ "type": "adaptive", "display": "summarized" }),
            )
            .field("output_config", &json!({ "effort": word(effort) }));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            Object::new()
                .field("name", &tool.name)
                .field("description", &tool.description)
                .field("input_schema", &tool.input_schema)
                .end()
        });
        object = object.raw("tools", &array(tools));
    }
    let system = request
        .system
        .iter()
        .enumerate()
        .filter(|(_, part)| !is_blank(&part.text));
    let system: Vec<_> = system
        .map(|(index, part)| text_block(&part.text, breakpoints.system.contains(&index)))
        .collect();
    if !system.is_empty() {
        object = object.raw("system", &array(system));
    }
    let messages = request
        .messages
        .iter()
        .enumerate()
        .filter_map(|(index, message)| {
            self::message(model, message, breakpoints.messages.contains(&index))
        });
    object.raw("messages", &array(messages)).end()
}

/// Says whether a model takes adaptive thinking and an effort. The older ones answer 400.
fn takes_effort(model: &str) -> bool {
    const OLDER: [&str; 6] = [
        "claude-3",
        "claude-haiku-4",
        "claude-sonnet-4-5",
        "claude-sonnet-4-2",
        "claude-sonnet-4-0",
        "claude-opus-4-",
    ];
    const ADAPTIVE_OPUS: [&str; 3] = ["claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8"];
    ADAPTIVE_OPUS.iter().any(|name| model.contains(name))
        || !OLDER.iter().any(|name| model.contains(name))
}

fn word(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

/// Which breakpoints are sent, by index. The wire takes four: the newest of the messages is worth most, then the
/// system's, then older messages.
struct Breakpoints {
    system: Vec<usize>,
    messages: Vec<usize>,
}

impl Breakpoints {
    fn of(request: &Request) -> Self {
        let system_marks = |part: &SystemPart| part.cache_breakpoint && !is_blank(&part.text);
        let mut system = marked(&request.system, system_marks);
        let mut messages = marked(&request.messages, |message| message.cache_breakpoint);
        keep_last(&mut system, MAX_BREAKPOINTS - messages.len().min(1));
        keep_last(&mut messages, MAX_BREAKPOINTS - system.len());
        Self { system, messages }
    }
}

fn marked<T>(items: &[T], is_marked: impl Fn(&T) -> bool) -> Vec<usize> {
    let marked = items.iter().enumerate().filter(|(_, item)| is_marked(item));
    marked.map(|(index, _)| index).collect()
}

fn keep_last(indices: &mut Vec<usize>, count: usize) {
    let surplus = indices.len().saturating_sub(count);
    indices.drain(..surplus);
}

/// Writes a message, or nothing if nothing of it can be sent.
fn message(model: &str, message: &Message, is_breakpoint: bool) -> Option<String> {
    let sent: Vec<_> = message
        .blocks
        .iter()
        .filter(|block| is_sent(model, block))
        .collect();
    // Thinking takes no mark.
    let marked = sent
        .iter()
        .rposition(|block| !matches!(block, Block::Opaque(_)));
    let blocks: Vec<_> = sent
        .iter()
        .enumerate()
        .map(|(index, block)| self::block(block, is_breakpoint && marked == Some(index)))
        .collect();
    if blocks.is_empty() {
        return None;
    }
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    Some(
        Object::new()
            .field("role", role)
            .raw("content", &array(blocks))
            .end(),
    )
}

/// The wire refuses blank text; a foreign opaque block would be refused by its signature.
fn is_sent(model: &str, block: &Block) -> bool {
    match block {
        Block::Text(text) => !is_blank(text),
        Block::Opaque(opaque) => opaque.wire == Wire::Messages && opaque.model == model,
        _ => true,
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn block(block: &Block, is_marked: bool) -> String {
    match block {
        Block::Text(text) => text_block(text, is_marked),
        Block::Image(image) => mark(image_block(image), is_marked).end(),
        Block::Call { id, name, input } => {
            let object = Object::new()
                .field("type", "tool_use")
                .field("id", &call_id(id))
                .field("name", &tool_name(name))
                .raw("input", &arguments(input));
            mark(object, is_marked).end()
        }
        Block::Result {
            id,
            text,
            is_error,
            images,
        } => {
            let mut content = Vec::new();
            if !is_blank(text) {
                content.push(text_block(text, false));
            } else if images.is_empty() {
                content.push(text_block("(no output)", false));
            }
            content.extend(images.iter().map(|image| image_block(image).end()));
            let mut object = Object::new()
                .field("type", "tool_result")
                .field("tool_use_id", &call_id(id))
                .raw("content", &array(content));
            if *is_error {
                object = object.field("is_error", &true);
            }
            mark(object, is_marked).end()
        }
        Block::Opaque(opaque) => opaque.json.clone(),
    }
}

fn text_block(text: &str, is_marked: bool) -> String {
    mark(
        Object::new().field("type", "text").field("text", text),
        is_marked,
    )
    .end()
}

fn image_block(image: &Image) -> Object {
    let source = Object::new()
        .field("type", "base64")
        .field("media_type", &image.media_type)
        .field("data", &image.base64)
        .end();
    Object::new().field("type", "image").raw("source", &source)
}

fn mark(object: Object, is_marked: bool) -> Object {
    if is_marked {
        object.raw("cache_control", &text_of(&json!({ "type": "ephemeral" })))
    } else {
        object
    }
}

#[cfg(test)]
mod tests;
