//! One JSON value as it was spelled ([`Raw`]), and an object whose members keep order and spelling ([`Object`]).
//!
//! Reading a value into a tree and printing it again changes what nobody asked to change: `1.0` and `1e3`, numbers
//! beyond 64 bits, `\u00e9`, members named twice. So a value is kept as text and only looked into where MCP needs it.

mod object;

use std::fmt;

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

pub use self::object::Object;

/// How deep a value may nest before it is refused where it has to be looked into.
pub const MAX_DEPTH: usize = 100;

/// Text that is not the JSON that was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct JsonError {
    /// What is wrong, with line and column where the parser knows them.
    pub reason: String,
}

impl JsonError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// One JSON value, as it was spelled.
#[derive(Clone)]
pub struct Raw(Box<RawValue>);

/// What kind of value a [`Raw`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number of any size
    Number,
    /// A string
    String,
    /// An array
    Array,
    /// An object
    Object,
}

impl Kind {
    /// The word for a message: "an object", "a string".
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

impl Raw {
    /// Takes `text` as one JSON value; white space around it is dropped.
    ///
    /// # Errors
    /// When it is not exactly one JSON value.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        Ok(Self(serde_json::from_str(text)?))
    }

    /// As [`Raw::parse`], from bytes that may not be UTF-8.
    ///
    /// # Errors
    /// When they are not UTF-8 or not exactly one JSON value.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            JsonError::new(format!("not UTF-8 after byte {}", error.valid_up_to()))
        })?;
        Self::parse(text)
    }

    /// Spells a value of ours. `null` when it cannot be spelled (a map whose keys are no strings), which no type of
    /// this crate is.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        serde_json::value::to_raw_value(value).map_or_else(|_| Self::null(), Self)
    }

    /// Takes text that we spelled.
    fn of_spelled(text: String) -> Self {
        RawValue::from_string(text).map_or_else(|_| Self::null(), Self)
    }

    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// The value as it was spelled.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// What kind of value this is, from its first character.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.as_str().as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// How deep the value nests: 0 for a scalar, 1 for `{}`.
    #[must_use]
    pub fn depth(&self) -> usize {
        let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
        for &byte in self.as_str().as_bytes() {
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => in_string = true,
                b'{' | b'[' => {
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        deepest
    }

    /// The value as a tree.
    ///
    /// # Errors
    /// When it nests deeper than [`MAX_DEPTH`].
    pub fn value(&self) -> Result<Value, JsonError> {
        self.read()
    }

    /// The value as a `T`.
    ///
    /// # Errors
    /// When it is no `T`, or nests deeper than [`MAX_DEPTH`].
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, JsonError> {
        if self.depth() > MAX_DEPTH {
            return Err(JsonError::new(format!(
                "nested deeper than {MAX_DEPTH} levels"
            )));
        }
        Ok(serde_json::from_str(self.as_str())?)
    }

    /// The members, when it is an object.
    ///
    /// # Errors
    /// When it is another kind of value.
    pub fn object(&self) -> Result<Object, JsonError> {
        match self.kind() {
            Kind::Object => Ok(serde_json::from_str(self.as_str())?),
            other => Err(JsonError::new(format!(
                "expected an object, got {}",
                other.word()
            ))),
        }
    }

    /// The elements, when it is an array.
    ///
    /// # Errors
    /// When it is another kind of value.
    pub fn array(&self) -> Result<Vec<Self>, JsonError> {
        match self.kind() {
            Kind::Array => Ok(serde_json::from_str(self.as_str())?),
            other => Err(JsonError::new(format!(
                "expected an array, got {}",
                other.word()
            ))),
        }
    }

    /// The text, when it is a string. Half of a surrogate pair, as a string has it that was cut within a character, is
    /// read as U+FFFD; the spelling keeps it.
    #[must_use]
    pub fn string(&self) -> Option<String> {
        self.exact_string().or_else(|| {
            serde_json::from_str(self.as_str())
                .ok()
                .map(|Marked(text)| text)
        })
    }

    /// The text, when it is a string of whole characters.
    pub(crate) fn exact_string(&self) -> Option<String> {
        (self.kind() == Kind::String)
            .then(|| serde_json::from_str(self.as_str()).ok())
            .flatten()
    }

    /// The boolean, when it is one.
    #[must_use]
    pub fn boolean(&self) -> Option<bool> {
        serde_json::from_str(self.as_str()).ok()
    }

    /// The number, when it is one that an `f64` holds.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        (self.kind() == Kind::Number)
            .then(|| serde_json::from_str(self.as_str()).ok())
            .flatten()
    }

    /// The whole number, when it is one, `3.0` included.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        if self.kind() != Kind::Number {
            return None;
        }
        serde_json::from_str(self.as_str()).ok().or_else(|| {
            let number: f64 = serde_json::from_str(self.as_str()).ok()?;
            let whole = number.trunc();
            #[allow(clippy::cast_possible_truncation, reason = "compared again")]
            let integer = whole as i64;
            #[allow(clippy::cast_precision_loss, reason = "compared again")]
            let same = integer as f64 == number && number.abs() < 9.007_199_254_740_992e15;
            same.then_some(integer)
        })
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }
}

