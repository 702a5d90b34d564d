//! What a provider promises, whatever wire it speaks.

use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{Block, Request, Wire};

/// Something that answers requests.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Its configured name, such as `anthropic` or `local`.
    fn name(&self) -> &str;

    /// The model it asks.
    fn model(&self) -> &str;

    /// The wire it speaks.
    fn wire(&self) -> Wire;

    /// The model's context window in tokens.
    fn context_window(&self) -> u64;

    /// Streams one answer. Returns when the answer is complete, was cut, or failed for good.
    ///
    /// A cancelled token ends the stream at once and returns what arrived, with [`Stop::Cancelled`]. An answer whose
    /// stream broke after its first block returns as [`Stop::Broken`] with `complete: false`; retries happen only while
    /// nothing of the answer has been observed.
    ///
    /// # Errors
    ///
    /// [`Error`] when there is no answer at all: it says who failed and whether another try may help. The retries allowed
    /// by the configuration are already used up by then.
    async fn stream(
        &self,
        request: &Request,
        observer: &mut dyn Observer,
        cancel: &CancellationToken,
    ) -> Result<Reply, Error>;
}

/// Is told what arrives while it arrives.
pub trait Observer: Send {
    /// A piece of text.
    fn text(&mut self, piece: &str);
    /// A piece of visible thinking.
    fn thinking(&mut self, piece: &str);
    /// A failed try is tried again after `after`.
    fn retrying(&mut self, reason: &str, attempt: u32, after: Duration);
}

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its blocks in order. A call whose arguments were cut is left out of an incomplete answer.
    pub blocks: Vec<Block>,
    /// Why it ended.
    pub stop: Stop,
    /// Tokens; zeros where the server told none.
    pub usage: Usage,
    /// The model that answered, as the server named it.
    pub model: String,
    /// The server's id of the request.
    pub request_id: Option<String>,
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The model finished.
    EndTurn,
    /// The model wants tool results.
    ToolUse,
    /// The cap on the answer was reached, and no whole call precedes the cut: with one the answer is [`Stop::ToolUse`].
    MaxTokens,
    /// The model refused; the answer holds no calls.
    Refusal(String),
    /// We cancelled.
    Cancelled,
    /// The stream broke; the answer is partial, or empty when only thinking was seen. Whole calls are kept.
    Broken(String),
}

/// Tokens of one answer. `input` leaves out what was read from or written to the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input at full price.
    pub input: u64,
    /// Output, thinking included.
    pub output: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
}

/// There is no answer.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What failed.
    pub kind: ErrorKind,
    /// Who, what and what to do, for a person; hints on lines of their own. Foreign text in it is cut and sanitised.
    pub message: String,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// How long the server asked to wait.
    pub retry_after: Option<Duration>,
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// No key, or one the server does not take.
    Auth,
    /// Too many requests, or no credit.
    RateLimited,
    /// The server is overloaded or broken (5xx).
    Overloaded,
    /// The server does not take this request.
    BadRequest,
    /// The request is larger than the model's context.
    ContextTooLong,
    /// The server could not be reached.
    Network,
    /// The server was silent for too long.
    Timeout,
    /// The server's answer could not be read.
    Malformed,
    /// The configuration is wrong.
    Config,
    /// We cancelled before anything arrived.
    Cancelled,
}

impl ErrorKind {
    /// Says whether the same request may succeed later.
    pub fn may_retry(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Overloaded | Self::Network | Self::Timeout
        )
    }
}
