//! What is served: the one trait that the owner of a server writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use mcp_wire::page::CacheHint;
use mcp_wire::{Answer, CallResult, Id, Notification, Object, Question, Raw, RpcError};

use crate::{Context, Level, Offer, TaskWork};

/// What is served. Requests of all clients come at the same time.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// What is offered at this moment.
    fn offer(&self) -> Arc<Offer>;

    /// Answers one request.
    ///
    /// `initialize`, `server/discover`, `ping`, `logging/setLevel`, subscriptions, and `tasks/*` unless the offer says
    /// [`Offer::keeps_tasks`], are answered by the crate and never come here. Nor does a request of a capability that is
    /// not offered. When `context.cancelled` is cancelled the future goes on for [`crate::Limits::grace`] and is then
    /// dropped.
    ///
    /// # Errors
    /// What the client is to get. A method that is not known is [`RpcError::method_not_found`].
    async fn handle(&self, incoming: Incoming, context: Context) -> Result<Reply, RpcError>;

    /// Takes a notification that the crate has no use for itself; `initialized` and `cancelled` do not come here.
    async fn notified(&self, notification: Notification, context: Context) {
        drop((notification, context));
    }

    /// A legacy session wants log lines from this level on. It is answered when this returns, or after
    /// [`crate::Limits::grace`].
    async fn level_set(&self, level: Level, context: &Context) {
        let _unused = (level, context);
    }

    /// The input schema of a tool, so that the headers of a modern request over HTTP can be compared with its arguments.
    /// `None`: they are not compared.
    async fn input_schema(&self, tool: &str, context: &Context) -> Option<Raw> {
        let _unused = (tool, context);
        None
    }

    /// A client wants to be told when a resource changes. Comes for each client.
    ///
    /// # Errors
    /// When it may not watch it.
    async fn watch(&self, uri: &str, context: &Context) -> Result<(), RpcError> {
        let _unused = (uri, context);
        Ok(())
    }

    /// The state of a task that the service keeps itself ([`Offer::keeps_tasks`]), for a client that listens to it: the
    /// params of `notifications/tasks`. `None` when it is unknown, or not for this client.
    async fn task_state(&self, id: &str, context: &Context) -> Option<Object> {
        let _unused = (id, context);
        None
    }

    /// A legacy session, or a connection over stdio, is over: the [`Context::connection`] of its requests.
    async fn disconnected(&self, connection: u64) {
        let _unused = connection;
    }

    /// Nobody watches a resource any more.
    async fn unwatch(&self, uri: &str) {
        let _unused = uri;
    }
}

/// One request, in the newest shape.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// The client's id for it; not unique among clients.
    pub id: Id,
    /// `tools/call`, …
    pub method: String,
    /// The params as they came. Taken out are what the crate owns: the keys of the envelope and the progress token in
    /// `_meta`, the answers and the state of a question, and `task`. Everything else is as it was spelled, trace keys included.
    pub params: Object,
    /// What the client answered to the questions of the last [`Reply::Ask`], by their keys. One that was not answered
    /// is not there; one that the client could not answer is [`Answer::Failed`].
    pub answers: BTreeMap<String, Answer>,
    /// The state of the last [`Reply::Ask`]. A modern client may send answers without it: they are worth what they are.
    pub state: Option<Vec<u8>>,
}

/// How a request is answered.
pub enum Reply {
    /// It is done.
    Complete {
        /// In the newest shape; `resultType` and the server's name are added.
        result: Object,
        /// How long it may be kept. Not kept when nothing is said, where the revision wants it said.
        cache: Option<CacheHint>,
    },
    /// The client has to answer first; then the request comes again. Only `tools/call`, `prompts/get` and
    /// `resources/read` may ask, and only what the client declared.
    Ask {
        /// Under keys of the service's choice. May be empty: then the request comes again at once.
        questions: Vec<(String, Question)>,
        /// Comes back as it is. It is sealed: a client can neither read nor change it.
        state: Vec<u8>,
    },
    /// It goes on for longer. A client that takes tasks gets one; for any other the work is waited for.
    Task(TaskWork),
}

impl Reply {
    /// A result, without a hint on caching.
    #[must_use]
    pub fn complete(result: Object) -> Self {
        Self::Complete {
            result,
            cache: None,
        }
    }

    /// A tool's result.
    #[must_use]
    pub fn tool(result: CallResult) -> Self {
        Self::complete(result.into_raw())
    }
}
