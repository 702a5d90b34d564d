//! Our request as a Chat Completions body. See: platform.openai.com/docs/api-reference/chat, and the imitations' own pages.

use serde_json::{Map, Value, json};

use crate::{
    Block, Effort, Image, Message, Request, Role, Wire,
    json_text::{Object, arguments, array, text_of},
    names::tool_name,
};

/// Whose Chat Completions are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenAI's own, whose newer models take only `max_completion_tokens`.
    OpenAi,
    /// Everyone else's, who know `max_tokens`, some of them nothing else.
    Other,
}

impl Dialect {
    /// Tells by the host of the URL.
    pub(crate) fn of(host: &str) -> Self {
        if host == "api.openai.com" {
            Self::OpenAi
        } else {
            Self::Other
        }
    }
}

/// Writes the body. The parts that stay the same from turn to turn come first.
pub(crate) fn body(model: &str, request: &Request, dialect: Dialect) -> String {
    let mut object = Object::new()
        .field("model", model)
        .field("stream", &true)
        .field("stream_options", &json!({ "include_usage": true }));
    if request.max_output_tokens > 0 {
        let name = match dialect {
            Dialect::OpenAi => "max_completion_tokens",
            Dialect::Other => "max_tokens",
        };
        object = object.field(name, &request.max_output_tokens);
    }
    object = object.optional("reasoning_effort", request.effort.map(word));
    if dialect == Dialect::OpenAi {
        object = object.optional("prompt_cache_key", request.cache_key.as_deref());
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let function = Object::new()
                .field("name", &tool.name)
                .field("description", &tool.description)
                .field("parameters", &tool.input_schema)
                .end();
            Object::new()
                .field("type", "function")
                .raw("function", &function)
                .end()
        });
        object = object.raw("tools", &array(tools));
    }
    let mut messages = Vec::new();
    let system: Vec<_> = request
        .system
        .iter()
        .map(|part| part.text.as_str())
        .collect();
    if !system.is_empty() {
        // One message: several system messages are refused by many chat templates.
        messages.push(
            Object::new()
                .field("role", "system")
                .field("content", &system.join("\n\n"))
                .end(),
        );
    }
    for message in &request.messages {
        match message.role {
            Role::User => user(message, &mut messages),
            Role::Assistant => messages.extend(assistant(model, message)),
        }
    }
    object.raw("messages", &array(messages)).end()
}

fn word(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

/// Writes a user message: every result as a message of its own directly after the calls, then the rest as one, with the
/// images of the results, which a tool message cannot carry.
fn user(message: &Message, out: &mut Vec<String>) {
    let mut texts = Vec::new();
    let mut parts = Vec::new();
    let mut has_image = false;
    for block in &message.blocks {
        match block {
            Block::Result {
                id, text, images, ..
            } => {
                let text = match text.trim() {
                    "" if images.is_empty() => "(no output)",
                    "" => "(see the image)",
                    _ => text,
                };
                out.push(
                    Object::new()
                        .field("role", "tool")
                        .field("tool_call_id", id)
                        .field("content", text)
                        .end(),
                );
                if !images.is_empty() {
                    has_image = true;
                    parts.push(text_part(&format!("Images from the result of call {id}:")));
                    parts.extend(images.iter().map(image_part));
                }
            }
            Block::Text(text) => {
                texts.push(text.as_str());
                parts.push(text_part(text));
            }
            Block::Image(image) => {
                has_image = true;
                parts.push(image_part(image));
            }
            Block::Call { .. } | Block::Opaque(_) => {}
        }
    }
    let user = Object::new().field("role", "user");
    if has_image {
        out.push(user.raw("content", &array(parts)).end());
    } else if !texts.is_empty() {
        // A plain string where it will do: not every server takes parts.
        out.push(user.field("content", &texts.join("\n\n")).end());
    }
}

/// Writes an assistant message, or nothing if nothing of it can be sent.
fn assistant(model: &str, message: &Message) -> Option<String> {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    let mut extra = Extra::default();
    for block in &message.blocks {
        match block {
            Block::Text(text) => texts.push(text.as_str()),
            Block::Call { id, name, input } => calls.push((id, name, input)),
            Block::Opaque(opaque) if opaque.wire == Wire::Chat && opaque.model == model => {
                extra.read(&opaque.json);
            }
            _ => {}
        }
    }
    if texts.is_empty() && calls.is_empty() && extra.message.is_empty() {
        return None;
    }
    let mut object = Object::new().field("role", "assistant");
    object = match texts.join("\n\n") {
        text if text.is_empty() && !calls.is_empty() => object.raw("content", "null"),
        text => object.field("content", &text),
    };
    for (name, value) in &extra.message {
        object = object.field(name, value);
    }
    if !calls.is_empty() {
        let calls = calls.into_iter().map(|(id, name, input)| {
            let function = Object::new()
                .field("name", &tool_name(name))
                .field("arguments", &arguments(input))
                .end();
            let mut call = Object::new()
                .field("id", id)
                .field("type", "function")
                .raw("function", &function);
            for (name, value) in extra
                .calls
                .get(id)
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                call = call.field(name, value);
            }
            call.end()
        });
        object = object.raw("tool_calls", &array(calls));
    }
    Some(object.end())
}

/// What a model wants back beside text and calls: fields of the message, and fields of calls by the call's id.
#[derive(Default)]
pub(crate) struct Extra {
    pub(crate) message: Map<String, Value>,
    pub(crate) calls: Map<String, Value>,
}

impl Extra {
    /// Returns it as the JSON of an opaque block, or nothing if there is nothing.
    pub(crate) fn to_json(&self) -> Option<String> {
        if self.message.is_empty() && self.calls.is_empty() {
            return None;
        }
        Some(
            Object::new()
                .field("message", &self.message)
                .field("calls", &self.calls)
                .end(),
        )
    }

    fn read(&mut self, json: &str) {
        let Ok(Value::Object(mut fields)) = serde_json::from_str(json) else {
            return;
        };
        for (name, into) in [("message", &mut self.message), ("calls", &mut self.calls)] {
            if let Some(Value::Object(values)) = fields.remove(name) {
                into.extend(values);
            }
        }
    }
}

fn text_part(text: &str) -> String {
    Object::new()
        .field("type", "text")
        .field("text", text)
        .end()
}

fn image_part(image: &Image) -> String {
    let url = format!("data:{};base64,{}", image.media_type, image.base64);
    Object::new()
        .field("type", "image_url")
        .raw("image_url", &Object::new().raw("url", &text_of(&url)).end())
        .end()
}

#[cfg(test)]
mod tests;
