//! The arguments of a call as people type them: one JSON object, or pairs that are read by the tool's schema.
//!
//! `key=value` is text where the schema says text, so that `n=5` stays `"5"` for a property of strings and is 5 for one of
//! numbers. `key:=JSON` is JSON whatever the schema says, `key=@FILE` and `key=@-` the text of a file and of stdin.

use mcp_wire::json::Kind;
use mcp_wire::{Object, Raw};
use serde::de::IgnoredAny;
use untrusted_text::terminal::one_line;

use crate::exit::Failure;
use crate::files;

/// How much of wrong JSON is quoted before its place, and behind it, in characters.
const QUOTED: usize = 24;

/// What was typed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arguments {
    /// The whole object.
    Whole(Object),
    /// Pairs, in their order.
    Pairs(Vec<Pair>),
}

/// One `key=value` or `key:=JSON`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    name: String,
    value: Typed,
}

#[derive(Debug, Clone, PartialEq)]
enum Typed {
    /// Read by the schema.
    Text(String),
    /// Text whatever the schema says: it came from a file.
    Whole(String),
    /// JSON whatever the schema says.
    Json(Raw),
}

impl Pair {
    /// Whether only the schema says what it means.
    pub(crate) fn needs_schema(&self) -> bool {
        matches!(self.value, Typed::Text(_))
    }
}

/// Reads what was typed.
///
/// # Errors
/// When it is neither an object nor pairs: where, what was found, what was expected.
pub(crate) fn read(words: &[String]) -> Result<Arguments, Failure> {
    match words {
        [] => Ok(Arguments::Whole(Object::new())),
        [one] if is_whole(one) => object(&files::text_or_file(one)?).map(Arguments::Whole),
        pairs => pairs
            .iter()
            .map(|word| pair(word))
            .collect::<Result<_, _>>()
            .map(Arguments::Pairs),
    }
}

/// Whether a word stands for the whole object.
fn is_whole(word: &str) -> bool {
    let begins = word.trim_start();
    word == "-"
        || begins.starts_with(['{', '[', '"'])
        || begins.starts_with('@')
        || !word.contains('=')
}

/// A JSON object, with the place of what is wrong.
pub(crate) fn object(text: &str) -> Result<Object, Failure> {
    let raw = json(text, "the arguments")?;
    if raw.kind() != Kind::Object {
        return Err(Failure::usage(format!(
            "the arguments were {}, expected a JSON object or `key=value` pairs",
            described(&raw)
        ))
        .hint("such as '{\"message\":\"hi\"}', or message=hi"));
    }
    let object = raw
        .object()
        .map_err(|error| Failure::usage(error.to_string()))?;
    if let Some(name) = object.duplicate() {
        return Err(Failure::usage(format!(
            "the arguments have `{}` twice",
            one_line(name, 120)
        )));
    }
    Ok(object)
}

fn described(raw: &Raw) -> String {
    format!("{}, `{}`", raw.kind().word(), one_line(raw.as_str(), 60))
}

/// JSON, with the place of what is wrong: line, column, what stands there, what was expected.
pub(crate) fn json(text: &str, what: &str) -> Result<Raw, Failure> {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        let (line, column) = place_of(text, &error);
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or_default();
        let mut failure = Failure::usage(format!(
            "{what} are no JSON: {why} at line {line}, column {column}, here: {}",
            place(text, line, column)
        ));
        failure
            .error
            .data
            .set("line", i64::try_from(line).unwrap_or(0));
        failure
            .error
            .data
            .set("column", i64::try_from(column).unwrap_or(0));
        return Err(failure.hint(
            "expected a JSON object such as '{\"message\":\"hi\"}', in single quotes for the shell; or `key=value` pairs",
        ));
    }
    Raw::parse(text).map_err(|error| Failure::usage(format!("{what} are no JSON: {error}")))
}

