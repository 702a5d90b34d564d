//! A provider that answers from a script: for tests of sessions, and for the demo.
//!
//! Replies are given in order, whatever is asked, and every request is kept. Text is streamed in small pieces.
//!
//! As TOML:
//!
//! ```toml
//! model = "scripted-1"
//!
//! [[reply]]
//! say = [
//!   { thinking = "Where is the test?" },
//!   { text = "I look for the failing test." },
//!   { call = "grep", input = { pattern = "fn adds" } },
//! ]
//! usage = { input = 900, output = 40 }
//!
//! [[reply]]
//! say = [{ text = "Done." }]
//! ```
//!
//! Arguments are sent with their keys in alphabetical order; a string as `input` is sent as the JSON text it is.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use serde::Deserialize;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    Block, Error, ErrorKind, Observer, OpaqueBlock, Provider, Reply, Request, Stop, Usage, Wire,
    failure::config_error,
};

/// Characters of one streamed piece.
const PIECE_CHARS: usize = 8;

/// Answers from a script.
pub struct Scripted {
    name: String,
    model: String,
    wire: Wire,
    context_window: u64,
    script: Mutex<Script>,
}

#[derive(Default)]
struct Script {
    replies: VecDeque<ScriptedReply>,
    requests: Vec<Request>,
    calls: usize,
}

/// One scripted reply.
#[derive(Clone, Debug, Default)]
pub struct ScriptedReply {
    pieces: Vec<Piece>,
    stop: Option<Stop>,
    usage: Usage,
}

/// A piece of a scripted reply, in the order it is streamed.
#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Thinking(String),
    Call {
        id: Option<String>,
        name: String,
        input: String,
    },
    Opaque(String),
    /// Waits until it is told to go on, or is cancelled.
    Wait(Arc<Notify>),
    Fail(ErrorKind, String),
}

impl ScriptedReply {
    /// Returns a reply that says nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.piece(Piece::Text(text.into()))
    }

    /// Thinks visibly; nothing of it is a block of the reply.
    #[must_use]
    pub fn thinking(self, text: impl Into<String>) -> Self {
        self.piece(Piece::Thinking(text.into()))
    }

    /// Calls a tool with JSON text, valid or not. The ids are `call_1`, `call_2` and so on over the whole script.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a literal reads better without a borrow"
    )]
    pub fn call(self, name: impl Into<String>, input: impl ToString) -> Self {
        self.piece(Piece::Call {
            id: None,
            name: name.into(),
            input: input.to_string(),
        })
    }

    /// Calls a tool under an id of its own.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a literal reads better without a borrow"
    )]
    pub fn call_with_id(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        input: impl ToString,
    ) -> Self {
        let id = Some(id.into());
        self.piece(Piece::Call {
            id,
            name: name.into(),
            input: input.to_string(),
        })
    }

    /// Adds an opaque block of this provider, as JSON text.
    #[must_use]
    pub fn opaque(self, json: impl Into<String>) -> Self {
        self.piece(Piece::Opaque(json.into()))
    }

    /// Waits here until `gate` is notified. A cancelled request stops waiting.
    #[must_use]
    pub fn wait(self, gate: &Arc<Notify>) -> Self {
        self.piece(Piece::Wait(Arc::clone(gate)))
    }

    /// Fails here: with an error if nothing was said before, else with [`Stop::Broken`].
    #[must_use]
    pub fn fail(self, kind: ErrorKind, message: impl Into<String>) -> Self {
        self.piece(Piece::Fail(kind, message.into()))
    }

    /// Ends with this instead of what the calls suggest.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Reports these tokens.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    fn piece(mut self, piece: Piece) -> Self {
        self.pieces.push(piece);
        self
    }
}

impl Scripted {
    /// Makes a provider that gives these replies.
    pub fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let script = Script {
            replies: replies.into_iter().collect(),
            ..Script::default()
        };
        Self {
            name: "scripted".to_owned(),
            model: "scripted".to_owned(),
            wire: Wire::Messages,
            context_window: 200_000,
            script: Mutex::new(script),
        }
    }

    /// Reads a script; the form is at the top of this file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`] with line and column when the text is not such a script.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let file: ScriptFile = toml::from_str(text)
            .map_err(|error| config_error(format!("the script cannot be read: {error}")))?;
        let replies = file.reply.into_iter().map(ScriptedReply::try_from);
        let mut provider = Self::new(replies.collect::<Result<Vec<_>, _>>()?);
        if let Some(model) = file.model {
            provider.model = model;
        }
        Ok(provider)
    }

    /// Names the model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// Sets the context window in tokens.
    #[must_use]
    pub fn with_context_window(mut self, tokens: u64) -> Self {
        self.context_window = tokens;
        self
    }

    /// Claims to speak a wire, for the opaque blocks.
    #[must_use]
    pub fn with_wire(mut self, wire: Wire) -> Self {
        self.wire = wire;
        self
    }

    /// Appends a reply to the script.
    pub fn push(&self, reply: ScriptedReply) {
        self.script().replies.push_back(reply);
    }

    /// Returns the requests so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.script().requests.clone()
    }

    /// Returns how many replies are left.
    pub fn left(&self) -> usize {
        self.script().replies.len()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        // A panic elsewhere leaves nothing half-changed here.
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, request: &Request) -> Result<(ScriptedReply, usize), Error> {
        let mut script = self.script();
        script.requests.push(request.clone());
        let Some(reply) = script.replies.pop_front() else {
            let count = script.requests.len();
            return Err(config_error(format!(
                "the script has no reply for request {count}; all {} were given",
                count - 1
            )));
        };
        let first_call = script.calls;
        script.calls += reply
            .pieces
            .iter()
            .filter(|piece| matches!(piece, Piece::Call { .. }))
            .count();
        Ok((reply, first_call))
    }
}

