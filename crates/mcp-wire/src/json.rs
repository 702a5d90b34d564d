//! One JSON value as it was spelled ([`Raw`]), and an object whose members keep order and spelling ([`Object`]).
//!
//! Reading a value into a tree and printing it again changes what nobody asked to change: `1.0` and `1e3`, numbers
//! beyond 64 bits, `\u00e9`, members named twice. So a value is kept as text and only looked into where MCP needs it.

use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

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
        Self::of(text)
    }
}

impl From<String> for Raw {
    fn from(text: String) -> Self {
        Self::of(&text)
    }
}

impl From<bool> for Raw {
    fn from(value: bool) -> Self {
        Self::of(&value)
    }
}

impl From<i64> for Raw {
    fn from(value: i64) -> Self {
        Self::of(&value)
    }
}

impl From<Object> for Raw {
    fn from(object: Object) -> Self {
        Self::of(&object)
    }
}

/// One member of an [`Object`].
#[derive(Clone, PartialEq, Eq)]
struct Member {
    /// The name, unescaped.
    name: String,
    /// The name with its quotes, as it was spelled.
    spelled: Raw,
    value: Raw,
}

/// A JSON object whose members keep their order and spelling; white space between them is not kept.
///
/// A name that occurs twice is found at its last place, as most readers do, and is printed as often as it was read.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Object {
    members: Vec<Member>,
}

impl Object {
    /// No members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Raw> {
        self.members
            .iter()
            .rev()
            .find(|member| member.name == name)
            .map(|member| &member.value)
    }

    /// The text of `name`, when it is a string.
    #[must_use]
    pub fn string(&self, name: &str) -> Option<String> {
        self.get(name).and_then(Raw::string)
    }

    /// The members of `name`, when it is an object.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<Self> {
        self.get(name).and_then(|value| value.object().ok())
    }

    /// Whether there is a member of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets `name`, at its place when it is there (all its places become one), else at the end.
    pub fn set(&mut self, name: &str, value: impl Into<Raw>) {
        let value = value.into();
        match self.members.iter().position(|member| member.name == name) {
            Some(first) => {
                self.members[first].value = value;
                let mut at = 0;
                self.members.retain(|member| {
                    at += 1;
                    at - 1 <= first || member.name != name
                });
            }
            None => self.members.push(Member {
                name: name.to_owned(),
                spelled: Raw::of(name),
                value,
            }),
        }
    }

    /// As [`Object::set`], for building in one expression.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Raw>) -> Self {
        self.set(name, value);
        self
    }

    /// As [`Object::with`] when there is a value, else unchanged.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Into<Raw>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Takes `name` out, from all its places; its last value.
    pub fn remove(&mut self, name: &str) -> Option<Raw> {
        let found = self.get(name).cloned();
        self.members.retain(|member| member.name != name);
        found
    }

    /// The same without the members of these names.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let mut members = self.members.clone();
        members.retain(|member| !names.contains(&member.name.as_str()));
        Self { members }
    }

    /// Puts the members of `other` behind these, spelled as they are, also one that is there already.
    pub fn append(&mut self, other: Self) {
        self.members.extend(other.members);
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Raw)> {
        self.members
            .iter()
            .map(|member| (member.name.as_str(), &member.value))
    }

    /// How many members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// A name that occurs more than once.
    #[must_use]
    pub fn duplicate(&self) -> Option<&str> {
        let mut seen = std::collections::HashSet::new();
        self.members
            .iter()
            .map(|member| member.name.as_str())
            .find(|name| !seen.insert(*name))
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A raw value of a whole object: the one way to print a member's name as it was spelled.
        let mut text = String::with_capacity(
            self.members
                .iter()
                .map(|m| m.value.as_str().len() + 16)
                .sum::<usize>()
                + 2,
        );
        text.push('{');
        for (index, member) in self.members.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(member.spelled.as_str());
            text.push(':');
            text.push_str(member.value.as_str());
        }
        text.push('}');
        RawValue::from_string(text)
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members = Vec::new();
                while let Some(spelled) = map.next_key::<Raw>()? {
                    let name = spelled
                        .string()
                        .ok_or_else(|| serde::de::Error::custom("a member's name is no string"))?;
                    members.push(Member {
                        name,
                        spelled,
                        value: map.next_value()?,
                    });
                }
                Ok(Object { members })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl FromIterator<(String, Raw)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Raw)>>(pairs: I) -> Self {
        let mut object = Self::new();
        for (name, value) in pairs {
            object.set(&name, value);
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_printed_as_it_was_spelled() {
        let text =
            r#"{"z":1.0,"\u0061":1e3,"n":123456789012345678901234567890,"s":"\u00e9\/","z":2}"#;
        let object = Raw::parse(text).unwrap().object().unwrap();
        assert_eq!(Raw::from(object.clone()).as_str(), text);
        assert_eq!(object.get("a").unwrap().as_str(), "1e3");
        assert_eq!(object.get("z").unwrap().as_str(), "2");
        assert_eq!(object.duplicate(), Some("z"));
    }

    #[test]
    fn setting_one_member_leaves_the_others_as_they_were() {
        let mut object = Raw::parse(r#"{ "a" : [1.50], "b":2, "b":3, "c": {"x":1.0} }"#)
            .unwrap()
            .object()
            .unwrap();
        object.set("b", true);
        assert_eq!(
            Raw::from(object).as_str(),
            r#"{"a":[1.50],"b":true,"c":{"x":1.0}}"#
        );
    }

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
