//! What a request was answered with: complete, asking, or a task; and a tool's result in particular.

use crate::content::Content;
use crate::input::InputRequired;
use crate::json::{JsonError, Object, Raw};
use crate::page::CacheHint;
use crate::task::Task;
use crate::{Revision, meta};

/// A result by its `resultType`; a result without one is complete, as every legacy one is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The answer.
    Complete(Object),
    /// The server asks first.
    InputRequired(InputRequired),
    /// The server works on, and says so under an id.
    Task(Task),
}

impl Outcome {
    /// Reads a `result`.
    ///
    /// # Errors
    /// When it is no object, or its `resultType` is one that this build does not know, or it lacks what its type needs.
    pub fn parse(raw: &Raw) -> Result<Self, JsonError> {
        let object = raw
            .object()
            .map_err(|error| JsonError::new(format!("a result: {error}")))?;
        match object.get("resultType") {
            None => match object.get("task") {
                Some(task) if !object.contains("content") => Ok(Self::Task(Task::parse(task)?)),
                _ => Ok(Self::Complete(object)),
            },
            Some(kind) => match kind.string().as_deref() {
                Some("complete") => Ok(Self::Complete(object)),
                Some("input_required") => Ok(Self::InputRequired(InputRequired::parse(object)?)),
                Some("task") => Ok(Self::Task(Task::parse(raw)?)),
                _ => Err(JsonError::new(format!(
                    "a result of the unknown type {kind}"
                ))),
            },
        }
    }
}

/// The result of `tools/call`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// The blocks, one by one; one that could not be read says why. Empty when the server sent none.
    pub content: Vec<Result<Content, JsonError>>,
    /// `structuredContent`, any JSON value.
    pub structured: Option<Raw>,
    /// Whether the tool failed.
    pub is_error: bool,
    raw: Object,
}

impl CallResult {
    /// Reads a complete result. A missing `content` is taken as none.
    ///
    /// # Errors
    /// When `content` is no array.
    pub fn parse(raw: Object) -> Result<Self, JsonError> {
        let content = match raw.get("content") {
            None => Vec::new(),
            Some(content) => content
                .array()
                .map_err(|error| JsonError::new(format!("`content`: {error}")))?
                .iter()
                .map(Content::parse)
                .collect(),
        };
        let structured = raw.get("structuredContent").cloned();
        let is_error = raw.get("isError").and_then(Raw::boolean).unwrap_or(false);
        Ok(Self {
            content,
            structured,
            is_error,
            raw,
        })
    }

    /// A result of ours, of text.
    #[must_use]
    pub fn text(text: &str, is_error: bool) -> Self {
        Self::new(vec![Content::text(text)], None, is_error)
    }

    /// A result of ours.
    #[must_use]
    pub fn new(content: Vec<Content>, structured: Option<Raw>, is_error: bool) -> Self {
        let blocks: Vec<&Raw> = content.iter().map(|content| &content.raw).collect();
        let mut raw = Object::new()
            .with("content", Raw::of(&blocks))
            .with_some("structuredContent", structured.clone());
        if is_error {
            raw.set("isError", true);
        }
        Self {
            content: content.into_iter().map(Ok).collect(),
            structured,
            is_error,
            raw,
        }
    }

    /// The whole result.
    #[must_use]
    pub fn raw(&self) -> &Object {
        &self.raw
    }

    /// The whole result.
    #[must_use]
    pub fn into_raw(self) -> Object {
        self.raw
    }

    /// Its blocks of text, one under the other.
    #[must_use]
    pub fn joined_text(&self) -> String {
        let texts = self
            .content
            .iter()
            .flatten()
            .filter_map(|content| match &content.block {
                crate::content::Block::Text(text) => Some(text.as_str()),
                _ => None,
            });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Spells a complete result as `revision` knows it. Results are built in the newest shape; a modern client gets the
/// type and, where the specification wants them, cache hints; a legacy one gets neither.
pub fn spell(result: &mut Object, revision: Revision, cache: Option<CacheHint>) {
    if revision.era() == crate::Era::Modern {
        if !result.contains("resultType") {
            result.set("resultType", "complete");
        }
        if let Some(hint) = cache.filter(|_| !result.contains("ttlMs")) {
            hint.put(result);
        }
        return;
    }
    for name in ["resultType", "ttlMs", "cacheScope"] {
        result.remove(name);
    }
    meta::strip(result, &[meta::SERVER_INFO]);
    if revision < Revision::V2025_06_18 {
        result.remove("structuredContent");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> Result<Outcome, JsonError> {
        Outcome::parse(&Raw::parse(text).unwrap())
    }

    #[test]
    fn the_type_of_a_result_decides_and_an_unknown_one_is_an_error() {
        assert!(matches!(
            outcome(r#"{"content":[]}"#),
            Ok(Outcome::Complete(_))
        ));
        assert!(matches!(
            outcome(r#"{"resultType":"complete"}"#),
            Ok(Outcome::Complete(_))
        ));
        assert!(matches!(
            outcome(r#"{"resultType":"input_required","requestState":"x"}"#),
            Ok(Outcome::InputRequired(_))
        ));
        assert!(matches!(
            outcome(r#"{"resultType":"task","taskId":"t","status":"working"}"#),
            Ok(Outcome::Task(_))
        ));
        assert!(matches!(
            outcome(r#"{"task":{"taskId":"t","status":"working"}}"#),
            Ok(Outcome::Task(_))
        ));
        assert!(
            outcome(r#"{"resultType":"later"}"#)
                .unwrap_err()
                .reason
                .contains("later")
        );
        assert!(outcome("[]").is_err());
    }

    #[test]
    fn one_broken_block_leaves_the_others_and_missing_content_is_none() {
        let raw = Raw::parse(
            r#"{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"new"}],"isError":true}"#,
        );
        let result = CallResult::parse(raw.unwrap().object().unwrap()).unwrap();
        assert!(
            result.content[0].is_ok() && result.content[1].is_err() && result.content[2].is_ok()
        );
        assert!(result.is_error);
        assert_eq!(result.joined_text(), "a");
        assert!(CallResult::parse(Object::new()).unwrap().content.is_empty());
    }

    #[test]
    fn a_result_is_spelled_down_for_a_legacy_client_and_up_for_a_modern_one() {
        let mut result = CallResult::text("hi", false).into_raw();
        spell(&mut result, Revision::V2026_07_28, Some(CacheHint::NONE));
        assert_eq!(
            Raw::from(result.clone()).as_str(),
            r#"{"content":[{"type":"text","text":"hi"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#
        );
        spell(&mut result, Revision::V2025_11_25, None);
        assert_eq!(
            Raw::from(result).as_str(),
            r#"{"content":[{"type":"text","text":"hi"}]}"#
        );
    }
}
