//! One thing that happened, as it is handed to the log.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Names of events that something reads again.
pub mod event {
    /// A call of a tool ended; the statistics count these.
    pub const CALL: &str = "mcp.call";
    /// An instance of a server started.
    pub const SERVER_START: &str = "server.start";
    /// An instance of a server stopped; the attribute `reason` says why.
    pub const SERVER_STOP: &str = "server.stop";
    /// A server said or did something that its owner should see.
    pub const SERVER_WARNING: &str = "server.warning";
    /// Records were lost; the attribute `lost` says how many.
    pub const LOG_LOST: &str = "log.lost";
}

/// How much a record matters.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For who works on the hub.
    Debug,
    /// What happened.
    #[default]
    Info,
    /// What should be looked at.
    Warn,
    /// What failed.
    Error,
}

impl Level {
    /// All levels, the least first.
    pub const ALL: [Self; 4] = [Self::Debug, Self::Info, Self::Warn, Self::Error];

    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    /// Reads a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.word() == word)
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended<'a> {
    /// With a result.
    Answered,
    /// With a result whose `isError` is set: a failure.
    AnsweredWithError,
    /// Without a result; why.
    Failed(&'a str),
}

/// One thing that happened. There is no field for arguments or results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// How much it matters.
    pub level: Level,
    /// What happened, for people. At most 4,000 bytes are kept.
    pub msg: String,
    /// The message without what varies, by which failures are grouped; empty for a message that does not vary.
    pub template: Cow<'static, str>,
    /// Its kind, such as `mcp.call`; empty for none.
    pub event: Cow<'static, str>,
    /// The server it is about.
    pub server: Option<String>,
    /// The tool it is about.
    pub tool: Option<String>,
    /// The session of the caller.
    pub session: Option<String>,
    /// The trace that it belongs to.
    pub trace: Option<String>,
    /// The trace that began that one.
    pub trace_parent: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<f64>,
    /// Whether it succeeded, where it may not.
    pub ok: Option<bool>,
    /// The instance that did it, `NAME#SEQ`.
    pub instance: Option<String>,
    /// Anything else. At most 40, each of at most 2,000 bytes; one with the name of a secret is not kept.
    pub attributes: Map<String, Value>,
}

impl Record {
    /// Makes a record of an event.
    pub fn new(level: Level, event: impl Into<Cow<'static, str>>, msg: impl Into<String>) -> Self {
        Self {
            level,
            msg: msg.into(),
            event: event.into(),
            ..Self::default()
        }
    }

    /// Makes the record of a call that ended. A result with `isError` is a failure.
    #[must_use]
    pub fn of_call(server: &str, tool: &str, ended: Ended<'_>, took: Duration) -> Self {
        let (level, msg, template) = match ended {
            Ended::Answered => (
                Level::Info,
                format!("{server}.{tool} answered"),
                "{server}.{tool} answered",
            ),
            Ended::AnsweredWithError => (
                Level::Warn,
                format!("{server}.{tool} answered with an error"),
                "{server}.{tool} answered with an error",
            ),
            Ended::Failed(why) => (
                Level::Error,
                format!("{server}.{tool} failed: {why}"),
                "{server}.{tool} failed: {why}",
            ),
        };
        Self {
            level,
            msg,
            template: Cow::Borrowed(template),
            event: Cow::Borrowed(event::CALL),
            server: Some(server.to_owned()),
            tool: Some(tool.to_owned()),
            duration_ms: Some(took.as_secs_f64() * 1_000.0),
            ok: Some(ended == Ended::Answered),
            ..Self::default()
        }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.attributes.insert(name.to_owned(), value.into());
        self
    }
}
