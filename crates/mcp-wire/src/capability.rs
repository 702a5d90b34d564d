//! Who a peer says it is and what it says it can do. Unknown capabilities are kept.

use crate::json::{JsonError, Object, Raw};

/// The extension that modern servers answer with tasks under.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// `clientInfo` and `serverInfo`: name, version, and what else was there. For showing only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Implementation {
    /// Text from outside.
    pub name: String,
    /// Text from outside; empty when none was given.
    pub version: String,
    raw: Object,
}

impl Implementation {
    /// Ours.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        let raw = Object::new().with("name", name).with("version", version);
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            raw,
        }
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it is no object or has no name.
    pub fn parse(raw: &Raw) -> Result<Self, JsonError> {
        let raw = raw.object()?;
        let name = raw
            .string("name")
            .ok_or_else(|| JsonError::new("an implementation without a name"))?;
        Ok(Self {
            name,
            version: raw.string("version").unwrap_or_default(),
            raw,
        })
    }

    /// The whole object.
    #[must_use]
    pub fn raw(&self) -> &Object {
        &self.raw
    }
}

/// What a client can answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientCapabilities(Object);

impl From<Object> for ClientCapabilities {
    fn from(object: Object) -> Self {
        Self(object)
    }
}

impl ClientCapabilities {
    /// The whole object.
    #[must_use]
    pub fn raw(&self) -> &Object {
        &self.0
    }

    /// Declares forms and URLs, each only when it is true; neither declares nothing.
    #[must_use]
    pub fn with_elicitation(mut self, form: bool, url: bool) -> Self {
        let mut modes = Object::new();
        for (mode, declared) in [("form", form), ("url", url)] {
            if declared {
                modes.set(mode, Object::new());
            }
        }
        if !modes.is_empty() {
            self.0.set("elicitation", modes);
        }
        self
    }

    /// Declares an extension without settings.
    #[must_use]
    pub fn with_extension(mut self, id: &str) -> Self {
        let extensions = self
            .0
            .object("extensions")
            .unwrap_or_default()
            .with(id, Object::new());
        self.0.set("extensions", extensions);
        self
    }

    /// Sets one capability.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Raw>) -> Self {
        self.0.set(name, value);
        self
    }

    /// Whether forms may be asked: `elicitation: {}` means them too.
    #[must_use]
    pub fn forms(&self) -> bool {
        self.0
            .object("elicitation")
            .is_some_and(|modes| modes.contains("form") || !modes.contains("url"))
    }

    /// Whether URLs may be offered.
    #[must_use]
    pub fn urls(&self) -> bool {
        self.0
            .object("elicitation")
            .is_some_and(|modes| modes.contains("url"))
    }

    /// Whether the client's model may be asked.
    #[must_use]
    pub fn sampling(&self) -> bool {
        self.0.contains("sampling")
    }

    /// Whether the client's folders may be asked for.
    #[must_use]
    pub fn roots(&self) -> bool {
        self.0.contains("roots")
    }

    /// Whether an extension is declared.
    #[must_use]
    pub fn extension(&self, id: &str) -> bool {
        self.0
            .object("extensions")
            .is_some_and(|extensions| extensions.contains(id))
    }
}

/// What a server offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerCapabilities(Object);

impl From<Object> for ServerCapabilities {
    fn from(object: Object) -> Self {
        Self(object)
    }
}

impl ServerCapabilities {
    /// The whole object.
    #[must_use]
    pub fn raw(&self) -> &Object {
        &self.0
    }

    /// Sets one capability.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Raw>) -> Self {
        self.0.set(name, value);
        self
    }

    /// Whether a capability is there: `tools`, `resources`, `prompts`, `completions`, `logging`, `tasks`.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Whether a capability has a switch on, as in `tools.listChanged`.
    #[must_use]
    pub fn switch(&self, name: &str, switch: &str) -> bool {
        self.0
            .object(name)
            .and_then(|object| object.get(switch).and_then(Raw::boolean))
            .unwrap_or(false)
    }

    /// Whether an extension is offered.
    #[must_use]
    pub fn extension(&self, id: &str) -> bool {
        self.0
            .object("extensions")
            .is_some_and(|extensions| extensions.contains(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> ClientCapabilities {
        ClientCapabilities::from(Raw::parse(text).unwrap().object().unwrap())
    }

    #[test]
    fn an_empty_elicitation_means_forms_and_a_url_alone_does_not() {
        assert!(client(r#"{"elicitation":{}}"#).forms());
        assert!(!client(r#"{"elicitation":{}}"#).urls());
        assert!(!client(r#"{"elicitation":{"url":{}}}"#).forms());
        assert!(client(r#"{"elicitation":{"form":{},"url":{}}}"#).forms());
        assert!(!client("{}").forms());
        assert_eq!(
            ClientCapabilities::default().with_elicitation(false, false),
            ClientCapabilities::default()
        );
    }
}
