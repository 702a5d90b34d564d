//! Follows a `$ref` within its document, and nowhere else.
//!
//! [`local`] makes every reference of a document a pointer from its root; [`resolve`] follows those.

mod local;

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value;

pub(crate) use local::{Below, below, local};

/// The references that were followed on the way to a place, the newest first; what is met again is a cycle.
#[derive(Clone, Default)]
pub(crate) struct Trail(Option<Rc<Step>>);

struct Step {
    target: *const Value,
    before: Trail,
}

impl Trail {
    /// The trail with one more step.
    pub(crate) fn with(&self, target: &Value) -> Self {
        Self(Some(Rc::new(Step {
            target: std::ptr::from_ref(target),
            before: self.clone(),
        })))
    }

    /// Whether `target` was followed already.
    pub(crate) fn holds(&self, target: &Value) -> bool {
        let mut trail = self;
        while let Some(step) = &trail.0 {
            if std::ptr::eq(step.target, target) {
                return true;
            }
            trail = &step.before;
        }
        false
    }
}

/// The reference that a schema makes, in any of its spellings.
pub(crate) fn of(schema: &serde_json::Map<String, Value>) -> Option<&str> {
    ["$ref", "$dynamicRef", "$recursiveRef"]
        .into_iter()
        .find_map(|keyword| schema.get(keyword)?.as_str())
}

/// What `reference`, a pointer as [`local`] leaves it, names in `root`; nothing when it leads out of the document or to no
/// place in it.
pub(crate) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = percent_decoded(reference.strip_prefix('#')?);
    root.pointer(&pointer)
}

/// What a cycle through `reference` is called: its last part.
pub(crate) fn name(reference: &str) -> &str {
    let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
    if last.is_empty() { "Root" } else { last }
}

/// Text of a URL without what is encoded in it.
pub(crate) fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_is_followed_within_the_document_alone() {
        let root = json!({"$defs": {"a/b": {"const": 1}, "é": {"const": 2}, "": {"const": 3}}});
        for (reference, constant) in [
            ("#/$defs/a~1b", Some(1)),
            ("#/%24defs/%C3%A9", Some(2)),
            ("#/$defs/", Some(3)),
            ("#/$defs/none", None),
            ("#nowhere", None),
            ("https://example.com/other#/$defs/n", None),
            ("file:///etc/passwd", None),
            ("#/%zz", None),
            ("%", None),
            ("", None),
        ] {
            let found = resolve(&root, reference).and_then(|schema| schema["const"].as_i64());
            assert_eq!(found, constant, "{reference}");
        }
        assert!(std::ptr::eq(resolve(&root, "#").unwrap(), &root));
    }

    #[test]
    fn a_trail_holds_what_was_followed() {
        let (one, two) = (json!({}), json!({}));
        let trail = Trail::default().with(&one);
        assert!(trail.holds(&one) && !trail.holds(&two) && trail.with(&two).holds(&one));
    }
}
