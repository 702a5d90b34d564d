//! The events of a Messages stream, put together to an answer.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    Block, OpaqueBlock, Reply, Stop, Usage, Wire,
    answer::{Assemble, End, Fault, Progress, Shown, conclude, count},
    failure::ServerError,
    json_text::text_of,
    sse::Event,
};

/// Puts an answer together.
pub(crate) struct Machine {
    /// The model asked; opaque blocks are bound to it.
    asked_model: String,
    blocks: BTreeMap<u64, Part>,
    stop: Option<Stop>,
    usage: Usage,
    model: String,
    message_id: Option<String>,
}

/// A block and whether its end was seen.
struct Part {
    content: Content,
    is_whole: bool,
}

enum Content {
    Text(String),
    /// `input` is raw JSON text; `given` is what the start event already had.
    Call {
        id: String,
        name: String,
        input: String,
        given: Option<String>,
    },
    /// Thinking and whatever else only the maker understands; deltas are appended to its fields.
    Opaque(Map<String, Value>),
}

#[derive(Deserialize)]
struct Data {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    index: u64,
    message: Option<MessageStart>,
    content_block: Option<Map<String, Value>>,
    delta: Option<Delta>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct MessageStart {
    id: Option<String>,
    model: Option<String>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
    stop_details: Option<Value>,
}

impl Machine {
    /// Begins an answer of `model`.
    pub(crate) fn new(model: &str) -> Self {
        Self {
            asked_model: model.to_owned(),
            blocks: BTreeMap::new(),
            stop: None,
            usage: Usage::default(),
            model: model.to_owned(),
            message_id: None,
        }
    }

    /// Takes the counts so far: every frame repeats the totals, so the last one that names a count wins.
    fn take_usage(&mut self, fields: &Value) {
        let usage = &mut self.usage;
        for (into, pointer) in [
            (&mut usage.input, "/input_tokens"),
            (&mut usage.output, "/output_tokens"),
            (&mut usage.cache_read, "/cache_read_input_tokens"),
            (&mut usage.cache_write, "/cache_creation_input_tokens"),
        ] {
            *into = count(fields, pointer).unwrap_or(*into);
        }
    }

    fn begin(&mut self, index: u64, mut block: Map<String, Value>, shown: &mut Shown<'_>) {
        let content = match block.get("type").and_then(Value::as_str) {
            Some("text") => {
                let text = string(&mut block, "text");
                shown.text(&text);
                Content::Text(text)
            }
            Some("tool_use") => Content::Call {
                id: string(&mut block, "id"),
                name: string(&mut block, "name"),
                input: String::new(),
                given: block.get("input").map(text_of),
            },
            _ => {
                shown.thinking(
                    block
                        .get("thinking")
                        .and_then(Value::as_str)
                        .unwrap_or_default(),
                );
                Content::Opaque(block)
            }
        };
        self.blocks.insert(
            index,
            Part {
                content,
                is_whole: false,
            },
        );
    }

