//! Streams an answer and commits it to the conversation.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use cox_protocol::{AssistantBlock, CallId, Event, Item, Money, TokenUsage};
use cox_store::StoreError;
use llm::{Block, Observer, Reply, Request, Stop};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use untrusted_text::{
    Untrusted,
    redact::{Redactor, StreamRedactor},
};

use crate::{context::request::wire_name, dispatch::Asked, engine::Engine, inbox::Wake};

/// Most characters of a name that came from a provider.
const MAX_NAME_CHARS: usize = 200;

impl Engine {
    /// *Stream*: sends a request and shows what arrives while it arrives.
    pub(super) async fn stream(
        &mut self,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Result<Result<Reply, llm::Error>, StoreError> {
        let started = Instant::now();
        let arrived = Arc::new(Arrived::default());
        let mut observer = Listener {
            arrived: Arc::clone(&arrived),
        };
        let provider = Arc::clone(&self.provider);
        let answer = provider.stream(request, &mut observer, cancel);
        tokio::pin!(answer);
        let mut shown = Shown::new(&self.redactor);
        let reply = loop {
            tokio::select! {
                reply = &mut answer => break reply,
                () = arrived.notify.notified() => {}
                Some(wake) = self.inbox.recv() => self.stream_wake(wake, cancel).await?,
            }
            self.show(&arrived, &mut shown).await?;
        };
        self.show(&arrived, &mut shown).await?;
        for event in shown.rest() {
            self.journal.emit(event).await?;
        }
        if let Ok(reply) = &reply {
            self.account(request, reply, started.elapsed()).await?;
        }
        Ok(reply)
    }

    async fn stream_wake(
        &mut self,
        wake: Wake,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        match wake {
            // A late word of a call of an earlier answer, which is recorded already.
            Wake::Call(_) => Ok(()),
            wake => self.wake(wake, cancel).await,
        }
    }

    async fn show(&mut self, arrived: &Arrived, shown: &mut Shown) -> Result<(), StoreError> {
        while let Some(piece) = arrived.pop() {
            if let Some(event) = shown.event(piece) {
                self.journal.emit(event).await?;
            }
        }
        Ok(())
    }

    /// Writes the ledger row of a request.
    async fn account(
        &mut self,
        request: &Request,
        reply: &Reply,
        took: Duration,
    ) -> Result<(), StoreError> {
        let usage = reply.usage;
        self.estimator
            .learn(request, usage.input + usage.cache_read + usage.cache_write);
        let cost = self
            .price
            .map(|price| Money(llm::catalog::cost(&usage, &price)));
        let event = Event::Usage {
            turn: self.journal.state.turn,
            provider: self.provider.name().to_owned(),
            model: self.clean_name(&reply.model),
            tokens: TokenUsage {
                input: usage.input,
                output: usage.output,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write,
            },
            cost,
            latency_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            request_id: reply.request_id.as_deref().map(|id| self.clean_name(id)),
        };
        self.journal.emit(event).await
    }

    /// *Commit*: the answer becomes an item; its calls are returned as the model wrote them.
    pub(super) async fn commit(&mut self, reply: Reply) -> Result<Vec<Asked>, StoreError> {
        let complete = !matches!(
            reply.stop,
            Stop::Cancelled | Stop::Broken(_) | Stop::MaxTokens
        );
        let mut calls = Vec::new();
        let blocks: Vec<AssistantBlock> = reply
            .blocks
            .into_iter()
            .filter_map(|block| self.to_item_block(block, &mut calls))
            .collect();
        if !blocks.is_empty() || !complete {
            self.journal
                .emit(Event::ItemAdded {
                    item: Item::Assistant { blocks, complete },
                })
                .await?;
        }
        Ok(calls)
    }

    /// Returns the name of a called tool without secrets, controls or excess. The names of our tools stay as they are.
    fn clean_name(&self, name: &str) -> String {
        untrusted_text::terminal::one_line(&self.redactor.redact(name).text, MAX_NAME_CHARS)
    }

    /// Returns the provider's id of a call, or one of ours where the provider gave none or one that this conversation has
    /// already: a wire takes every id once, and a result must find its call.
    fn own_id(&self, id: String, call: CallId, earlier: &[Asked]) -> String {
        let is_taken =
            earlier.iter().any(|asked| asked.wire_id == id) || self.journal.state.has_wire_id(&id);
        match id.is_empty() || is_taken || self.redactor.redact(&id).count > 0 {
            true => format!("call_{call}"),
            false => id,
        }
    }

    fn to_item_block(&self, block: Block, calls: &mut Vec<Asked>) -> Option<AssistantBlock> {
        match block {
            Block::Text(text) => (!text.is_empty()).then(|| AssistantBlock::Text {
                text: self.redactor.redact(&text).text.into_owned(),
            }),
            Block::Call { id, name, input } => {
                let call = CallId::generate();
                let kept = self.redactor.redact(&input).text.into_owned();
                let name = self.clean_name(&name);
                let id = self.own_id(id, call, calls);
                calls.push(Asked {
                    call,
                    wire_id: id.clone(),
                    name: name.clone(),
                    input,
                });
                Some(AssistantBlock::Call {
                    call,
                    wire_id: id,
                    name,
                    input: kept,
                })
            }
            // A block that goes back unchanged cannot be redacted: one that holds a secret is left out.
            Block::Opaque(block) => {
                (self.redactor.redact(&block.json).count == 0).then(|| AssistantBlock::Opaque {
                    wire: wire_name(block.wire).to_owned(),
                    model: block.model,
                    json: block.json,
                })
            }
            // A model sends neither images nor results.
            Block::Image(_) | Block::Result { .. } => None,
        }
    }
}

/// One piece of an answer on its way to the session.
enum Piece {
    Text(String),
    Thinking(String),
    Retrying {
        reason: String,
        attempt: u32,
        after: Duration,
    },
}

/// Pieces that arrived and are not shown yet. Unbounded, but the provider is polled only while this is emptied.
#[derive(Default)]
struct Arrived {
    pieces: Mutex<VecDeque<Piece>>,
    notify: Notify,
}

impl Arrived {
    fn push(&self, piece: Piece) {
        self.pieces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(piece);
        self.notify.notify_one();
    }

