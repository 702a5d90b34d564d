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

/// Stands for a result whose line of the record is damaged.
const LOST_RESULT: &str = "the record of this result is damaged; the call may have taken effect: check before doing it again";

/// Stands before a result whose call is in a damaged line of the record.
const LOST_CALL: &str = "[the record of a call is damaged; its result was:]";

/// Stands for the start of a conversation whose line of the record is damaged.
const LOST_START: &str = "[the record of the start of this conversation is damaged]";

/// Builds the next request. The same state gives the same request, to the byte.
pub(crate) fn build(state: &State, config: &RequestConfig<'_>) -> Request {
    let mut messages: Vec<Message> = Vec::new();
    // Calls of the last answer whose results have not come yet.
    let mut open: Vec<(CallId, &str)> = Vec::new();
    for item in &state.items {
        if !matches!(item, Item::ToolResults { .. }) {
            push(&mut messages, Role::User, lost_results(open.drain(..)));
        }
        match item {
            Item::User {
                context,
                text,
                images,
            } => push(
                &mut messages,
                Role::User,
                user_blocks(context, text, images),
            ),
            Item::Assistant { blocks, complete } => {
                if messages.is_empty() {
                    push(&mut messages, Role::User, vec![text_block(LOST_START)]);
                }
                open = calls_of(blocks).collect();
                push(
                    &mut messages,
                    Role::Assistant,
                    assistant_blocks(blocks, *complete),
                );
            }
            Item::ToolResults { results } => {
                let blocks = result_blocks(&mut open, results, &state.compacted);
                push(&mut messages, Role::User, blocks);
            }
        }
    }
    push(&mut messages, Role::User, lost_results(open.drain(..)));
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

fn text_block(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn calls_of(blocks: &[AssistantBlock]) -> impl Iterator<Item = (CallId, &str)> {
    blocks.iter().filter_map(|block| match block {
        AssistantBlock::Call { call, wire_id, .. } => Some((*call, wire_id.as_str())),
        AssistantBlock::Text { .. } | AssistantBlock::Opaque { .. } => None,
    })
}

/// Returns results for calls whose own are lost: every wire refuses a conversation with a call that nothing answers.
fn lost_results<'a>(calls: impl Iterator<Item = (CallId, &'a str)>) -> Vec<Block> {
    calls
        .map(|(_, wire_id)| Block::Result {
            id: wire_id.to_owned(),
            text: LOST_RESULT.to_owned(),
            is_error: true,
            images: Vec::new(),
        })
        .collect()
}

/// Answers the open calls in their order. What answers none of them becomes text.
fn result_blocks(
    open: &mut Vec<(CallId, &str)>,
    results: &[ToolResult],
    compacted: &HashSet<CallId>,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    let called: Vec<_> = std::mem::take(open);
    for called in called.iter().copied() {
        match results.iter().find(|result| result.call == called.0) {
            Some(result) => blocks.push(result_block(result, compacted)),
            None => blocks.extend(lost_results(std::iter::once(called))),
        }
    }
    let is_open = |result: &&ToolResult| called.iter().any(|(call, _)| *call == result.call);
    for result in results.iter().filter(|result| !is_open(result)) {
        let text = match compacted.contains(&result.call) {
            true => pointer(result),
            false => result.text.clone(),
        };
        blocks.push(Block::Text(format!("{LOST_CALL}\n{text}")));
    }
    blocks
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
