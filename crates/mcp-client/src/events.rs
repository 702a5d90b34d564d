//! What a server says without being asked.

use mcp_wire::{Object, Raw};

/// Something a server said that belongs to no call.
#[derive(Debug, Clone)]
pub enum Event {
    /// Its tools changed.
    ToolsChanged,
    /// Its prompts changed.
    PromptsChanged,
    /// Its resources changed.
    ResourcesChanged,
    /// A subscribed resource changed.
    ResourceUpdated {
        /// Text from outside.
        uri: String,
    },
    /// A log line.
    Log {
        /// `debug` to `emergency`, as the server said.
        level: String,
        /// Where in the server.
        logger: Option<String>,
        /// What it logged, any JSON.
        data: Raw,
        /// Whether it came with a call: on its own stream, or while it was the only open one.
        in_call: bool,
    },
    /// 2025-11-25: a person is done at a URL.
    ElicitationComplete {
        /// The id that came with the URL.
        elicitation_id: String,
    },
    /// A task's state changed.
    TaskChanged {
        /// The notification's params.
        params: Object,
    },
    /// A notification that this build does not know.
    Unknown {
        /// Its method.
        method: String,
        /// Its params.
        params: Object,
    },
    /// Something that is no message, or an answer to nothing: dropped and quoted.
    Noise {
        /// The beginning of it; text from outside.
        head: String,
    },
    /// The server sent a request that cannot be attributed to one of several callers: it was refused. One call at a time
    /// would have it attributed.
    Unattributed {
        /// The request's method, such as `elicitation/create`.
        method: String,
    },
    /// The server asked what nobody can answer who could be asked: it was told so at once.
    Unasked {
        /// What the one who made the call cannot do: `fill in forms`, …
        cannot: &'static str,
        /// What the caller named the call; `None` when it belonged to none.
        call: Option<String>,
    },
    /// The session was lost and begun anew; what was subscribed is subscribed again.
    SessionRenewed,
    /// The connection is gone.
    Closed {
        /// In words.
        why: String,
    },
}
