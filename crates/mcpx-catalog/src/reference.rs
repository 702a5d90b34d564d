//! Follows a `$ref` within its document, and nowhere else.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value;

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

/// What `reference` names in `root`; nothing when it leads out of the document or to no place in it.
pub(crate) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let from = match base {
        "" => root,
        _ if names_itself(root, base) => root,
        _ => definitions(root).find(|definition| names_itself(definition, base))?,
    };
    let fragment = percent_decoded(fragment);
    if fragment.is_empty() || fragment.starts_with('/') {
        return from.pointer(&fragment);
    }
    let anchored = |schema: &&Value| {
        ["$anchor", "$dynamicAnchor"]
            .iter()
            .any(|keyword| schema.get(keyword).and_then(Value::as_str) == Some(&*fragment))
    };
    std::iter::once(from)
        .chain(definitions(from))
        .find(anchored)
}

/// What a cycle through `reference` is called: its last part.
pub(crate) fn name(reference: &str) -> &str {
    let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
    if last.is_empty() { "Root" } else { last }
}

fn names_itself(schema: &Value, base: &str) -> bool {
    schema
        .get("$id")
        .and_then(Value::as_str)
        .map(|id| id.trim_end_matches('#'))
        == Some(base)
}

fn definitions(root: &Value) -> impl Iterator<Item = &Value> {
    ["$defs", "definitions"]
        .into_iter()
        .filter_map(|keyword| root.get(keyword)?.as_object())
        .flat_map(|definitions| definitions.values())
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
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
        let root = json!({
            "$id": "https://example.com/tool",
            "$defs": {"a/b": {"const": 1}, "é": {"const": 2}, "n": {"$anchor": "here", "const": 3}, "m": {"$id": "m", "const": 4}},
        });
        for (reference, constant) in [
            ("#/$defs/a~1b", Some(1)),
            ("#/%24defs/%C3%A9", Some(2)),
            ("https://example.com/tool#/$defs/a~1b", Some(1)),
            ("#here", Some(3)),
            ("m", Some(4)),
            ("m#", Some(4)),
            ("#/$defs/none", None),
            ("#nowhere", None),
            ("https://example.com/other#/$defs/n", None),
            ("file:///etc/passwd", None),
            ("#/%zz", None),
            ("%", None),
        ] {
            let found = resolve(&root, reference).and_then(|schema| schema["const"].as_i64());
            assert_eq!(found, constant, "{reference}");
        }
        assert!(std::ptr::eq(resolve(&root, "#").unwrap(), &root));
        assert!(std::ptr::eq(resolve(&root, "").unwrap(), &root));
    }

    #[test]
    fn a_trail_holds_what_was_followed() {
        let (one, two) = (json!({}), json!({}));
        let trail = Trail::default().with(&one);
        assert!(trail.holds(&one) && !trail.holds(&two) && trail.with(&two).holds(&one));
    }
}