/// Where it is wrong: line and column, from 1. The end of the text, and the end of a line rather than before the next.
fn place_of(text: &str, error: &serde_json::Error) -> (usize, usize) {
    let length = |line: usize| text.lines().nth(line.saturating_sub(1)).map_or(0, str::len);
    let (line, column) = (error.line().max(1), error.column());
    if error.is_eof() {
        return (line, length(line) + 1);
    }
    if column == 0 && line > 1 {
        return (line - 1, length(line - 1) + 1);
    }
    (line, column.max(1))
}

/// What stands around a place; `column` counts bytes, from 1.
fn place(text: &str, line: usize, column: usize) -> String {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let mut at = column.saturating_sub(1).min(line.len());
    while !line.is_char_boundary(at) {
        at -= 1;
    }
    let before: Vec<char> = line[..at].chars().collect();
    let from = before.len().saturating_sub(QUOTED);
    let head: String = before[from..].iter().collect();
    let tail: String = line[at..].chars().take(QUOTED).collect();
    let rest = line[at..].chars().count() > QUOTED;
    format!(
        "`{}{}⟨here⟩{}{}`",
        if from > 0 { "…" } else { "" },
        one_line_whole(&head),
        one_line_whole(&tail),
        if rest { "…" } else { "" }
    )
}

/// Safe for a terminal, with the white space at its ends.
fn one_line_whole(text: &str) -> String {
    text.chars()
        .map(|char| if char.is_control() { '\u{fffd}' } else { char })
        .collect()
}

fn pair(word: &str) -> Result<Pair, Failure> {
    let wrong = || {
        Failure::usage(format!(
            "`{}` is no `key=value`, no `key:=JSON` and no JSON object",
            one_line(word, 120)
        ))
        .hint("such as message=hi, n=5, or '{\"message\":\"hi\"}'")
    };
    let (name, value) = word.split_once('=').ok_or_else(wrong)?;
    if let Some(name) = name.strip_suffix(':') {
        if name.is_empty() {
            return Err(wrong());
        }
        let text = files::text_or_file(value)?;
        let value = json(&text, &format!("the values of `{}`", one_line(name, 80)))?;
        return Ok(Pair {
            name: name.to_owned(),
            value: Typed::Json(value),
        });
    }
    if name.is_empty() {
        return Err(wrong());
    }
    let value = if value.starts_with('@') && value.len() > 1 {
        Typed::Whole(files::text_or_file(value)?)
    } else {
        Typed::Text(value.to_owned())
    };
    Ok(Pair {
        name: name.to_owned(),
        value,
    })
}

/// What a tool's schema says of its properties.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schema {
    properties: Object,
    definitions: Object,
}

impl Schema {
    /// Nothing is known.
    pub(crate) fn unknown() -> Self {
        Self::default()
    }

    /// Of a JSON Schema.
    pub(crate) fn of(schema: Option<&Raw>) -> Self {
        let Some(schema) = schema.and_then(|raw| raw.object().ok()) else {
            return Self::default();
        };
        let mut definitions = schema.object("definitions").unwrap_or_default();
        definitions.append(schema.object("$defs").unwrap_or_default());
        Self {
            properties: schema.object("properties").unwrap_or_default(),
            definitions,
        }
    }

    fn allowed(&self, name: &str) -> Allowed {
        let mut allowed = Allowed::default();
        if let Some(schema) = self.properties.object(name) {
            self.collect(&schema, 0, &mut allowed);
        }
        allowed
    }

    fn collect(&self, schema: &Object, depth: usize, allowed: &mut Allowed) {
        if depth > 8 {
            return;
        }
        match schema.get("type") {
            Some(raw) if raw.kind() == Kind::String => allowed.types.extend(raw.string()),
            Some(raw) => allowed
                .types
                .extend(raw.read::<Vec<String>>().unwrap_or_default()),
            None => {}
        }
        if let Some(items) = schema.object("items") {
            let mut inner = Allowed::default();
            self.collect(&items, depth + 1, &mut inner);
            allowed.items = Some(Box::new(inner));
        }
        let words = schema.get("enum").and_then(|raw| raw.array().ok());
        allowed.words.extend(words.unwrap_or_default());
        allowed.words.extend(schema.get("const").cloned());
        for name in ["anyOf", "oneOf", "allOf"] {
            let several = schema.get(name).and_then(|raw| raw.array().ok());
            for one in several.unwrap_or_default() {
                if let Ok(one) = one.object() {
                    self.collect(&one, depth + 1, allowed);
                }
            }
        }
        if let Some(target) = schema.string("$ref")
            && let Some(definition) = target
                .rsplit('/')
                .next()
                .and_then(|name| self.definitions.object(name))
        {
            self.collect(&definition, depth + 1, allowed);
        }
    }
}

