//! The chunks of a Chat Completions stream, put together to an answer, with what the imitations do differently.
//!
//! Servers leave out the index or the id of a call, send a call in one piece or repeat empty names, say "stop" after calls,
//! send usage late, in every chunk or never, and end without `[DONE]`. Thinking comes as `reasoning_content`, `reasoning`
//! or `reasoning_details`; some models fail unless they get theirs back.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::wire::Extra;
use crate::{
    Block, OpaqueBlock, Reply, Stop, Usage, Wire,
    answer::{Assemble, End, Fault, Progress, Shown, conclude, count},
    failure::ServerError,
    sse::Event,
};

/// Puts an answer together.
pub(crate) struct Machine {
    /// The model asked; opaque blocks are bound to it.
    asked_model: String,
    /// Makes the ids of calls that came without one unique in a conversation.
    salt: u64,
    text: String,
    refusal: String,
    calls: Vec<Call>,
    /// Fields of the message that go back as they came.
    extra: Map<String, Value>,
    stop: Option<Stop>,
    usage: Usage,
    model: String,
    response_id: Option<String>,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    input: String,
    extra: Map<String, Value>,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default, deserialize_with = "if_fits")]
    id: Option<String>,
    #[serde(default, deserialize_with = "if_fits")]
    model: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    #[serde(default, deserialize_with = "if_fits")]
    finish_reason: Option<String>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<Value>,
    #[serde(default, deserialize_with = "if_fits")]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "if_fits")]
    reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "if_fits")]
    reasoning: Option<String>,
    #[serde(default, deserialize_with = "if_fits")]
    reasoning_details: Option<Vec<Value>>,
    extra_content: Option<Value>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default, deserialize_with = "number")]
    index: Option<u64>,
    #[serde(default, deserialize_with = "word")]
    id: Option<String>,
    function: Option<FunctionDelta>,
    extra_content: Option<Value>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    #[serde(default, deserialize_with = "if_fits")]
    name: Option<String>,
    arguments: Option<Value>,
}

impl Machine {
    /// Begins an answer of `model`.
    pub(crate) fn new(model: &str, salt: u64) -> Self {
        Self {
            asked_model: model.to_owned(),
            salt,
            text: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            extra: Map::new(),
            stop: None,
            usage: Usage::default(),
            model: model.to_owned(),
            response_id: None,
        }
    }

    /// Takes the counts so far; a chunk without any leaves those before as they are.
    fn take_usage(&mut self, usage: &Value) {
        let Some(prompt) = count(usage, "/prompt_tokens") else {
            return;
        };
        let cache_read = count(usage, "/prompt_tokens_details/cached_tokens")
            .or_else(|| count(usage, "/prompt_cache_hit_tokens"))
            .unwrap_or(0);
        let cache_write = count(usage, "/prompt_tokens_details/cache_write_tokens").unwrap_or(0);
        self.usage = Usage {
            input: prompt
                .saturating_sub(cache_read)
                .saturating_sub(cache_write),
            output: count(usage, "/completion_tokens").unwrap_or(0),
            cache_read,
            cache_write,
        };
    }

    fn take_delta(&mut self, delta: Delta, shown: &mut Shown<'_>) {
        let details = delta.reasoning_details.unwrap_or_default();
        let thinking = delta
            .reasoning_content
            .as_deref()
            .or(delta.reasoning.as_deref())
            .unwrap_or_default();
        if thinking.is_empty() {
            details
                .iter()
                .for_each(|detail| shown.thinking(field(detail, "text")));
        }
        shown.thinking(thinking);
        append(
            &mut self.extra,
            "reasoning_content",
            delta.reasoning_content.as_deref(),
        );
        append(&mut self.extra, "reasoning", delta.reasoning.as_deref());
        if !details.is_empty() {
            let kept = self
                .extra
                .entry("reasoning_details")
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(kept) = kept {
                details
                    .into_iter()
                    .for_each(|detail| merge_detail(kept, detail));
            }
        }
        if let Some(extra) = delta.extra_content {
            self.extra.insert("extra_content".to_owned(), extra);
        }
        if let Some(content) = &delta.content {
            let piece = content_text(content);
            shown.text(&piece);
            self.text.push_str(&piece);
        }
        if let Some(piece) = &delta.refusal {
            shown.text(piece);
            self.refusal.push_str(piece);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.take_call(call);
        }
    }