    fn extend(&mut self, index: u64, delta: &Delta, shown: &mut Shown<'_>) {
        let Some(part) = self.blocks.get_mut(&index) else {
            return;
        };
        match &mut part.content {
            Content::Text(text) => {
                let piece = delta.text.as_deref().unwrap_or_default();
                shown.text(piece);
                text.push_str(piece);
            }
            Content::Call { input, .. } => {
                input.push_str(delta.partial_json.as_deref().unwrap_or_default());
            }
            Content::Opaque(fields) => {
                for (name, piece) in [
                    ("thinking", &delta.thinking),
                    ("signature", &delta.signature),
                ] {
                    let Some(piece) = piece else { continue };
                    match fields.get_mut(name) {
                        Some(Value::String(text)) => text.push_str(piece),
                        _ => drop(fields.insert(name.to_owned(), piece.clone().into())),
                    }
                }
                shown.thinking(delta.thinking.as_deref().unwrap_or_default());
            }
        }
    }
}

impl Assemble for Machine {
    fn take(&mut self, event: &Event, shown: &mut Shown<'_>) -> Result<Progress, Fault> {
        let data: Data =
            serde_json::from_str(&event.data).map_err(|error| Fault::malformed(event, &error))?;
        match data.r#type.as_str() {
            "message_start" => {
                let Some(message) = data.message else {
                    return Ok(Progress::More);
                };
                self.model = message.model.unwrap_or_else(|| self.model.clone());
                self.message_id = message.id;
                if let Some(usage) = &message.usage {
                    self.take_usage(usage);
                }
            }
            "content_block_start" => {
                if let Some(block) = data.content_block {
                    self.begin(data.index, block, shown);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = &data.delta {
                    self.extend(data.index, delta, shown);
                }
            }
            "content_block_stop" => {
                if let Some(part) = self.blocks.get_mut(&data.index) {
                    part.is_whole = true;
                }
            }
            "message_delta" => {
                if let Some(usage) = &data.usage {
                    self.take_usage(usage);
                }
                if let Some(delta) = &data.delta
                    && let Some(reason) = &delta.stop_reason
                {
                    self.stop = Some(stop(reason, delta.stop_details.as_ref()));
                }
            }
            "message_stop" => {
                self.stop.get_or_insert(Stop::EndTurn);
                return Ok(Progress::Done);
            }
            "error" => {
                let body = serde_json::from_str(&event.data).unwrap_or(Value::Null);
                return Err(Fault::Server(ServerError::find(&body).unwrap_or_default()));
            }
            // `ping`, and what a later version adds.
            _ => {}
        }
        Ok(Progress::More)
    }

    fn may_end(&self) -> bool {
        self.stop.is_some()
    }

    fn has_block(&self) -> bool {
        self.blocks.values().any(|part| part.is_whole)
    }

    fn finish(self: Box<Self>, end: End) -> Reply {
        let this = *self;
        let is_complete = end == End::Complete;
        let was_capped = this.stop == Some(Stop::MaxTokens);
        let mut blocks = Vec::new();
        for part in this.blocks.into_values() {
            match part.content {
                // The cap came before the signature: the server would not take it back.
                Content::Opaque(fields) if was_capped && is_unsigned_thinking(&fields) => {}
                Content::Text(text) if text.is_empty() => {}
                Content::Text(text) => blocks.push(Block::Text(text)),
                _ if !part.is_whole && !is_complete => {}
                Content::Call {
                    id,
                    name,
                    input,
                    given,
                } => {
                    let input = match given {
                        _ if !input.is_empty() => input,
                        Some(given) => given,
                        None => "{}".to_owned(),
                    };
                    blocks.push(Block::Call { id, name, input });
                }
                Content::Opaque(fields) => blocks.push(Block::Opaque(OpaqueBlock {
                    wire: Wire::Messages,
                    model: this.asked_model.clone(),
                    json: Value::Object(fields).to_string(),
                })),
            }
        }
        let (blocks, stop) = conclude(blocks, this.stop.unwrap_or(Stop::EndTurn), end);
        Reply {
            blocks,
            stop,
            usage: this.usage,
            model: this.model,
            request_id: this.message_id,
        }
    }
}

/// Translates a stop reason. `pause_turn` belongs to tools that run on the server, of which we send none.
fn stop(reason: &str, details: Option<&Value>) -> Stop {
    match reason {
        "tool_use" => Stop::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => Stop::MaxTokens,
        "refusal" => {
            let said = details
                .and_then(|details| details.get("explanation"))
                .and_then(Value::as_str);
            Stop::Refusal(said.unwrap_or("the model declined to answer").to_owned())
        }
        _ => Stop::EndTurn,
    }
}

fn is_unsigned_thinking(fields: &Map<String, Value>) -> bool {
    let text = |name| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    text("type") == "thinking" && text("signature").is_empty()
}

fn string(fields: &mut Map<String, Value>, name: &str) -> String {
    match fields.get_mut(name).map(Value::take) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
