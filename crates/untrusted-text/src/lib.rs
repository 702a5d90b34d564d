//! Text and URLs from outside, and the only ways out of them; secret redaction.
//!
//! Text that a model, a file, a server or a program wrote is [`Untrusted`]. It leaves the type only for a terminal
//! ([`Untrusted::for_terminal`]), for a model under a cap ([`cap`]), or verbatim where bytes must stay as they are.
//! No I/O.

pub mod cap;
pub mod command_text;
pub mod redact;
pub mod terminal;
pub mod url;

use serde::{Deserialize, Serialize};

/// Text from outside. Has no `Display`: whoever prints it must say for whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted(String);

impl Untrusted {
    /// Marks text as coming from outside.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text as it came, for storage, a wire or a comparison; never for a terminal.
    pub fn verbatim(&self) -> &str {
        &self.0
    }

    /// Returns the text as it came, consuming the mark.
    pub fn into_verbatim(self) -> String {
        self.0
    }

    /// Returns the text with every control, bidi and zero-width character removed or made visible; line breaks and
    /// tabs stay.
    pub fn for_terminal(&self) -> String {
        terminal::for_terminal(&self.0)
    }

    /// Says whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Untrusted {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Untrusted {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}