#[async_trait]
impl Provider for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn wire(&self) -> Wire {
        self.wire
    }

    fn context_window(&self) -> u64 {
        self.context_window
    }

    async fn stream(
        &self,
        request: &Request,
        observer: &mut dyn Observer,
        cancel: &CancellationToken,
    ) -> Result<Reply, Error> {
        let (reply, mut calls) = self.next(request)?;
        let mut out = Reply {
            blocks: Vec::new(),
            stop: Stop::EndTurn,
            usage: reply.usage,
            model: self.model.clone(),
            request_id: None,
        };
        let mut has_said = false;
        for piece in reply.pieces {
            match piece {
                Piece::Text(text) => {
                    let mut said = String::new();
                    for part in pieces(&text) {
                        if cancel.is_cancelled() {
                            break;
                        }
                        observer.text(part);
                        said.push_str(part);
                        has_said = true;
                        tokio::task::yield_now().await;
                    }
                    if !said.is_empty() {
                        out.blocks.push(Block::Text(said));
                    }
                }
                Piece::Thinking(text) => {
                    for part in pieces(&text) {
                        observer.thinking(part);
                        has_said = true;
                        tokio::task::yield_now().await;
                    }
                }
                Piece::Call { id, name, input } => {
                    calls += 1;
                    let id = id.unwrap_or_else(|| format!("call_{calls}"));
                    out.blocks.push(Block::Call { id, name, input });
                    has_said = true;
                }
                Piece::Opaque(json) => {
                    let (wire, model) = (self.wire, self.model.clone());
                    out.blocks
                        .push(Block::Opaque(OpaqueBlock { wire, model, json }));
                }
                Piece::Wait(gate) => tokio::select! {
                    biased;
                    () = cancel.cancelled() => {}
                    () = gate.notified() => {}
                },
                Piece::Fail(kind, message) if !has_said => {
                    return Err(Error {
                        kind,
                        message,
                        status: None,
                        retry_after: None,
                    });
                }
                Piece::Fail(_, message) => {
                    out.stop = Stop::Broken(message);
                    return Ok(out);
                }
            }
            if cancel.is_cancelled() {
                break;
            }
        }
        if cancel.is_cancelled() {
            if !has_said {
                return Err(Error {
                    kind: ErrorKind::Cancelled,
                    message: "the scripted reply was cancelled before anything arrived".to_owned(),
                    status: None,
                    retry_after: None,
                });
            }
            out.stop = Stop::Cancelled;
            return Ok(out);
        }
        let wants_results = out
            .blocks
            .iter()
            .any(|block| matches!(block, Block::Call { .. }));
        let natural = if wants_results {
            Stop::ToolUse
        } else {
            Stop::EndTurn
        };
        out.stop = reply.stop.unwrap_or(natural);
        Ok(out)
    }
}

/// Cuts text into pieces of a few characters.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest
            .char_indices()
            .nth(PIECE_CHARS)
            .map_or(rest.len(), |(index, _)| index);
        let piece = &rest[..end];
        rest = &rest[end..];
        (!piece.is_empty()).then_some(piece)
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    model: Option<String>,
    #[serde(default)]
    reply: Vec<ReplyFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyFile {
    say: Vec<PieceFile>,
    #[serde(default)]
    usage: UsageFile,
    stop: Option<StopFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PieceFile {
    text: Option<String>,
    thinking: Option<String>,
    call: Option<String>,
    input: Option<serde_json::Value>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UsageFile {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StopFile {
    EndTurn,
    ToolUse,
    MaxTokens,
    Refusal,
}

impl TryFrom<ReplyFile> for ScriptedReply {
    type Error = Error;

    fn try_from(file: ReplyFile) -> Result<Self, Error> {
        let mut reply = Self::new();
        for piece in file.say {
            reply = match (piece.text, piece.thinking, piece.call, piece.input) {
                (Some(text), None, None, None) => reply.text(text),
                (None, Some(text), None, None) => reply.thinking(text),
                // A string is the JSON text itself, which may be wrong on purpose.
                (None, None, Some(name), Some(serde_json::Value::String(raw))) => {
                    reply.call(name, raw)
                }
                (None, None, Some(name), Some(input)) => reply.call(name, input),
                (None, None, Some(name), None) => reply.call(name, "{}"),
                _ => {
                    return Err(config_error(
                        "a piece of a script is one of `text`, `thinking`, or `call` with `input`",
                    ));
                }
            };
        }
        let UsageFile {
            input,
            output,
            cache_read,
            cache_write,
        } = file.usage;
        reply.usage = Usage {
            input,
            output,
            cache_read,
            cache_write,
        };
        reply.stop = file.stop.map(|stop| match stop {
            StopFile::EndTurn => Stop::EndTurn,
            StopFile::ToolUse => Stop::ToolUse,
            StopFile::MaxTokens => Stop::MaxTokens,
            StopFile::Refusal => Stop::Refusal("the script refuses".to_owned()),
        });
        Ok(reply)
    }
}

#[cfg(test)]
mod tests;
