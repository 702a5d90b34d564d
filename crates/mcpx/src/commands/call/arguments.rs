//! The arguments of a call as people type them: one JSON object, or pairs that are read by the tool's schema.
//!
//! `key=value` is text where the schema says text, so that `n=5` stays `"5"` for a property of strings and is 5 for one of
//! numbers. `a.b=value` is a member of the object `a`. `key:=JSON` is JSON whatever the schema says, `key=@FILE` and `key=@-`
//! the text of a file and of stdin. `key:value` is `key=value`, as others write it.

mod json;
mod literal;
mod schema;

use mcp_wire::json::Kind;
use mcp_wire::{Object, Raw};
use untrusted_text::terminal::one_line;

pub(in crate::commands) use self::json::json;
pub(super) use self::literal::{Between, called};
pub(in crate::commands) use self::schema::Schema;
use crate::exit::Failure;
use crate::files;

/// Arguments as they could be typed.
const EXAMPLE: &str = "`key=value` pairs, or a JSON object such as '{\"message\":\"hi\"}'";

/// What was typed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arguments {
    /// The whole object.
    Whole(Object),
    /// Pairs, in their order.
    Pairs(Vec<Pair>),
    /// Values alone, in the order of the schema.
    Listed(Vec<Raw>),
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
    /// `url:https://x?a=b` as the pair that is meant: `url` is a property, and `url:https://x?a` is none.
    fn by_names(&self, schema: &Schema) -> Self {
        let Typed::Text(text) = &self.value else {
            return self.clone();
        };
        match colon(&self.name) {
            Some((name, rest)) if !schema.knows(&self.name) && schema.knows(name) => Self {
                name: name.to_owned(),
                value: Typed::Text(format!("{rest}={text}")),
            },
            _ => self.clone(),
        }
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

/// Whether a word stands for the whole object, or was meant to.
fn is_whole(word: &str) -> bool {
    word == "-"
        || word.trim_start().starts_with(['{', '[', '"', '@'])
        || (!word.contains('=') && Raw::parse(word).is_ok())
}

/// A JSON object, with the place of what is wrong.
pub(crate) fn object(text: &str) -> Result<Object, Failure> {
    let raw = json(text, "the arguments", EXAMPLE)?;
    if raw.kind() != Kind::Object {
        return Err(Failure::usage(format!(
            "the arguments were {}, `{}`, expected a JSON object or `key=value` pairs",
            raw.kind().word(),
            one_line(raw.as_str(), 60)
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

fn pair(word: &str) -> Result<Pair, Failure> {
    let wrong = || {
        Failure::usage(format!(
            "`{}` is no `key=value`, no `key:=JSON` and no JSON object",
            one_line(word, 120)
        ))
        .hint("such as message=hi, n=5, or '{\"message\":\"hi\"}'")
    };
    let (name, value) = word
        .split_once('=')
        .or_else(|| colon(word))
        .ok_or_else(wrong)?;
    if let Some(name) = name.strip_suffix(':') {
        if name.is_empty() {
            return Err(wrong());
        }
        let text = files::text_or_file(value)?;
        let what = format!("the values of `{}`", one_line(name, 80));
        let value = json(&text, &what, "JSON such as '[1,2]' or '\"text\"'")?;
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

/// The parts of `key:value`, where the key can be one.
fn colon(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once(':')?;
    let is_name = name
        .chars()
        .all(|char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | '$'));
    (is_name && !name.is_empty() && !value.is_empty()).then_some((name, value))
}

/// The pairs as one object. A key that is there several times is a list, where the schema does not say otherwise.
///
/// # Errors
/// When a key is there twice and the schema takes one value.
pub(crate) fn by_schema(pairs: &[Pair], schema: &Schema) -> Result<Object, Failure> {
    let pairs: Vec<Pair> = pairs.iter().map(|pair| pair.by_names(schema)).collect();
    let mut object = Object::new();
    for (at, pair) in pairs.iter().enumerate() {
        if pairs[..at].iter().any(|before| before.name == pair.name) {
            continue;
        }
        let same: Vec<&Pair> = pairs
            .iter()
            .filter(|other| other.name == pair.name)
            .collect();
        let steps = schema.steps(&pair.name);
        place(&mut object, &steps, value(&same, &steps, schema)?);
    }
    Ok(object)
}

/// The value of the pairs of one name.
fn value(same: &[&Pair], steps: &[&str], schema: &Schema) -> Result<Raw, Failure> {
    let allowed = schema.allowed(steps);
    let one = |pair: &Pair, read: &dyn Fn(&str) -> Raw| match &pair.value {
        Typed::Text(text) => read(text),
        Typed::Whole(text) => Raw::from(text.as_str()),
        Typed::Json(raw) => raw.clone(),
    };
    if let [pair] = same {
        return Ok(one(pair, &|text| allowed.read(text)));
    }
    if !allowed.is_list() {
        return Err(Failure::usage(format!(
            "`{}` was given {} times, and the tool takes one",
            one_line(&steps.join("."), 120),
            same.len()
        )));
    }
    let items: Vec<Raw> = same
        .iter()
        .map(|pair| one(pair, &|text| allowed.item(text)))
        .collect();
    Ok(Raw::of(&items))
}

/// Values alone as an object: what is required first, then the others, both as the schema has them.
///
/// # Errors
/// When there are more than the schema has arguments.
pub(crate) fn by_order(values: Vec<Raw>, schema: &Schema) -> Result<Object, Failure> {
    let required = schema.required();
    let names = schema.names();
    let (first, then): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| required.contains(name));
    let ordered: Vec<&String> = first.into_iter().chain(then).collect();
    if values.len() > ordered.len() {
        let shown: Vec<&str> = ordered.iter().map(|name| name.as_str()).collect();
        return Err(Failure::usage(format!(
            "{} values were given, and the tool takes {}: {}",
            values.len(),
            ordered.len(),
            one_line(&shown.join(", "), 300)
        )));
    }
    let mut object = Object::new();
    for (name, value) in ordered.into_iter().zip(values) {
        object.set(name, value);
    }
    Ok(object)
}

/// Puts a value where the steps lead; what is on the way and no object gives way to one.
fn place(object: &mut Object, steps: &[&str], value: Raw) {
    match steps {
        [] => {}
        [name] => object.set(name, value),
        [name, rest @ ..] => {
            let mut inner = object.object(name).unwrap_or_default();
            place(&mut inner, rest, value);
            object.set(name, inner);
        }
    }
}

#[cfg(test)]
mod tests;
