//! An object whose members keep order and spelling.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Raw, is_plain, push_plain};

/// One member of an [`Object`].
#[derive(Clone, PartialEq, Eq)]
struct Member {
    /// The name, unescaped.
    name: String,
    /// The name with its quotes as it was spelled, when that is not the plain way.
    spelled: Option<Raw>,
    value: Raw,
}

impl Member {
    fn new(name: &str, value: Raw) -> Self {
        Self {
            name: name.to_owned(),
            spelled: (!is_plain(name)).then(|| Raw::of(name)),
            value,
        }
    }

    fn read(spelled: Raw, value: Raw) -> Option<Self> {
        let inner = spelled
            .as_str()
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        Some(match inner.filter(|inner| is_plain(inner)) {
            Some(name) => Self::new(name, value),
            None => Self {
                name: spelled.string()?,
                spelled: Some(spelled),
                value,
            },
        })
    }
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
            None => self.members.push(Member::new(name, value)),
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

    /// As JSON text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let bytes: usize = self
            .members
            .iter()
            .map(|member| member.name.len() + member.value.as_str().len() + 4)
            .sum();
        let mut text = String::with_capacity(bytes + 2);
        text.push('{');
        for (index, member) in self.members.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            match &member.spelled {
                Some(spelled) => text.push_str(spelled.as_str()),
                None => push_plain(&mut text, &member.name),
            }
            text.push(':');
            text.push_str(member.value.as_str());
        }
        text.push('}');
        text
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
        RawValue::from_string(self.to_text())
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
                    let member = Member::read(spelled, map.next_value()?)
                        .ok_or_else(|| serde::de::Error::custom("a member's name is no string"))?;
                    members.push(member);
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
    fn a_name_is_spelled_with_what_it_needs() {
        let object = Object::new()
            .with("plain é", "a\u{2028}b")
            .with("a\"b\\\n", "\u{1}\"")
            .with("n", -3)
            .with("t", false);
        let text = object.to_text();
        assert_eq!(
            text,
            "{\"plain é\":\"a\u{2028}b\",\"a\\\"b\\\\\\n\":\"\\u0001\\\"\",\"n\":-3,\"t\":false}"
        );
        assert_eq!(Raw::parse(&text).unwrap().object().unwrap(), object);
    }
}
