//! Digests of structured things, so that two different ones never look alike.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A digest in the making. Every part is preceded by its length, so that `ab`+`c` is not `a`+`bc`.
pub(crate) struct Digest(Sha256);

impl Digest {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    pub(crate) fn part(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let bytes = bytes.as_ref();
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// A JSON value; the order of an object's members does not matter.
    pub(crate) fn json(&mut self, value: &Value) -> &mut Self {
        self.part(canonical(value))
    }

    /// The first `chars` hexadecimal characters, at most 64.
    pub(crate) fn hex(self, chars: usize) -> String {
        let mut text: String = self
            .0
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        text.truncate(chars);
        text
    }
}

/// JSON with the members of every object sorted by name.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| name.as_str());
            let inner: Vec<String> = members
                .into_iter()
                .map(|(name, value)| {
                    format!("{}:{}", Value::String(name.clone()), canonical(value))
                })
                .collect();
            format!("{{{}}}", inner.join(","))
        }
        Value::Array(elements) => {
            let inner: Vec<String> = elements.iter().map(canonical).collect();
            format!("[{}]", inner.join(","))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_members_does_not_matter_and_the_cut_between_parts_does() {
        let of = |value: Value| {
            let mut digest = Digest::new();
            digest.json(&value);
            digest.hex(16)
        };
        assert_eq!(of(json!({"a": 1, "b": [2]})), of(json!({"b": [2], "a": 1})));
        assert_ne!(of(json!([1, 2])), of(json!([2, 1])));

        let of = |parts: &[&str]| {
            let mut digest = Digest::new();
            for part in parts {
                digest.part(part);
            }
            digest.hex(64)
        };
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_eq!(of(&[]).len(), 64);
    }
}
