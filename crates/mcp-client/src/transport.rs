//! How messages get to a server and back: over a program's standard streams, over streamable HTTP, over the old
//! HTTP+SSE. One trait for all; which message belongs to which request is decided here, because only the transport
//! knows the stream it came on.

pub(crate) mod http;
pub(crate) mod sse;
pub(crate) mod stdio;

use async_trait::async_trait;
use mcp_wire::{Frame, Id, Notification, Raw, Request, Response, Revision, RpcError};
use tokio::sync::{mpsc, oneshot};
use untrusted_text::Untrusted;

use crate::failure::{Cause, Delivery};

/// How many messages about one request wait to be looked at. What comes when it is full is dropped and counted.
pub(crate) const MESSAGES: usize = 256;

/// An answer that will not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Whether the request can have had an effect.
    pub delivery: Delivery,
    /// What went wrong.
    pub cause: Cause,
    /// In words.
    pub why: String,
}

impl Broken {
    pub(crate) fn new(delivery: Delivery, cause: Cause, why: impl Into<String>) -> Self {
        Self {
            delivery,
            cause,
            why: why.into(),
        }
    }
}

/// A request on its way out.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    /// The request, its `_meta` included.
    pub request: Request,
    /// Modern, over HTTP: headers that mirror arguments, names without their prefix and values before encoding.
    pub param_headers: Vec<(String, String)>,
}

/// What the server answers, or why it will not.
pub(crate) type Answered = Result<Result<Raw, RpcError>, Broken>;

/// A request that is under way. Dropping it tells the server that nobody waits any more.
pub(crate) struct Exchange {
    /// Messages about this request: progress, log lines, and in the legacy era questions. Boxed: most requests get none, and
    /// room is made for many.
    pub messages: mpsc::Receiver<Box<Frame>>,
    /// The answer. When the sender is dropped without one, the connection is gone.
    pub answer: oneshot::Receiver<Answered>,
    /// Undoes what the transport keeps about the request, and cancels it when it was not answered.
    pub guard: Box<dyn Underway>,
}

/// What a transport keeps about a request that is under way.
pub(crate) trait Underway: Send + Sync {
    /// Whether the server may have seen the request.
    fn may_have_arrived(&self) -> bool {
        true
    }
}

/// What belongs to no request.
#[derive(Debug)]
pub(crate) enum Stray {
    /// A notification or a request of the server that cannot be attributed to one of ours.
    Message(Frame),
    /// Something that is no message: a line of a banner, an answer to nothing, a message that cannot be read.
    Noise(String),
    /// The connection is gone.
    Closed(Broken),
}

/// A way to a server.
#[async_trait]
pub(crate) trait Transport: Send + Sync {
    /// Sends a request. Returns as soon as answers can come; whether it was written is in how it breaks.
    async fn send(&self, outgoing: Outgoing) -> Result<Exchange, Broken>;

    /// Sends a notification.
    async fn notify(&self, notification: Notification) -> Result<(), Broken>;

    /// Answers a request of the server (legacy).
    async fn respond(&self, response: Response) -> Result<(), Broken>;

    /// The handshake ended with this revision; later messages are sent as it wants them.
    fn agreed(&self, revision: Revision);

    /// Opens what carries unrelated messages after a legacy handshake, where there is such a thing. Never waits.
    fn open_back_channel(&self) {}

    /// Whether arguments are mirrored into headers, so that a tool with a forbidden annotation has to be dropped.
    fn mirrors_headers(&self) -> bool {
        false
    }

    /// The last lines of the server's stderr.
    fn stderr(&self) -> Option<Untrusted> {
        None
    }

    /// The process, when the server is a program.
    fn pid(&self) -> Option<i32> {
        None
    }

    /// Whether it is known that nothing can be sent any more.
    fn is_closed(&self) -> bool {
        false
    }

    /// Ends it: closes what is open, lets the server end by itself for a moment, then ends it as a tree. Returns the
    /// process ids of what could not be ended.
    async fn close(&self) -> Vec<i32>;
}

/// Brings credentials for a server over HTTP. Implemented by [`crate::auth`], or by a product that has a token already.
#[async_trait]
pub trait Authorizer: Send + Sync {
    /// The value of the `authorization` header for the next request; `None` when there is none yet.
    async fn header(&self) -> Result<Option<String>, String>;

    /// The server answered 401 or 403 with these `www-authenticate` values to a request that carried `sent`. Returns
    /// whether it is worth sending again.
    ///
    /// # Errors
    /// When a person has to do something first: in words.
    async fn challenged(
        &self,
        status: u16,
        challenges: &[String],
        sent: Option<&str>,
    ) -> Result<bool, String>;
}

/// The request's id as the token that progress is reported under.
pub(crate) fn progress_token(id: &Id) -> Raw {
    id.raw()
}
