//! A call that goes on after it was answered, in the shapes of both eras.

use crate::input::InputRequired;
use crate::json::{JsonError, Object, Raw};

/// Where a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Going on.
    Working,
    /// Waiting for an answer.
    InputRequired,
    /// Over, with a result (modern: also one that says `isError`).
    Completed,
    /// Over, with an error (2025-11-25: also a result that says `isError`).
    Failed,
    /// Ended on request.
    Cancelled,
}

impl Status {
    /// As it is spelled.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether it will not change any more.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    fn parse(text: &str) -> Option<Self> {
        [
            Self::Working,
            Self::InputRequired,
            Self::Completed,
            Self::Failed,
            Self::Cancelled,
        ]
        .into_iter()
        .find(|status| status.word() == text)
    }
}

/// A task as a server described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The server's id for it; unguessable, to be kept.
    pub id: String,
    /// Where it is.
    pub status: Status,
    /// The server's words about it.
    pub message: Option<String>,
    /// How often to ask, in milliseconds.
    pub poll_ms: Option<u64>,
    /// How long it is kept after it was made, in milliseconds; `None` when unlimited or not said.
    pub ttl_ms: Option<u64>,
    raw: Object,
}

impl Task {
    /// Reads a task: the flat shape of the extension, or the `task` member of 2025-11-25.
    ///
    /// # Errors
    /// When it has no id or no known status.
    pub fn parse(raw: &Raw) -> Result<Self, JsonError> {
        let raw = raw.object()?;
        let id = raw
            .string("taskId")
            .ok_or_else(|| JsonError::new("a task without `taskId`"))?;
        let status = raw.string("status").unwrap_or_default();
        let status = Status::parse(&status)
            .ok_or_else(|| JsonError::new(format!("a task of the unknown status `{status}`")))?;
        Ok(Self {
            id,
            status,
            message: raw.string("statusMessage"),
            poll_ms: milliseconds(&raw, ["pollIntervalMs", "pollInterval"]),
            ttl_ms: milliseconds(&raw, ["ttlMs", "ttl"]),
            raw,
        })
    }

    /// The whole description.
    #[must_use]
    pub fn raw(&self) -> &Object {
        &self.raw
    }

    /// Modern: the result of a completed task.
    #[must_use]
    pub fn result(&self) -> Option<&Raw> {
        self.raw.get("result")
    }

    /// Modern: what a waiting task asks.
    #[must_use]
    pub fn questions(&self) -> Option<Result<InputRequired, JsonError>> {
        let requests = self.raw.get("inputRequests")?.clone();
        Some(InputRequired::parse(
            Object::new().with("inputRequests", requests),
        ))
    }
}

fn milliseconds(object: &Object, names: [&str; 2]) -> Option<u64> {
    names
        .iter()
        .find_map(|name| object.get(name).and_then(Raw::integer))
        .and_then(|number| u64::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_are_read() {
        let modern = r#"{"resultType":"task","taskId":"a","status":"working","ttlMs":null,"pollIntervalMs":500}"#;
        let task = Task::parse(&Raw::parse(modern).unwrap()).unwrap();
        assert_eq!(
            (task.poll_ms, task.ttl_ms, task.status),
            (Some(500), None, Status::Working)
        );
        let legacy = r#"{"taskId":"a","status":"failed","ttl":60000,"pollInterval":5}"#;
        let task = Task::parse(&Raw::parse(legacy).unwrap()).unwrap();
        assert_eq!((task.poll_ms, task.ttl_ms), (Some(5), Some(60_000)));
        assert!(task.status.is_over());
        assert!(Task::parse(&Raw::parse(r#"{"taskId":"a","status":"odd"}"#).unwrap()).is_err());
    }
}
