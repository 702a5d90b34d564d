//! What keys there are and what values they take.

use toml::Value;

/// One key, or a family of keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeySpec {
    /// The dotted path. A segment `*` stands for any name, as in `providers.*.base_url`.
    pub path: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// What a project may do with it.
    pub project: Project,
}

/// What values a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of these words. Where a project may only narrow, they stand from narrow to wide.
    Choice(&'static [&'static str]),
    /// A whole number in this range, both ends included.
    Count {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A number in this range, both ends included. A whole number is taken too.
    Number {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// True or false.
    Switch,
    /// A list of texts; a stronger layer replaces it.
    List,
    /// A list of texts; a stronger layer adds to it.
    AddedList,
    /// A list of texts, any of which may be a table instead; a stronger layer adds to it.
    AddedRecords {
        /// The key of such a table under which the text stands.
        text: &'static str,
        /// The other keys that it may have, each a list of texts.
        lists: &'static [&'static str],
    },
    /// Anything, tables included; a stronger layer replaces it whole.
    Any,
}

/// What a project may do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Project {
    /// Set it.
    Yes,
    /// Make it narrower than it is without the project: a smaller number, an earlier word of a choice, `false`, more
    /// entries of an added list. Never a text or a replaced list.
    NarrowOnly,
    /// Nothing.
    No,
}

impl KeySpec {
    /// Says whether a key belongs to this spec.
    pub fn covers(&self, key: &[String]) -> bool {
        let segments: Vec<&str> = self.path.split('.').collect();
        segments.len() == key.len() && self.covers_start(key)
    }

    /// Says whether a key could be continued to one of this spec.
    pub(crate) fn covers_start(&self, key: &[String]) -> bool {
        let mut segments = self.path.split('.');
        key.iter().all(|name| {
            segments
                .next()
                .is_some_and(|segment| segment == "*" || segment == name)
        })
    }
}

impl Kind {
    /// Reads a value written as plain text, as an environment variable or a flag gives it. A list is either a TOML array
    /// or its entries with commas between them.
    ///
    /// # Errors
    ///
    /// What was expected, in words that follow "expected".
    pub fn read_text(&self, text: &str) -> Result<Value, String> {
        let value = match self {
            Self::Text | Self::Choice(_) => Value::String(text.to_owned()),
            Self::Switch => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Value::Boolean(true),
                "false" | "0" | "no" | "off" => Value::Boolean(false),
                _ => return Err(self.expected()),
            },
            Self::Count { .. } => Value::Integer(
                text.trim()
                    .replace('_', "")
                    .parse()
                    .map_err(|_| self.expected())?,
            ),
            Self::Number { .. } => Value::Float(
                text.trim()
                    .replace('_', "")
                    .parse()
                    .map_err(|_| self.expected())?,
            ),
            Self::List | Self::AddedList | Self::AddedRecords { .. }
                if text.trim_start().starts_with('[') =>
            {
                read_toml_value(text).ok_or_else(|| self.expected())?
            }
            Self::List | Self::AddedList | Self::AddedRecords { .. } => Value::Array(
                text.split(',')
                    .map(str::trim)
                    .filter(|entry| !entry.is_empty())
                    .map(|entry| Value::String(entry.to_owned()))
                    .collect(),
            ),
            Self::Any => read_toml_value(text).unwrap_or_else(|| Value::String(text.to_owned())),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Checks that a value is of this kind.
    ///
    /// # Errors
    ///
    /// What was expected, in words that follow "expected".
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let fits = match (self, value) {
            (Self::Text, Value::String(_)) | (Self::Switch, Value::Boolean(_)) | (Self::Any, _) => {
                true
            }
            (Self::Choice(words), Value::String(word)) => words.contains(&word.as_str()),
            (Self::Count { min, max }, Value::Integer(number)) => (min..=max).contains(&number),
            (Self::Number { min, max }, Value::Integer(number)) => {
                (*min..=*max).contains(&(*number as f64))
            }
            (Self::Number { min, max }, Value::Float(number)) => (min..=max).contains(&number),
            (Self::List | Self::AddedList, Value::Array(entries)) => {
                entries.iter().all(Value::is_str)
            }
            (Self::AddedRecords { text, lists }, Value::Array(entries)) => {
                entries.iter().all(|entry| is_record(entry, text, lists))
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(self.expected()) }
    }

    /// Says whether a stronger layer adds to the list instead of replacing it.
    pub fn is_added(&self) -> bool {
        matches!(self, Self::AddedList | Self::AddedRecords { .. })
    }

    fn expected(&self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Choice(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
                format!("one of {}", words.join(", "))
            }
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Number { min, max } if *max == f64::MAX => format!("a number from {min} up"),
            Self::Number { min, max } => format!("a number from {min} to {max}"),
            Self::Switch => "`true` or `false`".to_owned(),
            Self::List | Self::AddedList => "a list of strings".to_owned(),
            Self::AddedRecords { text, lists } => {
                let lists: Vec<String> = lists.iter().map(|key| format!("{key} = […]")).collect();
                format!(
                    "a list of strings, or of tables such as `{{ {text} = \"…\", {} }}`",
                    lists.join(", ")
                )
            }
            Self::Any => "a TOML value".to_owned(),
        }
    }
}

fn is_record(entry: &Value, text: &str, lists: &[&str]) -> bool {
    let is_texts = |value: &Value| {
        value
            .as_array()
            .is_some_and(|entries| entries.iter().all(Value::is_str))
    };
    match entry {
        Value::String(_) => true,
        Value::Table(table) => {
            table.get(text).is_some_and(Value::is_str)
                && table.iter().all(|(key, value)| {
                    key == text || lists.contains(&key.as_str()) && is_texts(value)
                })
        }
        _ => false,
    }
}

fn read_toml_value(text: &str) -> Option<Value> {
    let mut table: toml::Table = toml::from_str(&format!("value = {}", text.trim())).ok()?;
    if table.len() == 1 {
        table.remove("value")
    } else {
        None
    }
}

/// Returns the environment variable of a key: the prefix and the path in capitals, `_` for `.` and `-`.
pub fn env_name(prefix: &str, path: &str) -> String {
    format!(
        "{prefix}{}",
        path.to_ascii_uppercase().replace(['.', '-'], "_")
    )
}
