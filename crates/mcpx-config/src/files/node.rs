//! JSON with comments as a tree that knows where each part stands.

use std::path::Path;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{self, ObjectPropName},
    common::Ranged as _,
    parse_to_ast,
};
use serde_json::Value;

use crate::error::{ConfigError, Place, quoted};

/// Longest word that a message about broken JSON shows, in characters; `undefined` is one of them.
const LONGEST_SHOWN: usize = 9;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// First byte, and the byte behind the last one, in the text without a byte-order mark.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// From 1.
    pub(crate) line: u32,
    /// From 1, in characters.
    pub(crate) column: u32,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Entry>),
}

/// A member of an object. No two have one name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// The first byte of the name, its quote.
    pub(crate) start: usize,
    /// Where the name stands.
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) value: Node,
}

impl Node {
    /// What an absent block is read as.
    pub(crate) fn empty_object() -> Self {
        Self {
            start: 0,
            end: 0,
            line: 0,
            column: 0,
            kind: Kind::Object(Vec::new()),
        }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Object(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|entry| &entry.value)
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.name == name)
    }

    /// The same without the members of an object that are `null`: other hosts write those for what is not there.
    pub(crate) fn without_nulls(&self) -> Self {
        let Kind::Object(entries) = &self.kind else {
            return self.clone();
        };
        let is_there = |entry: &&Entry| entry.value.kind != Kind::Null;
        Self {
            kind: Kind::Object(entries.iter().filter(is_there).cloned().collect()),
            ..self.clone()
        }
    }

    /// What it is, for a message: `the text "abc"`, `the number 3`, `a list`, `an object`.
    pub(crate) fn described(&self) -> String {
        match &self.kind {
            Kind::Null => "`null`".to_owned(),
            Kind::Bool(value) => format!("`{value}`"),
            Kind::Number(text) => format!("the number {}", quoted(text)),
            Kind::Text(text) => format!("the text {}", quoted(text)),
            Kind::List(_) => "a list".to_owned(),
            Kind::Object(_) => "an object".to_owned(),
        }
    }

    pub(crate) fn place(&self, file: &Path) -> Place {
        Place::File {
            path: file.to_owned(),
            line: self.line,
            column: self.column,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(text) => text
                .parse()
                .map_or_else(|_| Value::String(text.clone()), Value::Number),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(elements) => elements.iter().map(Self::to_json).collect(),
            Kind::Object(entries) => Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.name.clone(), entry.value.to_json()))
                    .collect(),
            ),
        }
    }
}

impl Entry {
    pub(crate) fn place(&self, file: &Path) -> Place {
        Place::File {
            path: file.to_owned(),
            line: self.line,
            column: self.column,
        }
    }
}

/// Reads JSON with `//` and `/* */` comments, trailing commas and a byte-order mark. An empty text is an empty object.
///
/// # Errors
///
/// With line and column: text that is not such JSON, an object with two members of one name, more than 512 levels.
pub(crate) fn parse(text: &str, file: &Path) -> Result<Node, ConfigError> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::new(body);
    let at = |offset: usize| {
        let (line, column) = lines.place(offset);
        Place::File {
            path: file.to_owned(),
            line,
            column,
        }
    };
    let parsed = parse_to_ast(body, &CollectOptions::default(), &options()).map_err(|error| {
        let offset = error.range().start.min(body.len());
        let kind = error.kind().to_string();
        let found = found_at(body, offset);
        let expected = match kind.strip_prefix("Expected ") {
            Some(expected) => expected.to_owned(),
            None => format!("JSON, with comments if you like ({})", uncapitalised(&kind)),
        };
        ConfigError::new(at(offset), found, expected)
    })?;
    match parsed.value {
        Some(value) => node(value, body, &lines, file),
        None => Ok(Node {
            start: 0,
            end: body.len(),
            line: 1,
            column: 1,
            kind: Kind::Object(Vec::new()),
        }),
    }
}

/// Reads a configuration file, which is an object.
///
/// # Errors
///
/// As [`parse`], and for JSON of another kind.
pub(crate) fn parse_root(text: &str, file: &Path) -> Result<Node, ConfigError> {
    let root = parse(text, file)?;
    if matches!(root.kind, Kind::Object(_)) {
        return Ok(root);
    }
    Err(ConfigError::new(
        root.place(file),
        format!("{} as the whole file", root.described()),
        "an object with `mcpServers` and settings",
    ))
}

fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: true,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn uncapitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}

/// What stands at a place, as far as it can be no secret: texts and long words are not shown.
fn found_at(text: &str, offset: usize) -> String {
    let rest = text.get(offset..).unwrap_or_default();
    let line = rest.lines().next().unwrap_or_default().trim();
    if line.is_empty() {
        return "the end of the line".to_owned();
    }
    if line.starts_with(['"', '\'']) {
        return "a text".to_owned();
    }
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ':' | '}' | ']');
    let word = line.split(is_end).next().unwrap_or_default();
    match word.chars().count() {
        0 => quoted(&line.chars().take(1).collect::<String>()),
        1..=LONGEST_SHOWN => quoted(word),
        _ => "a word".to_owned(),
    }
}

fn node(
    value: ast::Value<'_>,
    text: &str,
    lines: &Lines<'_>,
    file: &Path,
) -> Result<Node, ConfigError> {
    let range = value.range();
    let (line, column) = lines.place(range.start);
    let kind = match value {
        ast::Value::NullKeyword(_) => Kind::Null,
        ast::Value::BooleanLit(literal) => Kind::Bool(literal.value),
        ast::Value::NumberLit(literal) => Kind::Number(literal.value.to_owned()),
        ast::Value::StringLit(literal) => Kind::Text(literal.value.into_owned()),
        ast::Value::Array(array) => Kind::List(
            array
                .elements
                .into_iter()
                .map(|element| node(element, text, lines, file))
                .collect::<Result<_, _>>()?,
        ),
        ast::Value::Object(object) => Kind::Object(entries(object, text, lines, file)?),
    };
    Ok(Node {
        start: range.start,
        end: range.end,
        line,
        column,
        kind,
    })
}

fn entries(
    object: ast::Object<'_>,
    text: &str,
    lines: &Lines<'_>,
    file: &Path,
) -> Result<Vec<Entry>, ConfigError> {
    let mut entries: Vec<Entry> = Vec::with_capacity(object.properties.len());
    let mut seen = std::collections::HashMap::new();
    for property in object.properties {
        let start = property.name.start();
        let (line, column) = lines.place(start);
        let name = match property.name {
            ObjectPropName::String(literal) => literal.value.into_owned(),
            ObjectPropName::Word(word) => word.value.to_owned(),
        };
        if let Some(first) = seen.insert(name.clone(), line) {
            return Err(ConfigError::new(
                Place::File {
                    path: file.to_owned(),
                    line,
                    column,
                },
                format!(
                    "{} for the second time; it is in line {first} already",
                    quoted(&name)
                ),
                "each name once",
            ));
        }
        entries.push(Entry {
            name,
            start,
            line,
            column,
            value: node(property.value, text, lines, file)?,
        });
    }
    Ok(entries)
}

/// Where lines begin.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(after_breaks).collect(),
        }
    }

    /// Line and column of a byte, from 1.
    fn place(&self, offset: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self
            .starts
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or(0);
        let column = self
            .text
            .get(start..offset)
            .map_or(0, |before| before.chars().count());
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        (small(line), small(column + 1))
    }
}

#[cfg(test)]
mod tests;
