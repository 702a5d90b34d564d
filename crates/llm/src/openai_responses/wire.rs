//! Our request as a Responses body. See: platform.openai.com/docs/api-reference/responses, stateless use.

use serde_json::json;

use crate::{
    Block, Effort, Image, Message, Request, Role, Wire,
    json_text::{Object, arguments, array, text_of},
    names::{call_id, tool_name},
};

/// Writes the body. Nothing is stored at the server; reasoning comes encrypted and goes back with the conversation.
pub(crate) fn body(model: &str, request: &Request) -> String {
    let mut object = Object::new()
        .field("model", model)
        .field("stream", &true)
        .field("store", &false);
    if may_reason(model) {
        object = object.field("include", &json!(["reasoning.encrypted_content"]));
    }
    if let Some(effort) = request.effort.filter(|_| may_reason(model)) {
        object = object.field(
            "reasoning",
            &json!({ "effort": word(effort), "summary": "auto" }),
        );
    }
    object = object.optional("prompt_cache_key", request.cache_key.as_deref());
    if request.max_output_tokens > 0 {
        object = object.field("max_output_tokens", &request.max_output_tokens);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            Object::new()
                .field("type", "function")
                .field("name", &tool.name)
                .field("description", &tool.description)
                .field("parameters", &tool.input_schema)
                // Strict schemas may have no optional field.
                .field("strict", &false)
                .end()
        });
        object = object.raw("tools", &array(tools));
    }
    let system: Vec<_> = request
        .system
        .iter()
        .map(|part| part.text.as_str())
        .collect();
    if !system.is_empty() {
        object = object.field("instructions", &system.join("\n\n"));
    }
    let mut items = Vec::new();
    for message in &request.messages {
        match message.role {
            Role::User => user(message, &mut items),
            Role::Assistant => assistant(model, message, &mut items),
        }
    }
    object.raw("input", &array(items)).end()
}

/// Says whether a model may reason. The others answer 400 when they are asked for reasoning in any way.
fn may_reason(model: &str) -> bool {
    if model.ends_with("-chat-latest") {
        return false;
    }
    !["gpt-4", "gpt-3.5", "chatgpt-4o"]
        .iter()
        .any(|family| model.starts_with(family))
}

fn word(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

/// Writes a user message: each result as an item, texts and images in between as messages.
fn user(message: &Message, out: &mut Vec<String>) {
    let mut parts = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text(text) => parts.push(text_part("input_text", text)),
            Block::Image(image) => parts.push(image_part(image)),
            Block::Result {
                id, text, images, ..
            } => {
                flush("user", &mut None, &mut parts, out);
                let object = Object::new()
                    .field("type", "function_call_output")
                    .field("call_id", &call_id(id));
                let text = match text.trim() {
                    "" if images.is_empty() => "(no output)",
                    _ => text,
                };
                out.push(if images.is_empty() {
                    object.field("output", text).end()
                } else {
                    let mut content = Vec::new();
                    if !text.is_empty() {
                        content.push(text_part("input_text", text));
                    }
                    content.extend(images.iter().map(image_part));
                    object.raw("output", &array(content)).end()
                });
            }
            Block::Call { .. } | Block::Opaque(_) => {}
        }
    }
    flush("user", &mut None, &mut parts, out);
}

/// Returns an opaque block for the phase of the text after it. Newer models tell remarks on the way from final answers by
/// it and want it back.
pub(crate) fn phase_block(phase: &str) -> String {
    Object::new().field("phase", phase).end()
}

/// Returns the phase, as JSON text, if a block is one of [`phase_block`].
fn phase_of(json: &str) -> Option<&str> {
    json.strip_prefix(r#"{"phase":"#)?.strip_suffix('}')
}

fn assistant(model: &str, message: &Message, out: &mut Vec<String>) {
    let mut parts = Vec::new();
    let mut phase = None;
    for block in &message.blocks {
        match block {
            Block::Text(text) => parts.push(text_part("output_text", text)),
            Block::Call { id, name, input } => {
                flush("assistant", &mut phase, &mut parts, out);
                out.push(
                    Object::new()
                        .field("type", "function_call")
                        .field("call_id", &call_id(id))
                        .field("name", &tool_name(name))
                        .field("arguments", &arguments(input))
                        .end(),
                );
            }
            Block::Opaque(opaque) if opaque.wire == Wire::Responses && opaque.model == model => {
                flush("assistant", &mut phase, &mut parts, out);
                match phase_of(&opaque.json) {
                    Some(json) => phase = Some(json),
                    None => out.push(opaque.json.clone()),
                }
            }
            _ => {}
        }
    }
    flush("assistant", &mut phase, &mut parts, out);
}

/// Ends the message that is being gathered, if there is one.
fn flush(role: &str, phase: &mut Option<&str>, parts: &mut Vec<String>, out: &mut Vec<String>) {
    if parts.is_empty() {
        return;
    }
    let content = array(std::mem::take(parts));
    let mut object = Object::new()
        .field("type", "message")
        .field("role", role)
        .raw("content", &content);
    if let Some(phase) = phase.take() {
        object = object.raw("phase", phase);
    }
    out.push(object.end());
}

fn text_part(kind: &str, text: &str) -> String {
    Object::new().field("type", kind).field("text", text).end()
}

fn image_part(image: &Image) -> String {
    let url = format!("data:{};base64,{}", image.media_type, image.base64);
    Object::new()
        .field("type", "input_image")
        .raw("image_url", &text_of(&url))
        .end()
}

#[cfg(test)]
mod tests;
