//! Whether a value fits a schema, as far as can be told: types, required members, allowed values, limits and their
//! combinations. What cannot be told (`pattern`, `format`, `not`, conditions, what lies beyond a limit) fits.

use serde_json::{Map, Value};

use crate::canonical;
use crate::reference;
use crate::shape::segment;

/// Most schemas that are looked at for one value.
const MAX_NODES: usize = 5_000;
/// How deep schemas are followed, through values and references alike.
const MAX_DEPTH: usize = 64;
/// Most mismatches that are reported.
const MAX_FOUND: usize = 20;

/// One place where a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Where, as in [`crate::shape::Field::path`]; empty for the whole value.
    pub(crate) path: String,
    pub(crate) problem: Problem,
}

/// What does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It is required and not there.
    Missing,
    /// It has another type: what is taken, what was there.
    Type(String, &'static str),
    /// It is none of the allowed values.
    NotAllowed(Vec<String>),
    /// Nothing of this name is taken.
    Unknown,
    /// It fits none of the alternatives.
    NoAlternative,
    /// It is beyond a limit, as `minLength=1`.
    Limit(String),
    /// No value fits.
    Never,
}

/// Every place where `value` does not fit `schema`, at most 20; what is missing first, then by path.
pub(crate) fn mismatches(schema: &Value, value: &Value) -> Vec<Mismatch> {
    let mut check = Check {
        root: schema,
        left: MAX_NODES,
    };
    let mut found = Vec::new();
    check.schema(schema, value, "", 0, &mut found);
    let order = |mismatch: &Mismatch| {
        let is_there = mismatch.problem != Problem::Missing;
        (is_there, mismatch.path.clone())
    };
    found.sort_by_key(order);
    found.dedup();
    found.truncate(MAX_FOUND);
    found
}

struct Check<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> Check<'a> {
    fn schema(
        &mut self,
        schema: &'a Value,
        value: &Value,
        path: &str,
        depth: usize,
        found: &mut Vec<Mismatch>,
    ) {
        let mut add = |problem: Problem| {
            found.push(Mismatch {
                path: path.to_owned(),
                problem,
            });
        };
        let Value::Object(members) = schema else {
            if schema == &Value::Bool(false) {
                add(Problem::Never);
            }
            return;
        };
        let Some(left) = self.left.checked_sub(1).filter(|_| depth < MAX_DEPTH) else {
            return;
        };
        self.left = left;
        if value.is_null() && members.get("nullable") == Some(&Value::Bool(true)) {
            return;
        }
        if let Some(wanted) = other_type(members, value) {
            add(Problem::Type(wanted, word(value)));
            return;
        }
        if let Some(allowed) = allowed(members)
            && !allowed.iter().any(|one| is_same(one, value))
        {
            add(Problem::NotAllowed(
                allowed.iter().map(canonical::spell).collect(),
            ));
        }
        if let Some(limit) = broken_limit(members, value) {
            add(Problem::Limit(limit));
        }
        if let Some(target) =
            reference::of(members).and_then(|reference| reference::resolve(self.root, reference))
        {
            self.schema(target, value, path, depth + 1, found);
        }
        for part in list(members, "allOf") {
            self.schema(part, value, path, depth + 1, found);
        }
        for keyword in ["anyOf", "oneOf"] {
            self.alternatives(list(members, keyword), value, path, depth, found);
        }
        match value {
            Value::Object(sent) => self.object(members, sent, path, depth, found),
            Value::Array(sent) => self.array(members, sent, path, depth, found),
            _ => {}
        }
    }

    /// One that fits is enough. Of alternatives of which one alone has the right type, its problems are the answer.
    fn alternatives(
        &mut self,
        parts: &'a [Value],
        value: &Value,
        path: &str,
        depth: usize,
        found: &mut Vec<Mismatch>,
    ) {
        let mut near: Vec<Vec<Mismatch>> = Vec::new();
        for part in parts {
            let mut problems = Vec::new();
            self.schema(part, value, path, depth + 1, &mut problems);
            if problems.is_empty() {
                return;
            }
            let is_far = |mismatch: &Mismatch| {
                mismatch.path == path
                    && matches!(mismatch.problem, Problem::Type(..) | Problem::Never)
            };
            if !problems.iter().any(is_far) {
                near.push(problems);
            }
        }
        match (parts.is_empty(), near.len()) {
            (true, _) => {}
            (false, 1) => found.append(&mut near[0]),
            (false, _) => found.push(Mismatch {
                path: path.to_owned(),
                problem: Problem::NoAlternative,
            }),
        }
    }

    fn object(
        &mut self,
        members: &'a Map<String, Value>,
        sent: &Map<String, Value>,
        path: &str,
        depth: usize,
        found: &mut Vec<Mismatch>,
    ) {
        let properties = members.get("properties").and_then(Value::as_object);
        for name in list(members, "required").iter().filter_map(Value::as_str) {
            if !sent.contains_key(name) {
                found.push(Mismatch {
                    path: join(path, name),
                    problem: Problem::Missing,
                });
            }
        }
        let others = members.get("additionalProperties");
        let has_patterns = members
            .get("patternProperties")
            .and_then(Value::as_object)
            .is_some_and(|patterns| !patterns.is_empty());
        for (name, value) in sent {
            let known = properties.and_then(|properties| properties.get(name));
            match (known, others) {
                (Some(schema), _) => {
                    self.schema(schema, value, &join(path, name), depth + 1, found);
                }
                // Which names match a pattern is not told here.
                (None, _) if has_patterns => {}
                (None, Some(Value::Bool(false))) => found.push(Mismatch {
                    path: join(path, name),
                    problem: Problem::Unknown,
                }),
                (None, Some(schema)) => {
                    self.schema(schema, value, &join(path, name), depth + 1, found);
                }
                (None, None) => {}
            }
        }
    }

    fn array(
        &mut self,
        members: &'a Map<String, Value>,
        sent: &[Value],
        path: &str,
        depth: usize,
        found: &mut Vec<Mismatch>,
    ) {
        let items = members.get("items");
        let tuple = members
            .get("prefixItems")
            .or(items.filter(|items| items.is_array()))
            .and_then(Value::as_array);
        for (at, value) in sent.iter().enumerate() {
            let one = tuple.and_then(|tuple| tuple.get(at));
            let (schema, path) = match one {
                Some(schema) => (Some(schema), format!("{path}[{at}]")),
                None if items.is_some_and(Value::is_array) => {
                    (members.get("additionalItems"), format!("{path}[]"))
                }
                None => (items, format!("{path}[]")),
            };
            if let Some(schema) = schema {
                self.schema(schema, value, &path, depth + 1, found);
            }
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        segment(name)
    } else {
        format!("{path}.{}", segment(name))
    }
}

