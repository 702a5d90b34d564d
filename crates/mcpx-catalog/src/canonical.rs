//! One spelling for equal JSON values, and digests of text that is too long or too foreign to keep.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Longest value that is kept as it is, in characters; a longer one is cut and told apart by its digest.
const MAX_VALUE_CHARS: usize = 80;

/// Spells `value` so that two equal values are spelled the same, whatever the order of their members.
pub(crate) fn spell(value: &Value) -> String {
    let mut text = String::new();
    push(&mut text, value);
    shorten(&text, MAX_VALUE_CHARS)
}

/// Cuts `text` to `max_chars` characters; what was cut is told apart by a digest behind `…#`.
pub(crate) fn shorten(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…#{}", &text[..at], &hex(text)[..8]),
    }
}

/// Sixteen hexadecimal digits that stand for `text`.
pub(crate) fn digest(text: &str) -> String {
    hex(text)[..16].to_owned()
}

/// The first `chars` characters of a digest of `text` in the alphabet `a-z2-7`. At most 24.
pub(crate) fn letters(text: &str, chars: usize) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    Sha256::digest(text.as_bytes())
        .iter()
        .take(chars.min(24))
        .map(|byte| char::from(ALPHABET[usize::from(byte & 31)]))
        .collect()
}

fn hex(text: &str) -> String {
    use std::fmt::Write as _;

    Sha256::digest(text.as_bytes())
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            // Writing into a string cannot fail.
            let _: std::fmt::Result = write!(hex, "{byte:02x}");
            hex
        })
}

fn push(text: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<_> = members.keys().collect();
            names.sort();
            text.push('{');
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                push(text, &members[name]);
            }
            text.push('}');
        }
        Value::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                push(text, element);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_members_is_not_seen_and_the_end_of_a_long_value_is() {
        assert_eq!(
            spell(&json!({"b": [1, null], "a": "x"})),
            r#"{"a":"x","b":[1,null]}"#
        );
        let (one, two) = ("é".repeat(100) + "1", "é".repeat(100) + "2");
        assert_ne!(spell(&json!(one)), spell(&json!(two)));
        assert!(spell(&json!(one)).chars().count() < 100);
    }
}
