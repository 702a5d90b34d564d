//! Prompts, as a server described them, and what rendering one gave.

use crate::content::Content;
use crate::json::{JsonError, Object, Raw};

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name; text from outside.
    pub name: String,
    /// What it is, in the server's words.
    pub description: Option<String>,
    /// Whether it has to be given.
    pub required: bool,
}

/// One element of `prompts/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The server's own name for it; text from outside.
    pub name: String,
    /// What it wants to be given. One without a name is left out.
    pub arguments: Vec<Argument>,
    raw: Object,
}

impl Prompt {
    /// Reads one.
    ///
    /// # Errors
    /// When it is no object or has no name.
    pub fn parse(raw: &Raw) -> Result<Self, JsonError> {
        let raw = raw.object()?;
        let name = raw
            .string("name")
            .ok_or_else(|| JsonError::new("a prompt without a name"))?;
        let arguments = raw
            .get("arguments")
            .and_then(|list| list.array().ok())
            .unwrap_or_default();
        let arguments = arguments
            .iter()
            .filter_map(|raw| raw.object().ok())
            .filter_map(|raw| {
                Some(Argument {
                    name: raw.string("name")?,
                    description: raw.string("description"),
                    required: raw.get("required").and_then(Raw::boolean).unwrap_or(false),
                })
            });
        Ok(Self {
            name,
            arguments: arguments.collect(),
            raw,
        })
    }

    /// The whole description.
    #[must_use]
    pub fn raw(&self) -> &Object {
        &self.raw
    }
}

/// A message of a rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// `user` or `assistant`, as the server said.
    pub role: String,
    /// What it says.
    pub content: Content,
}

/// The messages that `prompts/get` gave.
///
/// # Errors
/// When `messages` is missing or one of them cannot be read.
pub fn messages(result: &Object) -> Result<Vec<Message>, JsonError> {
    let messages = result
        .get("messages")
        .ok_or_else(|| JsonError::new("a prompt's answer without `messages`"))?;
    let one = |raw: &Raw| {
        let object = raw.object()?;
        let role = object
            .string("role")
            .ok_or_else(|| JsonError::new("a message without `role`"))?;
        let content = object
            .get("content")
            .ok_or_else(|| JsonError::new("a message without `content`"))?;
        Ok(Message {
            role,
            content: Content::parse(content)?,
        })
    };
    messages.array()?.iter().map(one).collect()
}