fn list<'a>(members: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    members
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The values that a schema lists.
pub(crate) fn allowed(members: &Map<String, Value>) -> Option<&[Value]> {
    match members.get("const") {
        Some(value) => Some(std::slice::from_ref(value)),
        None => members
            .get("enum")
            .and_then(Value::as_array)
            .map(Vec::as_slice),
    }
}

/// The types that a schema says, when it says any that there are.
pub(crate) fn said_types(members: &Map<String, Value>) -> Vec<&str> {
    let known = |word: &&str| {
        [
            "array", "boolean", "integer", "number", "object", "string", "null",
        ]
        .contains(word)
    };
    match members.get("type") {
        Some(Value::String(word)) => Some(word.as_str()).filter(known).into_iter().collect(),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            if words.iter().all(known) {
                words
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    }
}

/// What is taken instead of the type that `value` has.
fn other_type(members: &Map<String, Value>, value: &Value) -> Option<String> {
    let words = said_types(members);
    let fits = |word: &&str| match *word {
        "integer" => is_whole(value),
        other => other == word_of_kind(value),
    };
    if words.is_empty() || words.iter().any(fits) {
        return None;
    }
    Some(words.join("|"))
}

fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// The JSON type of a value.
fn word_of_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// With its article, for a sentence.
fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => one == other,
    }
}

fn broken_limit(members: &Map<String, Value>, value: &Value) -> Option<String> {
    let (keywords, size): (&[&str], f64) = match value {
        Value::String(text) => (&["minLength", "maxLength"], count(text.chars().count())),
        Value::Array(elements) => (&["minItems", "maxItems"], count(elements.len())),
        Value::Object(sent) => (&["minProperties", "maxProperties"], count(sent.len())),
        Value::Number(number) => (
            &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
            number.as_f64()?,
        ),
        _ => return None,
    };
    keywords.iter().find_map(|keyword| {
        let limit = members.get(*keyword)?.as_f64()?;
        let holds = match *keyword {
            "exclusiveMinimum" => size > limit,
            "exclusiveMaximum" => size < limit,
            least if least.starts_with("min") => size >= limit,
            _ => size <= limit,
        };
        let spelled = || format!("{keyword}={}", members[*keyword]);
        (!holds).then(spelled)
    })
}

/// Exact up to 2^53, which no text reaches.
#[allow(clippy::cast_precision_loss, reason = "no text is that long")]
fn count(size: usize) -> f64 {
    size as f64
}

#[cfg(test)]
mod tests;
