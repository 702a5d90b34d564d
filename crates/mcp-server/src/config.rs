//! What the owner of a server chooses: a clock, and how much one client may take of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

/// Tells the time; a test gives its own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How a server behaves.
#[derive(Clone)]
pub struct Config {
    /// Dates of tasks, and the expiry of sealed states.
    pub clock: Clock,
    /// What may not be exceeded.
    pub limits: Limits,
}

impl Config {
    /// The usual limits, with this clock.
    pub fn new(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            limits: Limits::default(),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// How much, and how long. Every wait of a server ends by one of these.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of one message from a client.
    pub message_bytes: usize,
    /// How deep a message may nest.
    pub depth: usize,
    /// Requests that run at the same time, over all clients. One more is refused.
    pub requests: usize,
    /// How long one request may run.
    pub call: Duration,
    /// How long a client may take to answer a question in mid-call.
    pub answer: Duration,
    /// How many times one request may ask.
    pub rounds: usize,
    /// How long a cancelled request, or all of them at the end, may go on before they are dropped.
    pub grace: Duration,
    /// How long a client may leave what we wrote unread.
    pub write: Duration,
    /// How long a sealed state is good for.
    pub state: Duration,
    /// Tasks that are kept, running ones included.
    pub tasks: usize,
    /// How long a task is kept when nobody says otherwise, and at most.
    pub task_ttl: Duration,
    /// Streams of subscriptions at the same time, over all clients.
    pub listeners: usize,
    /// URIs that one client may watch.
    pub watched: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 8 * 1024 * 1024,
            depth: mcp_wire::json::MAX_DEPTH,
            requests: 512,
            call: Duration::from_secs(24 * 60 * 60),
            answer: Duration::from_secs(10 * 60),
            rounds: 16,
            grace: Duration::from_secs(5),
            write: Duration::from_secs(60),
            state: Duration::from_secs(60 * 60),
            tasks: 1_000,
            task_ttl: Duration::from_secs(60 * 60),
            listeners: 256,
            watched: 1_000,
        }
    }
}
