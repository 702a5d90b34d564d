//! The names of methods, spelled once.

/// Legacy handshake.
pub const INITIALIZE: &str = "initialize";
/// Legacy: the handshake is over.
pub const INITIALIZED: &str = "notifications/initialized";
/// Legacy: are you there.
pub const PING: &str = "ping";
/// Modern: what a server is.
pub const DISCOVER: &str = "server/discover";
/// The tools of a server.
pub const TOOLS_LIST: &str = "tools/list";
/// Calls a tool.
pub const TOOLS_CALL: &str = "tools/call";
/// The resources of a server.
pub const RESOURCES_LIST: &str = "resources/list";
/// The URI templates of a server.
pub const RESOURCE_TEMPLATES_LIST: &str = "resources/templates/list";
/// Reads a resource.
pub const RESOURCES_READ: &str = "resources/read";
/// Legacy: tell me when a resource changes.
pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
/// Legacy: no longer.
pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
/// The prompts of a server.
pub const PROMPTS_LIST: &str = "prompts/list";
/// Renders a prompt.
pub const PROMPTS_GET: &str = "prompts/get";
/// Completes an argument.
pub const COMPLETE: &str = "completion/complete";
/// Legacy: how much to log.
pub const SET_LEVEL: &str = "logging/setLevel";
/// Asks a person.
pub const ELICITATION_CREATE: &str = "elicitation/create";
/// Asks the client's model.
pub const SAMPLING_CREATE: &str = "sampling/createMessage";
/// Asks for the client's folders.
pub const ROOTS_LIST: &str = "roots/list";
/// Modern: opens a stream of notifications.
pub const LISTEN: &str = "subscriptions/listen";
/// Modern: the first message on it.
pub const LISTEN_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// A task's state.
pub const TASKS_GET: &str = "tasks/get";
/// 2025-11-25: a task's result, waits for it.
pub const TASKS_RESULT: &str = "tasks/result";
/// 2025-11-25: the tasks of a server.
pub const TASKS_LIST: &str = "tasks/list";
/// Ends a task.
pub const TASKS_CANCEL: &str = "tasks/cancel";
/// Modern: answers a task's questions.
pub const TASKS_UPDATE: &str = "tasks/update";
/// How far a request is.
pub const PROGRESS: &str = "notifications/progress";
/// The sender no longer wants an answer.
pub const CANCELLED: &str = "notifications/cancelled";
/// A log line of the server.
pub const LOG_MESSAGE: &str = "notifications/message";
/// The tools changed.
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
/// The prompts changed.
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
/// The resources changed.
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
/// A resource changed.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// Legacy: the client's folders changed.
pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
/// 2025-11-25: a person is done at a URL.
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
/// 2025-11-25: a task's state changed.
pub const TASK_STATUS: &str = "notifications/tasks/status";
/// Modern: a task's state changed.
pub const TASK_CHANGED: &str = "notifications/tasks";

/// Whether only the modern era lacks this client request: `initialize`, `ping` and what went with sessions.
#[must_use]
pub fn is_legacy_only(method: &str) -> bool {
    matches!(
        method,
        INITIALIZE
            | INITIALIZED
            | PING
            | SET_LEVEL
            | RESOURCES_SUBSCRIBE
            | RESOURCES_UNSUBSCRIBE
            | ROOTS_CHANGED
            | TASKS_RESULT
            | TASKS_LIST
            | ELICITATION_COMPLETE
            | TASK_STATUS
    )
}

/// Whether a modern server may answer this request with questions.
#[must_use]
pub fn may_ask(method: &str) -> bool {
    matches!(method, TOOLS_CALL | PROMPTS_GET | RESOURCES_READ)
}
