//! An HTTP response that is no answer.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What an HTTP request gets instead of an answer: a status, perhaps a body, perhaps headers.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    status: u16,
    body: String,
    content_type: Option<String>,
    headers: BTreeMap<String, String>,
    filler: usize,
}

impl Reply {
    /// Returns a reply without a body.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// Returns a redirect with this status, 307 or 308 mostly.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("Location", location)
    }

    /// Returns a 401 with this challenge, such as `Bearer resource_metadata="…"`.
    pub fn unauthorized(challenge: &str) -> Self {
        Self::status(401).header("WWW-Authenticate", challenge)
    }

    /// Gives it a body of this type.
    #[must_use]
    pub fn body(mut self, content_type: &str, body: impl Into<String>) -> Self {
        self.content_type = Some(content_type.to_owned());
        self.body = body.into();
        self
    }

    /// Gives it a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Gives it a header of this many bytes.
    #[must_use]
    pub fn huge_header(mut self, bytes: usize) -> Self {
        self.filler = bytes;
        self
    }

    pub(super) fn to_step(&self) -> Value {
        json!({ "do": "http", "status": self.status, "body": self.body, "content_type": self.content_type,
            "headers": self.headers, "filler": self.filler })
    }
}
