//! Sets of the types that JSON has.

use serde_json::Value;

/// A set of JSON types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

const WORDS: [(&str, u8); 7] = [
    ("array", 1),
    ("boolean", 2),
    ("integer", 4),
    // A number may be whole.
    ("number", 8 | 4),
    ("object", 16),
    ("string", 32),
    ("null", 64),
];

impl Types {
    pub(super) const ALL: Self = Self(127);
    pub(super) const NONE: Self = Self(0);
    pub(super) const OBJECT: Self = Self(16);
    pub(super) const NULL: Self = Self(64);

    pub(super) fn word(word: &str) -> Self {
        WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map_or(Self::ALL, |(_, bits)| Self(*bits))
    }

    pub(super) fn of_value(value: &Value) -> Self {
        Self::word(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        })
    }

    /// What both take.
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What either takes.
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn names(self) -> String {
        let without_null = self.0 & !Self::NULL.0;
        if without_null == Self::ALL.0 & !Self::NULL.0 {
            return "unknown".to_owned();
        }
        if without_null == 0 {
            return if self.has(Self::NULL) {
                "null"
            } else {
                "never"
            }
            .to_owned();
        }
        let is_number = self.0 & 8 != 0;
        WORDS
            .iter()
            .filter(|(word, bits)| {
                *word != "null"
                    && without_null & bits == *bits
                    && !(*word == "integer" && is_number)
            })
            .map(|(word, _)| *word)
            .collect::<Vec<_>>()
            .join("|")
    }
}
