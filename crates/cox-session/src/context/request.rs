//! Turns the conversation into a request.

use std::{collections::HashSet, sync::Arc};

use cox_protocol::{AssistantBlock, CallId, ImageData, Item, ToolResult};
use cox_tools::Tool;
use llm::{Block, Effort, Image, Message, OpaqueBlock, Request, Role, SystemPart, Wire};

use super::prefix;
use crate::state::State;

/// What a request is built from besides the state.
pub(crate) struct RequestConfig<'a> {
    pub(crate) tools: &'a [Arc<dyn Tool>],
    pub(crate) max_output_tokens: u32,
    pub(crate) effort: Option<Effort>,
    pub(crate) cache_key: &'a str,
}

/// Put behind a partial answer, so that the model knows that it was cut.
const CUT_ANSWER: &str = "[this answer was cut off here]";

/// Builds the next request. The same state gives the same request, to the byte.
pub(crate) fn build(state: &State, config: &RequestConfig<'_>) -> Request {
    let mut messages: Vec<Message> = Vec::new();
    for item in &state.items {
        let (role, blocks) = match item {
            Item::User {
                context,
                text,
                images,
            } => (Role::User, user_blocks(context, text, images)),
            Item::Assistant { blocks, complete } => {
                (Role::Assistant, assistant_blocks(blocks, *complete))
            }
            Item::ToolResults { results } => (
                Role::User,
                results
                    .iter()
                    .map(|result| result_block(result, &state.compacted))
                    .collect(),
            ),
        };
        push(&mut messages, role, blocks);
    }
    mark_breakpoints(&mut messages);
    let system = state
        .prefix
        .as_ref()
        .map_or(&[][..], |prefix| &prefix.system);
    Request {
        system: system
            .iter()
            .enumerate()
            .map(|(index, text)| SystemPart {
                text: text.clone(),
                cache_breakpoint: index + 1 == system.len(),
            })
            .collect(),
        tools: prefix::tool_defs(config.tools, &state.discovered),
        messages,
        max_output_tokens: config.max_output_tokens,
        effort: config.effort,
        cache_key: Some(config.cache_key.to_owned()),
    }
}

/// Adds blocks, joining them with the message before when the same side speaks.
fn push(messages: &mut Vec<Message>, role: Role, blocks: Vec<Block>) {
    if blocks.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(last) if last.role == role => last.blocks.extend(blocks),
        _ => messages.push(Message {
            role,
            blocks,
            cache_breakpoint: false,
        }),
    }
}

/// Lets the cache end after the last message and after the user message before it, which the last request ended with.
fn mark_breakpoints(messages: &mut [Message]) {
    for message in messages
        .iter_mut()
        .rev()
        .filter(|message| message.role == Role::User)
        .take(2)
    {
        message.cache_breakpoint = true;
    }
}

fn user_blocks(context: &[String], text: &str, images: &[ImageData]) -> Vec<Block> {
    let mut blocks: Vec<Block> = context.iter().cloned().map(Block::Text).collect();
    blocks.extend(images.iter().map(|image| Block::Image(to_image(image))));
    if !text.is_empty() {
        blocks.push(Block::Text(text.to_owned()));
    }
    blocks
}

fn assistant_blocks(blocks: &[AssistantBlock], complete: bool) -> Vec<Block> {
    let mut out: Vec<Block> = blocks
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::Text { text } => Some(Block::Text(text.clone())),
            AssistantBlock::Call {
                wire_id,
                name,
                input,
                ..
            } => Some(Block::Call {
                id: wire_id.clone(),
                name: name.clone(),
                input: input.clone(),
            }),
            AssistantBlock::Opaque { wire, model, json } => Some(Block::Opaque(OpaqueBlock {
                wire: from_wire_name(wire)?,
                model: model.clone(),
                json: json.clone(),
            })),
        })
        .collect();
    let has_calls = out.iter().any(|block| matches!(block, Block::Call { .. }));
    if !complete && !has_calls {
        out.push(Block::Text(CUT_ANSWER.to_owned()));
    }
    out
}

fn result_block(result: &ToolResult, compacted: &HashSet<CallId>) -> Block {
    if compacted.contains(&result.call) {
        return Block::Result {
            id: result.wire_id.clone(),
            text: pointer(result),
            is_error: result.is_error,
            images: Vec::new(),
        };
    }
    Block::Result {
        id: result.wire_id.clone(),
        text: result.text.clone(),
        is_error: result.is_error,
        images: result.images.iter().map(to_image).collect(),
    }
}

/// What stands for a result that was left out to make room.
pub(crate) fn pointer(result: &ToolResult) -> String {
    let first_line =
        untrusted_text::terminal::one_line(result.text.lines().next().unwrap_or_default(), 120);
    let images = match result.images.len() {
        0 => String::new(),
        n => format!(" and {n} image(s)"),
    };
    match result.archive {
        Some(id) => format!(
            "{first_line}\n[old output of {} bytes{images} left out; `expand` {id} shows it]",
            result.text.len()
        ),
        None => format!(
            "{first_line}\n[old output of {} bytes{images} left out; run the call again if you need it]",
            result.text.len()
        ),
    }
}

fn to_image(image: &ImageData) -> Image {
    Image {
        media_type: image.media_type.clone(),
        base64: image.base64.clone(),
    }
}

/// Returns the name a wire has in a stored item.
pub(crate) fn wire_name(wire: Wire) -> &'static str {
    match wire {
        Wire::Messages => "messages",
        Wire::Responses => "responses",
        Wire::Chat => "chat",
    }
}

fn from_wire_name(name: &str) -> Option<Wire> {
    [Wire::Messages, Wire::Responses, Wire::Chat]
        .into_iter()
        .find(|wire| wire_name(*wire) == name)
}