    fn pop(&self) -> Option<Piece> {
        self.pieces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }
}

struct Listener {
    arrived: Arc<Arrived>,
}

impl Observer for Listener {
    fn text(&mut self, piece: &str) {
        self.arrived.push(Piece::Text(piece.to_owned()));
    }

    fn thinking(&mut self, piece: &str) {
        self.arrived.push(Piece::Thinking(piece.to_owned()));
    }

    fn retrying(&mut self, reason: &str, attempt: u32, after: Duration) {
        self.arrived.push(Piece::Retrying {
            reason: reason.to_owned(),
            attempt,
            after,
        });
    }
}

/// Turns pieces into events, with secrets replaced also where one is spread over pieces.
struct Shown {
    redactor: Redactor,
    text: StreamRedactor,
    thinking: StreamRedactor,
}

impl Shown {
    fn new(redactor: &Redactor) -> Self {
        Self {
            redactor: redactor.clone(),
            text: redactor.stream(),
            thinking: redactor.stream(),
        }
    }

    fn event(&mut self, piece: Piece) -> Option<Event> {
        match piece {
            Piece::Text(piece) => text_event(self.text.push(piece.as_bytes())),
            Piece::Thinking(piece) => thinking_event(self.thinking.push(piece.as_bytes())),
            Piece::Retrying {
                reason,
                attempt,
                after,
            } => Some(Event::Retrying {
                reason: self.redactor.redact(&reason).text.into_owned(),
                attempt,
                after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
            }),
        }
    }

    /// Returns what was held back.
    fn rest(mut self) -> impl Iterator<Item = Event> {
        let thinking = thinking_event(self.thinking.finish());
        let text = text_event(self.text.finish());
        thinking.into_iter().chain(text)
    }
}

fn text_event(bytes: Vec<u8>) -> Option<Event> {
    shown_text(bytes).map(|text| Event::TextDelta { text })
}

fn thinking_event(bytes: Vec<u8>) -> Option<Event> {
    shown_text(bytes).map(|text| Event::ThinkingDelta { text })
}

/// The pieces of an answer are whole characters, and the redactor cuts only between them.
fn shown_text(bytes: Vec<u8>) -> Option<Untrusted> {
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    (!text.is_empty()).then(|| Untrusted::new(text))
}
