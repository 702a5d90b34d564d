//! Who asks, and what may be said to them while their request runs.

use std::sync::{Arc, Mutex, PoisonError};

use mcp_wire::capability::TASKS_EXTENSION;
use mcp_wire::json::Kind;
use mcp_wire::{
    ClientCapabilities, Era, Frame, Implementation, Notification, Object, Raw, Revision, meta,
    method,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::spell;
use crate::stream::{CallStream, Sink};

/// How grave a log line is, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the words of the specification, from RFC 5424")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Level {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Debug, "debug"),
        (Self::Info, "info"),
        (Self::Notice, "notice"),
        (Self::Warning, "warning"),
        (Self::Error, "error"),
        (Self::Critical, "critical"),
        (Self::Alert, "alert"),
        (Self::Emergency, "emergency"),
    ];

    /// As it is spelled.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The level of this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|(_, word)| *word == text)
            .map(|(level, _)| level)
    }
}

/// Who asks, and the way back to them. A clone may outlive the request; what it says then is left out.
#[derive(Clone)]
pub struct Context {
    /// The revision that is spoken.
    pub revision: Revision,
    /// What the client can answer, in this request or, for a legacy client, in this session.
    pub client_capabilities: ClientCapabilities,
    /// Who the client says it is; for showing only.
    pub client_info: Option<Implementation>,
    /// Whom the transport let in, when it asks for that.
    pub principal: Option<String>,
    /// The legacy session, or the connection over stdio. `None` for a modern request over HTTP, which belongs to nothing.
    pub connection: Option<u64>,
    /// Cancelled when the client no longer wants the answer. Not when it closes the stream of an answered request.
    pub cancelled: CancellationToken,
    /// From which level on the client wants log lines in this request; `None`: none.
    pub log_level: Option<Level>,
    /// 2025-11-25: whether the client asked for a task in so many words.
    pub task_requested: bool,
    pub(crate) progress: Option<Arc<ProgressOut>>,
    pub(crate) stream: CallStream,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("revision", &self.revision)
            .field("client_capabilities", &self.client_capabilities)
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}

/// The progress of one request, under the client's own token.
pub(crate) struct ProgressOut {
    token: Raw,
    /// What was said last: it may not fall.
    last: Mutex<Option<f64>>,
}

impl ProgressOut {
    /// Takes the token out of a request's params.
    pub(crate) fn take(params: &mut Object) -> Option<Arc<Self>> {
        let token = meta::get(params, meta::PROGRESS_TOKEN)?;
        meta::strip(params, &[meta::PROGRESS_TOKEN]);
        matches!(token.kind(), Kind::String | Kind::Number).then(|| {
            Arc::new(Self {
                token,
                last: Mutex::new(None),
            })
        })
    }
}

impl Context {
    /// The era that is spoken.
    #[must_use]
    pub fn era(&self) -> Era {
        self.revision.era()
    }

    /// Whether the client asked for progress.
    #[must_use]
    pub fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// Whether the client gets a [`crate::Reply::Task`] as a task; else the work is waited for.
    #[must_use]
    pub fn takes_tasks(&self) -> bool {
        match self.era() {
            Era::Modern => self.client_capabilities.extension(TASKS_EXTENSION),
            Era::Legacy => self.task_requested,
        }
    }

    /// Says how far the request is. Left out when the client did not ask, when the number falls, and when the client does
    /// not keep up.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let params = Object::new()
            .with("progress", number(progress))
            .with_some("total", total.map(number))
            .with_some("message", message);
        self.progress_as_it_came(params);
    }

    /// As [`Context::progress`], with the params of somebody else's notification; the token in them is replaced.
    pub fn progress_as_it_came(&self, mut params: Object) {
        let Some(out) = &self.progress else { return };
        if let Some(number) = params.get("progress").and_then(Raw::number) {
            let mut last = out.last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.is_some_and(|last| number < last) {
                return;
            }
            *last = Some(number);
        }
        params.set(meta::PROGRESS_TOKEN, out.token.clone());
        self.notify(Notification::new(method::PROGRESS, params));
    }

    /// Whether a log line of this level would go out.
    #[must_use]
    pub fn would_log(&self, level: Level) -> bool {
        self.log_level.is_some_and(|least| level >= least)
    }

    /// Logs to the client, when it wants lines of this level. Left out when the client does not keep up.
    pub fn log(&self, level: Level, logger: Option<&str>, data: impl Into<Raw>) {
        if !self.would_log(level) {
            return;
        }
        let params = Object::new()
            .with("level", level.word())
            .with_some("logger", logger)
            .with("data", data);
        self.notify(Notification::new(method::LOG_MESSAGE, params));
    }

    /// Sends a notification that belongs to this request. Keys of `_meta` that only a server may set are taken out.
    pub fn notify(&self, mut notification: Notification) {
        spell::strip_ours(&mut notification.params);
        self.stream.offer(Frame::from(notification).to_raw());
    }

    /// Legacy over HTTP: ends the present connection of this request; the client fetches the rest with a new one. Without
    /// effect anywhere else.
    pub fn release_connection(&self) {
        if let Some(Sink::Log(log)) = self.stream.sink() {
            log.release();
        }
    }
}

/// A number as people write it: 50, not 50.0.
fn number(number: f64) -> Raw {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "only what is whole and small"
    )]
    if number.fract() == 0.0 && number.abs() < 9.0e15 {
        return Raw::from(number as i64);
    }
    Raw::of(&number)
}

/// What a client has to declare before it may be asked, as `requiredCapabilities` of an error.
pub(crate) fn required(path: &[&str]) -> Object {
    let mut value = Value::Object(serde_json::Map::new());
    for name in path.iter().rev() {
        let mut outer = serde_json::Map::new();
        outer.insert((*name).to_owned(), value);
        value = Value::Object(outer);
    }
    Object::new().with("requiredCapabilities", Raw::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_by_gravity_and_read_as_they_are_spelled() {
        assert!(Level::Debug < Level::Info && Level::Alert < Level::Emergency);
        for (level, word) in Level::ALL {
            assert_eq!((level.word(), Level::parse(word)), (word, Some(level)));
        }
        assert_eq!(Level::parse("loud"), None);
    }
}