/// A string in which halves of surrogate pairs are replaced.
struct Marked(String);

impl<'de> Deserialize<'de> for Marked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Marked;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            // Read as bytes, a half comes as the three bytes that UTF-8 would give it if it could.
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Marked, E> {
                let mut text = String::with_capacity(bytes.len());
                let mut wrong = 0;
                for chunk in bytes.utf8_chunks() {
                    text.push_str(chunk.valid());
                    if !chunk.valid().is_empty() {
                        wrong = 0;
                    }
                    if !chunk.invalid().is_empty() && wrong % 3 == 0 {
                        text.push(char::REPLACEMENT_CHARACTER);
                    }
                    wrong += chunk.invalid().len();
                }
                Ok(Marked(text))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Equal when spelled the same.
impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Raw {}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Box::<RawValue>::deserialize(deserializer)?))
    }
}

impl From<Value> for Raw {
    fn from(value: Value) -> Self {
        Self::of(&value)
    }
}

impl From<&str> for Raw {
    fn from(text: &str) -> Self {
        if !is_plain(text) {
            return Self::of(text);
        }
        let mut spelled = String::with_capacity(text.len() + 2);
        push_plain(&mut spelled, text);
        Self::of_spelled(spelled)
    }
}

/// Whether a string is spelled as it is, with nothing to escape.
fn is_plain(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
}

fn push_plain(out: &mut String, text: &str) {
    out.push('"');
    out.push_str(text);
    out.push('"');
}

impl From<String> for Raw {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<bool> for Raw {
    fn from(value: bool) -> Self {
        let spelled = if value {
            RawValue::TRUE
        } else {
            RawValue::FALSE
        };
        Self(spelled.to_owned())
    }
}

impl From<i64> for Raw {
    fn from(value: i64) -> Self {
        Self::of_spelled(value.to_string())
    }
}

impl From<Object> for Raw {
    fn from(object: Object) -> Self {
        Self::of_spelled(object.to_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_too_deep_to_look_into_is_kept_and_refused_where_it_is_read() {
        let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let raw = Raw::parse(&text).unwrap();
        assert_eq!(raw.depth(), 100_000);
        assert!(raw.value().unwrap_err().reason.contains("nested deeper"));
        assert_eq!(raw.as_str(), text);
    }

    #[test]
    fn a_string_that_was_cut_within_a_character_is_read_with_a_mark_and_kept_as_it_was() {
        let text = r#"{"text":"ok \ud83d","\udc00":1}"#;
        let object = Raw::parse(text).unwrap().object().unwrap();
        assert_eq!(object.string("text").as_deref(), Some("ok \u{fffd}"));
        assert!(object.contains("\u{fffd}"));
        assert_eq!(Raw::from(object).as_str(), text);
    }

    #[test]
    fn whole_numbers_are_read_in_each_spelling() {
        for (text, expected) in [
            ("3", Some(3)),
            ("3.0", Some(3)),
            ("3e0", Some(3)),
            ("3.5", None),
            ("\"3\"", None),
        ] {
            assert_eq!(Raw::parse(text).unwrap().integer(), expected, "{text}");
        }
    }
}
