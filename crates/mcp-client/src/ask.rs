//! The only way from a server to a person, to the client's model and to its folders.

use std::time::Duration;

use async_trait::async_trait;
use mcp_wire::{Answer, ClientCapabilities, Object, Question};

/// Which questions can be answered. Only these are declared to a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// A person can fill in forms.
    pub forms: bool,
    /// A person can be offered a URL.
    pub urls: bool,
    /// A model can be asked.
    pub sampling: bool,
    /// There are folders to tell about.
    pub roots: bool,
}

impl Abilities {
    /// Whether a question is of a declared kind.
    #[must_use]
    pub fn cover(self, question: &Question) -> bool {
        match question {
            Question::Form { .. } => self.forms,
            Question::Url { .. } => self.urls,
            Question::Sampling { .. } => self.sampling,
            Question::Roots => self.roots,
            Question::Unknown { .. } => false,
        }
    }

    /// These and those.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            forms: self.forms || other.forms,
            urls: self.urls || other.urls,
            sampling: self.sampling || other.sampling,
            roots: self.roots || other.roots,
        }
    }

    /// These, but not those.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self {
            forms: self.forms && !other.forms,
            urls: self.urls && !other.urls,
            sampling: self.sampling && !other.sampling,
            roots: self.roots && !other.roots,
        }
    }

    /// The same as it is declared.
    #[must_use]
    pub fn declared(self) -> ClientCapabilities {
        let mut capabilities =
            ClientCapabilities::default().with_elicitation(self.forms, self.urls);
        if self.sampling {
            capabilities = capabilities.with("sampling", Object::new());
        }
        if self.roots {
            capabilities = capabilities.with("roots", Object::new());
        }
        capabilities
    }
}

/// A question and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The server's configured name.
    pub server: String,
    /// What the caller named the call that raised it; `None` when it cannot be attributed to one.
    pub call: Option<String>,
    /// The question. Its text is text from outside.
    pub question: Question,
}

/// Answers questions. Called only for kinds that [`Ask::abilities`] names; everything else is refused before.
///
/// The call's clock stands while this runs. When the time is over, the future is dropped and the question counts as
/// cancelled.
#[async_trait]
pub trait Ask: Send + Sync {
    /// What can be answered, now.
    fn abilities(&self) -> Abilities;

    /// Answers one question within `deadline`.
    async fn ask(&self, asked: Asked, deadline: Duration) -> Answer;
}
