//! Writes JSON as text, field by field, so that what is already JSON text goes in unchanged.
//!
//! The prompt cache of every provider compares bytes: a block that came from a model must go back as it came, not parsed
//! and printed again.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// A JSON object that is being written.
pub(crate) struct Object(String);

impl Object {
    /// Begins an object.
    pub(crate) fn new() -> Self {
        Self(String::from("{"))
    }

    /// Adds a field.
    pub(crate) fn field<T: Serialize + ?Sized>(self, name: &str, value: &T) -> Self {
        let value = text_of(value);
        self.raw(name, &value)
    }

    /// Adds a field if there is a value.
    pub(crate) fn optional<T: Serialize>(self, name: &str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.field(name, &value),
            None => self,
        }
    }

    /// Adds a field whose value is already JSON text.
    pub(crate) fn raw(mut self, name: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&text_of(name));
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    /// Ends the object.
    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Writes an array of what is already JSON text.
pub(crate) fn array<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let mut text = String::from("[");
    for item in items {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(item.as_ref());
    }
    text.push(']');
    text
}

/// Writes one value.
pub(crate) fn text_of<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("what is sent has string keys and no failing serializer")
}

/// Returns the arguments of a call as the text of a JSON object: unchanged when they are one, `{}` when they are empty,
/// else the text as it was under `_invalid_json`, since wires and chat templates take nothing but objects.
pub(crate) fn arguments(input: &str) -> Cow<'_, str> {
    let trimmed = input.trim();
    if trimmed.is_empty() {
        Cow::Borrowed("{}")
    } else if is_object(trimmed) {
        Cow::Borrowed(trimmed)
    } else {
        Cow::Owned(Object::new().field("_invalid_json", input).end())
    }
}

/// Says whether the text is one whole JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stay_as_they_were_written_if_a_wire_can_take_them() {
        #[track_caller]
        fn check(input: &str, expect: &str) {
            assert_eq!(arguments(input), expect);
        }
        check(r#"{"b": 1,  "a":2.50}"#, r#"{"b": 1,  "a":2.50}"#);
        check("", "{}");
        check(" \n", "{}");
        check(r#"{"path": "a"#, r#"{"_invalid_json":"{\"path\": \"a"}"#);
        check("[1]", r#"{"_invalid_json":"[1]"}"#);
        check(
            r#"{"a":1}{"b":2}"#,
            r#"{"_invalid_json":"{\"a\":1}{\"b\":2}"}"#,
        );
    }

    #[test]
    fn objects_and_arrays_are_json() {
        let text = Object::new()
            .field("a", "\"quoted\"\n")
            .raw("b", &array(["1", "{}"]))
            .optional("c", None::<u8>)
            .optional("d", Some(4))
            .end();
        assert_eq!(text, r#"{"a":"\"quoted\"\n","b":[1,{}],"d":4}"#);
        assert_eq!(Object::new().end(), "{}");
    }
}
