//! What a record may carry to the disk: no secret, no text without an end.

use std::borrow::Cow;

use serde_json::{Map, Value};
use untrusted_text::redact::Redactor;

/// Most attributes of a record.
const MAX_ATTRIBUTES: usize = 40;

/// Largest attribute, in bytes of JSON.
const MAX_ATTRIBUTE_BYTES: usize = 2_000;

/// Stands in the place of a value whose name says that it is a secret.
const BY_NAME: &str = "[redacted: by its name]";

/// Parts of names whose values are secrets, in lower case and without separators.
const SECRET_NAMES: [&str; 13] = [
    "authorization",
    "apikey",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "cookie",
    "credential",
    "privatekey",
    "accesskey",
    "clientassertion",
    "signature",
];

/// Returns a text without secrets, cut to `max` bytes.
pub(super) fn text<'a>(redactor: &Redactor, text: &'a str, max: usize) -> Cow<'a, str> {
    // Cut last: half of a secret has no shape any more.
    let text = redactor.redact(text).text;
    if text.len() <= max {
        return text;
    }
    let end = text.floor_char_boundary(max);
    Cow::Owned(format!(
        "{}… ({} bytes cut)",
        &text[..end],
        text.len() - end
    ))
}

/// Cleans the attributes of a record.
pub(super) fn attributes(
    redactor: &Redactor,
    attributes: Map<String, Value>,
) -> Map<String, Value> {
    if attributes.is_empty() {
        return attributes;
    }
    let surplus = attributes.len().saturating_sub(MAX_ATTRIBUTES);
    let mut clean: Map<String, Value> = attributes
        .into_iter()
        .take(MAX_ATTRIBUTES)
        .map(|(name, value)| {
            let value = value_of(redactor, &name, value);
            (text(redactor, &name, 100).into_owned(), capped(value))
        })
        .collect();
    if surplus > 0 {
        clean.insert("attributesCut".to_owned(), surplus.into());
    }
    clean
}

fn value_of(redactor: &Redactor, name: &str, value: Value) -> Value {
    match value {
        // A count of tokens is none.
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
        _ if is_secret_name(name) => Value::String(BY_NAME.to_owned()),
        Value::String(text) => match redactor.redact(&text).text {
            Cow::Borrowed(_) => Value::String(text),
            Cow::Owned(text) => Value::String(text),
        },
        Value::Array(values) => values
            .into_iter()
            .map(|value| value_of(redactor, name, value))
            .collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| {
                let value = value_of(redactor, &name, value);
                (redactor.redact(&name).text.into_owned(), value)
            })
            .collect(),
    }
}

fn capped(value: Value) -> Value {
    let text = match &value {
        Value::String(text) if text.len() > MAX_ATTRIBUTE_BYTES => Cow::Borrowed(text),
        Value::Array(_) | Value::Object(_) => Cow::Owned(value.to_string()),
        _ => return value,
    };
    if text.len() <= MAX_ATTRIBUTE_BYTES {
        return value;
    }
    let end = text.floor_char_boundary(MAX_ATTRIBUTE_BYTES);
    let cut = text.len() - end;
    Value::String(format!("{}… ({cut} bytes cut)", &text[..end]))
}

/// Says whether the name of an attribute, a header or a variable is that of a secret.
fn is_secret_name(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|char| char.to_ascii_lowercase())
        .collect();
    SECRET_NAMES.iter().any(|secret| plain.contains(secret))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn clean(value: &Value) -> Value {
        let redactor = Redactor::with_values(vec!["zebra-crossing".to_owned()]);
        let Value::Object(members) = value.clone() else {
            panic!("an object")
        };
        Value::Object(attributes(&redactor, members))
    }

    #[test]
    fn values_with_the_names_of_secrets_and_known_values_are_replaced_at_every_depth() {
        let given = json!({
            "headers": {"Authorization": "Basic eDp5", "X-Api-Key": ["a", "b"], "accept": "x zebra-crossing y"},
            "refresh_token": "abc", "tokens": 17, "list": ["zebra-crossing"], "zebra-crossing": true,
        });
        assert_eq!(
            clean(&given),
            json!({
                "headers": {"Authorization": BY_NAME, "X-Api-Key": BY_NAME, "accept": "x [redacted: configured key] y"},
                "refresh_token": BY_NAME, "tokens": 17, "list": ["[redacted: configured key]"],
                "[redacted: configured key]": true,
            })
        );
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters_and_says_so() {
        let cut = clean(&json!({"a": "ä".repeat(1_500), "b": ["x".repeat(3_000)]}));
        let a = cut["a"].as_str().unwrap();
        assert!(a.ends_with("… (1000 bytes cut)"), "{a}");
        assert!(cut["b"].as_str().unwrap().ends_with("bytes cut)"));
        let many: Map<String, Value> = (0..50).map(|n| (n.to_string(), n.into())).collect();
        let cut = clean(&Value::Object(many));
        assert_eq!(cut["attributesCut"], 10);
    }

    #[test]
    fn a_secret_at_the_cut_leaves_no_half() {
        let redactor = Redactor::with_values(vec!["zebra-crossing".to_owned()]);
        let given = format!("{}zebra-crossing", "x".repeat(95));
        assert!(!text(&redactor, &given, 100).contains("zebra"));
    }
}