/// What a value may be.
#[derive(Debug, Clone, Default)]
struct Allowed {
    types: Vec<String>,
    words: Vec<Raw>,
    items: Option<Box<Self>>,
}

impl Allowed {
    fn has(&self, kind: &str) -> bool {
        self.types.iter().any(|known| known == kind)
    }

    /// A text as the value that it is meant to be.
    fn read(&self, text: &str) -> Raw {
        if let Some(word) = self.words.iter().find(|word| is_spelled(word, text)) {
            return word.clone();
        }
        let json = Raw::parse(text).ok();
        if self.types.is_empty() {
            // Nothing is known: JSON when it is some. A quoted text is meant with its quotes only where text is.
            return json.unwrap_or_else(|| Raw::from(text));
        }
        let fits = |raw: &Raw| match raw.kind() {
            Kind::Number => self.has("number") || (self.has("integer") && raw.integer().is_some()),
            Kind::Boolean => self.has("boolean"),
            Kind::Null => self.has("null"),
            Kind::Array => self.has("array"),
            Kind::Object => self.has("object"),
            Kind::String => false,
        };
        match json {
            Some(raw) if fits(&raw) => raw,
            // One of a list.
            _ if self.has("array") && !self.has("string") => Raw::of(&[self.item(text)]),
            _ if self.has("string") => Raw::from(text),
            // It fits nothing; the server says so better than we could.
            Some(raw) => raw,
            None => Raw::from(text),
        }
    }

    fn item(&self, text: &str) -> Raw {
        match &self.items {
            Some(items) => items.read(text),
            None => Raw::parse(text).unwrap_or_else(|_| Raw::from(text)),
        }
    }
}

fn is_spelled(word: &Raw, text: &str) -> bool {
    word.string()
        .map_or_else(|| word.as_str() == text, |word| word == text)
}

/// The pairs as one object. A key that is there several times is a list, where the schema does not say otherwise.
///
/// # Errors
/// When a key is there twice and the schema takes one value.
pub(crate) fn by_schema(pairs: &[Pair], schema: &Schema) -> Result<Object, Failure> {
    let mut object = Object::new();
    let mut at = 0;
    while let Some(pair) = pairs.get(at) {
        at += 1;
        if object.contains(&pair.name) {
            continue;
        }
        let allowed = schema.allowed(&pair.name);
        let same: Vec<&Pair> = pairs
            .iter()
            .filter(|other| other.name == pair.name)
            .collect();
        let one = |pair: &Pair, read: &dyn Fn(&str) -> Raw| match &pair.value {
            Typed::Text(text) => read(text),
            Typed::Whole(text) => Raw::from(text.as_str()),
            Typed::Json(raw) => raw.clone(),
        };
        if same.len() == 1 {
            object.set(&pair.name, one(pair, &|text| allowed.read(text)));
            continue;
        }
        if !allowed.types.is_empty() && !allowed.has("array") {
            return Err(Failure::usage(format!(
                "`{}` was given {} times, and the tool takes one",
                one_line(&pair.name, 120),
                same.len()
            )));
        }
        let items: Vec<Raw> = same
            .into_iter()
            .map(|pair| one(pair, &|text| allowed.item(text)))
            .collect();
        object.set(&pair.name, Raw::of(&items));
    }
    Ok(object)
}

#[cfg(test)]
mod tests;