    /// Adds to the call that is meant. A new id together with a name begins another call even under a known index: some
    /// servers number all calls 0.
    fn take_call(&mut self, delta: CallDelta) {
        let id = delta.id.unwrap_or_default();
        let function = delta.function;
        let name = function
            .as_ref()
            .and_then(|function| function.name.clone())
            .unwrap_or_default();
        let known = match delta.index {
            Some(index) => self
                .calls
                .iter()
                .rposition(|call| call.index == Some(index)),
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            // No index and no id: more of the last call, unless a name says that a call begins.
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        };
        let known = known.filter(|known| {
            let call = &self.calls[*known];
            id.is_empty() || call.id.is_empty() || call.id == id || name.is_empty()
        });
        let known = known.unwrap_or_else(|| {
            self.calls.push(Call {
                index: delta.index,
                ..Call::default()
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[known];
        if call.id.is_empty() {
            call.id = id;
        }
        // Names come whole; a repeated or empty one adds nothing.
        if call.name.is_empty() {
            call.name = name;
        }
        match function.and_then(|function| function.arguments) {
            Some(Value::String(piece)) => call.input.push_str(&piece),
            None | Some(Value::Null) => {}
            // Arguments as an object, which is not the wire but is sent.
            Some(other) => call.input = other.to_string(),
        }
        if let Some(extra) = delta.extra_content {
            call.extra.insert("extra_content".to_owned(), extra);
        }
    }
}

impl Assemble for Machine {
    fn take(&mut self, event: &Event, shown: &mut Shown<'_>) -> Result<Progress, Fault> {
        if event.data.trim() == "[DONE]" {
            self.stop.get_or_insert(Stop::EndTurn);
            return Ok(Progress::Done);
        }
        // Some servers keep a connection awake with them.
        if matches!(event.data.trim(), "" | "null") {
            return Ok(Progress::More);
        }
        let chunk: Chunk =
            serde_json::from_str(&event.data).map_err(|error| Fault::malformed(event, &error))?;
        let has_error = chunk.error.as_ref().is_some_and(|error| !error.is_null());
        if has_error || event.name == "error" {
            let body = serde_json::from_str(&event.data).unwrap_or(Value::Null);
            return Err(Fault::Server(ServerError::find(&body).unwrap_or_default()));
        }
        self.response_id = self.response_id.take().or(chunk.id);
        if let Some(model) = chunk.model.filter(|model| !model.is_empty()) {
            self.model = model;
        }
        if let Some(usage) = &chunk.usage {
            self.take_usage(usage);
        }
        // One answer is asked for; more would be alternatives.
        if let Some(choice) = chunk.choices.unwrap_or_default().into_iter().next() {
            if let Some(usage) = &choice.usage {
                self.take_usage(usage);
            }
            if let Some(delta) = choice.delta {
                self.take_delta(delta, shown);
            }
            match choice.finish_reason.as_deref() {
                None | Some("") => {}
                Some("error") => {
                    return Err(Fault::Server(ServerError {
                        message: "the answer ended with `finish_reason: error`".to_owned(),
                        ..ServerError::default()
                    }));
                }
                Some(reason) => self.stop = Some(stop(reason)),
            }
        }
        Ok(Progress::More)
    }

    fn may_end(&self) -> bool {
        self.stop.is_some()
    }

    fn has_block(&self) -> bool {
        // Nothing says that a call is whole before the next one or the end.
        self.calls.len() > 1 || !self.text.is_empty()
    }

    fn finish(self: Box<Self>, end: End) -> Reply {
        let mut this = *self;
        let is_complete = end == End::Complete;
        if !is_complete {
            this.calls.pop();
        }
        let mut blocks = Vec::new();
        let mut extra = Extra {
            message: this.extra,
            calls: Map::new(),
        };
        let mut calls = Vec::new();
        for (index, call) in this.calls.into_iter().enumerate() {
            let id = match call.id {
                id if id.is_empty() => format!("call_{:016x}_{index}", this.salt),
                id => id,
            };
            if !call.extra.is_empty() {
                extra.calls.insert(id.clone(), Value::Object(call.extra));
            }
            let input = if call.input.trim().is_empty() {
                "{}".to_owned()
            } else {
                call.input
            };
            calls.push(Block::Call {
                id,
                name: call.name,
                input,
            });
        }
        if is_complete && let Some(json) = extra.to_json() {
            blocks.push(Block::Opaque(OpaqueBlock {
                wire: Wire::Chat,
                model: this.asked_model,
                json,
            }));
        }
        if !this.text.is_empty() {
            blocks.push(Block::Text(this.text));
        }
        blocks.append(&mut calls);
        let said = match this.stop {
            _ if !this.refusal.is_empty() => Stop::Refusal(this.refusal),
            Some(stop) => stop,
            None => Stop::EndTurn,
        };
        let (blocks, stop) = conclude(blocks, said, end);
        Reply {
            blocks,
            stop,
            usage: this.usage,
            model: this.model,
            request_id: this.response_id,
        }
    }
}

/// Reads a value of the expected kind; one of another kind is none. What only describes an answer is no reason to lose it.
fn if_fits<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).ok())
}

/// Reads an id that may be a number.
fn word<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(word) => Some(word),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// Reads an index that may be a text.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    })
}

fn stop(reason: &str) -> Stop {
    match reason {
        "length" | "max_tokens" | "model_length" => Stop::MaxTokens,
        "tool_calls" | "function_call" => Stop::ToolUse,
        "content_filter" | "safety" => {
            Stop::Refusal("the provider's content filter ended the answer".to_owned())
        }
        _ => Stop::EndTurn,
    }
}

/// Returns the text of a content that is a string, or a list of parts as some servers send it.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| field(part, "text")).collect(),
        _ => String::new(),
    }
}

fn field<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn append(fields: &mut Map<String, Value>, name: &str, piece: Option<&str>) {
    let Some(piece) = piece.filter(|piece| !piece.is_empty()) else {
        return;
    };
    match fields.get_mut(name) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => drop(fields.insert(name.to_owned(), piece.into())),
    }
}

/// Adds a piece of a reasoning detail to the one with the same index and type: texts grow, other fields are replaced.
fn merge_detail(kept: &mut Vec<Value>, detail: Value) {
    let same = |other: &Value| {
        detail.get("index").is_some()
            && other.get("index") == detail.get("index")
            && other.get("type") == detail.get("type")
    };
    let position = kept.iter().rposition(same);
    let (Some(position), Value::Object(fields)) = (position, &detail) else {
        kept.push(detail);
        return;
    };
    let Some(into) = kept[position].as_object_mut() else {
        return;
    };
    for (name, value) in fields {
        match (into.get_mut(name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(piece))
                if matches!(name.as_str(), "text" | "summary" | "data") =>
            {
                text.push_str(piece);
            }
            _ => drop(into.insert(name.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests;
