//! Why an operation did not do what was asked, the same on every surface.

use mcp_wire::{Object, Raw};

/// What kind of failure it is; the HTTP status and the exit code follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The request cannot be read, or names what does not exist among the configured things. 400, exit code 2 on the
    /// command line.
    BadRequest,
    /// No valid token, or a web page that may not ask. 401 and 403.
    Unauthorized,
    /// See [`Code::Unauthorized`].
    Forbidden,
    /// There is no such thing. 404.
    NotFound,
    /// There is no such method on this path. 405.
    MethodNotAllowed,
    /// It took too long. 408.
    Timeout,
    /// It is there already, or was answered already. 409.
    Conflict,
    /// It is too big. 413.
    TooLarge,
    /// It was understood and cannot be done as it is. 422.
    Unprocessable,
    /// There is no room: the pool is exhausted, or a queue is full. 429.
    Exhausted,
    /// An upstream server failed. 502.
    Upstream,
    /// The hub cannot at the moment. 503.
    Unavailable,
    /// The hub failed. 500.
    Internal,
}

impl Code {
    const ALL: [(Self, u16, &'static str); 13] = [
        (Self::BadRequest, 400, "bad_request"),
        (Self::Unauthorized, 401, "unauthorized"),
        (Self::Forbidden, 403, "forbidden"),
        (Self::NotFound, 404, "not_found"),
        (Self::MethodNotAllowed, 405, "method_not_allowed"),
        (Self::Timeout, 408, "timeout"),
        (Self::Conflict, 409, "conflict"),
        (Self::TooLarge, 413, "too_large"),
        (Self::Unprocessable, 422, "unprocessable"),
        (Self::Exhausted, 429, "exhausted"),
        (Self::Upstream, 502, "upstream"),
        (Self::Unavailable, 503, "unavailable"),
        (Self::Internal, 500, "internal"),
    ];

    fn row(self) -> (Self, u16, &'static str) {
        Self::ALL
            .into_iter()
            .find(|(code, ..)| *code == self)
            .unwrap_or((Self::Internal, 500, "internal"))
    }

    /// All of them, in the order of their statuses.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().map(|(code, ..)| code)
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> u16 {
        self.row().1
    }

    /// The word in documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.row().2
    }

    /// The code of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|(_, _, known)| *known == word)
            .map(|(code, ..)| code)
    }

    /// The code of a status.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        Self::ALL
            .into_iter()
            .find(|(_, known, _)| *known == status)
            .map_or(Self::Internal, |(code, ..)| code)
    }
}

/// An operation that did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// What kind.
    pub code: Code,
    /// What was received and what was expected. May hold text from outside, made safe for a terminal.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// More members of the document: `diagnostics`, `delivery`, `server`, `tool`, `traceId`, …
    pub data: Object,
}

impl ApiError {
    /// An error of a kind.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            data: Object::new(),
        }
    }

    /// The request cannot be read.
    #[must_use]
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, message)
    }

    /// There is no such thing.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    /// The hub failed.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// With what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With one more member of the document.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Raw>) -> Self {
        self.data.set(name, value);
        self
    }

    /// The document: `{"error": …, "code": …, "hint": …, …}`.
    #[must_use]
    pub fn to_document(&self) -> Object {
        let mut document = Object::new()
            .with("error", self.message.as_str())
            .with("code", self.code.word())
            .with_some("hint", self.hint.as_deref());
        document.append(self.data.clone());
        document
    }

    /// From a document that came with this status.
    #[must_use]
    pub fn from_document(status: u16, document: &Object) -> Self {
        let code = document
            .string("code")
            .and_then(|word| Code::of_word(&word))
            .unwrap_or_else(|| Code::of_status(status));
        Self {
            code,
            message: document
                .string("error")
                .unwrap_or_else(|| format!("the daemon answered with status {status}")),
            hint: document.string("hint"),
            data: document.without(&["error", "code", "hint"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_comes_out_of_its_document_as_it_went_in() {
        for (code, status, word) in Code::ALL {
            assert_eq!(Code::of_word(word), Some(code));
            assert_eq!(Code::of_status(status), code);
            let error = ApiError::new(code, "no server `x`")
                .hint("did you mean `y`?")
                .with("server", "x");
            assert_eq!(ApiError::from_document(status, &error.to_document()), error);
        }
    }
}
