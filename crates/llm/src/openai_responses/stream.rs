//! The events of a Responses stream, put together to an answer.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::wire;
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
    /// Items by their place in the output.
    items: BTreeMap<u64, Item>,
    refusal: String,
    stop: Option<Stop>,
    usage: Usage,
    model: String,
    response_id: Option<String>,
}

/// An item of the output.
#[derive(Default)]
struct Item {
    /// Text that arrived in pieces.
    text: String,
    /// The item, once it is whole.
    blocks: Option<Vec<Block>>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    output_index: u64,
    #[serde(default)]
    summary_index: u64,
    #[serde(default)]
    delta: Option<Value>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
}

#[derive(Deserialize)]
struct Response<'a> {
    id: Option<String>,
    model: Option<String>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
    usage: Option<Value>,
    #[serde(borrow, default)]
    output: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct ItemFields {
    #[serde(default)]
    r#type: String,
    call_id: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    content: Option<Vec<ContentPart>>,
    phase: Option<String>,
}

#[derive(Deserialize)]
struct ContentPart {
    text: Option<String>,
    refusal: Option<String>,
}

impl Machine {
    /// Begins an answer of `model`.
    pub(crate) fn new(model: &str) -> Self {
        Self {
            asked_model: model.to_owned(),
            items: BTreeMap::new(),
            refusal: String::new(),
            stop: None,
            usage: Usage::default(),
            model: model.to_owned(),
            response_id: None,
        }
    }

    fn opaque(&self, json: String) -> Block {
        Block::Opaque(OpaqueBlock {
            wire: Wire::Responses,
            model: self.asked_model.clone(),
            json,
        })
    }

    /// Takes a whole item and shows text of it that did not come in pieces.
    fn take_item(
        &mut self,
        index: u64,
        raw: &RawValue,
        shown: &mut Shown<'_>,
    ) -> Result<(), serde_json::Error> {
        let fields: ItemFields = serde_json::from_str(raw.get())?;
        let blocks = match fields.r#type.as_str() {
            "message" => {
                let mut text = String::new();
                for part in fields.content.unwrap_or_default() {
                    text.push_str(part.text.as_deref().unwrap_or_default());
                    if let Some(refusal) = part.refusal {
                        self.refusal = refusal;
                    }
                }
                if self
                    .items
                    .get(&index)
                    .is_none_or(|item| item.text.is_empty())
                {
                    shown.text(&text);
                }
                let mut blocks = Vec::new();
                if let Some(phase) = fields.phase.filter(|_| !text.is_empty()) {
                    blocks.push(self.opaque(wire::phase_block(&phase)));
                }
                if !text.is_empty() {
                    blocks.push(Block::Text(text));
                }
                blocks
            }
            "function_call" => {
                let input = fields.arguments.filter(|input| !input.trim().is_empty());
                vec![Block::Call {
                    id: fields.call_id.or(fields.id).unwrap_or_default(),
                    name: fields.name.unwrap_or_default(),
                    input: input.unwrap_or_else(|| "{}".to_owned()),
                }]
            }
            _ => vec![self.opaque(raw.get().to_owned())],
        };
        self.items.entry(index).or_default().blocks = Some(blocks);
        Ok(())
    }

    fn take_response(
        &mut self,
        response: &Response<'_>,
        shown: &mut Shown<'_>,
    ) -> Result<(), serde_json::Error> {
        self.response_id = response.id.clone().or_else(|| self.response_id.take());
        if let Some(model) = &response.model {
            self.model.clone_from(model);
        }
        if let Some(usage) = &response.usage {
            let cache_read = count(usage, "/input_tokens_details/cached_tokens").unwrap_or(0);
            let cache_write = count(usage, "/input_tokens_details/cache_write_tokens").unwrap_or(0);
            let input = count(usage, "/input_tokens").unwrap_or(0);
            self.usage = Usage {
                input: input.saturating_sub(cache_read).saturating_sub(cache_write),
                output: count(usage, "/output_tokens").unwrap_or(0),
                cache_read,
                cache_write,
            };
        }
        // The output again, for items whose own event was left out.
        for (index, raw) in (0..).zip(response.output.iter().flatten()) {
            if self
                .items
                .get(&index)
                .is_none_or(|item| item.blocks.is_none())
            {
                self.take_item(index, raw, shown)?;
            }
        }
        Ok(())
    }
}

impl Assemble for Machine {
    fn take(&mut self, event: &Event, shown: &mut Shown<'_>) -> Result<Progress, Fault> {
        if event.data.trim() == "[DONE]" {
            return Ok(Progress::More);
        }
        let malformed = |error: serde_json::Error| Fault::malformed(event, &error);
        let data: Data<'_> = serde_json::from_str(&event.data).map_err(malformed)?;
        let piece = data
            .delta
            .as_ref()
            .and_then(Value::as_str)
            .unwrap_or_default();
        match data.r#type.as_str() {
            "response.output_text.delta" => {
                shown.text(piece);
                self.items
                    .entry(data.output_index)
                    .or_default()
                    .text
                    .push_str(piece);
            }
            "response.refusal.delta" => {
                shown.text(piece);
                self.refusal.push_str(piece);
                self.items.entry(data.output_index).or_default();
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                shown.thinking(piece);
            }
            "response.reasoning_summary_part.added" if data.summary_index > 0 => {
                shown.thinking("\n\n");
            }
            "response.output_item.done" => {
                if let Some(item) = data.item {
                    self.take_item(data.output_index, item, shown)
                        .map_err(malformed)?;
                }
            }
            "response.created" | "response.in_progress" => {
                if let Some(response) = &data.response {
                    self.response_id = response.id.clone();
                }
            }
            "response.completed" | "response.incomplete" => {
                let Some(response) = &data.response else {
                    return Err(Fault::Malformed(format!(
                        "event `{}` has no response",
                        data.r#type
                    )));
                };
                self.take_response(response, shown).map_err(malformed)?;
                let reason = response.incomplete_details.as_ref();
                let reason = reason.and_then(|details| details.reason.as_deref());
                self.stop = Some(match (data.r#type.as_str(), reason) {
                    ("response.completed", _) => Stop::EndTurn,
                    (_, Some("content_filter")) => {
                        Stop::Refusal("the provider's content filter ended the answer".to_owned())
                    }
                    _ => Stop::MaxTokens,
                });
                return Ok(Progress::Done);
            }
            "response.failed" | "error" => {
                let whole: Value = serde_json::from_str(&event.data).map_err(malformed)?;
                let error = match data.response.and_then(|response| response.error) {
                    Some(error) => ServerError::find(&serde_json::json!({ "error": error })),
                    None => ServerError::find(&whole),
                };
                return Err(Fault::Server(error.unwrap_or_default()));
            }
            // Beginnings, repetitions and what a later version adds.
            _ => {}
        }
        Ok(Progress::More)
    }

    fn may_end(&self) -> bool {
        self.stop.is_some()
    }

    fn has_block(&self) -> bool {
        self.items.values().any(|item| item.blocks.is_some())
    }

    fn finish(self: Box<Self>, end: End) -> Reply {
        let this = *self;
        let mut blocks = Vec::new();
        for item in this.items.into_values() {
            match item.blocks {
                Some(whole) => blocks.extend(whole),
                None if !item.text.is_empty() => blocks.push(Block::Text(item.text)),
                None => {}
            }
        }
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

#[cfg(test)]
mod tests;
