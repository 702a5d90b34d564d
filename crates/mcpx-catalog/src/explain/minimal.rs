//! The smallest value that fits a schema, to show how a call has to look.
//!
//! Placeholders stand for what is free: `""`, `0`, `false`, `[]`, `{}`, and `null` where anything is taken. What could not
//! be made to fit, as far as that can be told, is nothing: no advice is better than a wrong one.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use crate::conformity::{allowed, mismatches, said_types};
use crate::reference;
use crate::typescript::takes_nothing;

const MAX_NODES: usize = 2_000;
const MAX_DEPTH: usize = 10;
/// Most alternatives of one place that are tried.
const MAX_TRIES: usize = 8;
/// Longest text and list that is filled up to a lower limit.
const MAX_FILL: u64 = 64;

/// The smallest value that fits `schema`.
pub(crate) fn minimal(schema: &Value) -> Option<Value> {
    let mut maker = Maker {
        root: schema,
        left: MAX_NODES,
        open: Vec::new(),
    };
    let value = maker.value(&[schema], 0)?;
    let is_wrong = value.as_object().is_some_and(Map::is_empty) && !takes_nothing(schema);
    (!is_wrong && mismatches(schema, &value).is_empty()).then_some(value)
}

/// Schemas that hold together for one place, and what is left to be chosen.
#[derive(Clone, Default)]
struct Level<'a> {
    said: Vec<&'a Map<String, Value>>,
    choices: Vec<&'a [Value]>,
}

struct Maker<'a> {
    root: &'a Value,
    left: usize,
    /// Schemas of the places above: the smallest value never holds one of its own kind.
    open: Vec<*const Map<String, Value>>,
}

impl<'a> Maker<'a> {
    fn value(&mut self, schemas: &[&'a Value], depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.choose(Level::default(), schemas, depth)
    }

    /// Takes `schemas` in, and then tries the alternatives one after the other.
    fn choose(
        &mut self,
        mut level: Level<'a>,
        schemas: &[&'a Value],
        depth: usize,
    ) -> Option<Value> {
        self.absorb(&mut level, schemas)?;
        let Some(alternatives) = level.choices.pop() else {
            return self.assemble(&level.said, depth);
        };
        alternatives
            .iter()
            .take(MAX_TRIES)
            .find_map(|one| self.choose(level.clone(), &[one], depth))
    }

    /// Nothing when no value fits, or the budget is used up.
    fn absorb(&mut self, level: &mut Level<'a>, schemas: &[&'a Value]) -> Option<()> {
        let mut waiting = schemas.to_vec();
        while let Some(schema) = waiting.pop() {
            self.left = self.left.checked_sub(1)?;
            let Value::Object(members) = schema else {
                if schema == &Value::Bool(false) {
                    return None;
                }
                continue;
            };
            if level.said.iter().any(|known| std::ptr::eq(*known, members)) {
                continue;
            }
            if self.open.contains(&std::ptr::from_ref(members)) {
                return None;
            }
            level.said.push(members);
            let target = reference::of(members)
                .and_then(|reference| reference::resolve(self.root, reference));
            waiting.extend(target);
            waiting.extend(elements(members, "allOf"));
            for keyword in ["oneOf", "anyOf"] {
                let alternatives = elements(members, keyword);
                if !alternatives.is_empty() {
                    level.choices.push(alternatives);
                }
            }
        }
        Some(())
    }

    fn assemble(&mut self, said: &[&'a Map<String, Value>], depth: usize) -> Option<Value> {
        let lists: Vec<&[Value]> = said.iter().filter_map(|members| allowed(members)).collect();
        if let Some((first, others)) = lists.split_first() {
            let types: Vec<Vec<&str>> = said.iter().map(|members| meant_types(members)).collect();
            return first
                .iter()
                .find(|value| {
                    others.iter().all(|list| list.contains(value))
                        && types.iter().all(|words| has_type(words, value))
                })
                .cloned();
        }
        let above = self.open.len();
        self.open
            .extend(said.iter().map(|members| std::ptr::from_ref(*members)));
        let value = type_of(said).and_then(|word| self.of_type(word, said, depth));
        self.open.truncate(above);
        value
    }

    fn of_type(
        &mut self,
        word: &str,
        said: &[&'a Map<String, Value>],
        depth: usize,
    ) -> Option<Value> {
        match word {
            "object" => self.object(said, depth),
            "array" => self.array(said, depth),
            "string" => Some(Value::from(
                "x".repeat(usize::try_from(fill(said, "minLength")?).ok()?),
            )),
            "integer" => number(said, true),
            "number" => number(said, false),
            "boolean" => Some(Value::Bool(false)),
            _ => Some(Value::Null),
        }
    }

    fn object(&mut self, said: &[&'a Map<String, Value>], depth: usize) -> Option<Value> {
        let required: BTreeSet<&str> = said
            .iter()
            .flat_map(|members| elements(members, "required"))
            .filter_map(Value::as_str)
            .collect();
        let mut object = Map::new();
        for name in required {
            let mut schemas: Vec<&'a Value> = Vec::new();
            for members in said {
                let known = members
                    .get("properties")
                    .and_then(|properties| properties.get(name));
                schemas.extend(known.or_else(|| members.get("additionalProperties")));
            }
            object.insert(name.to_owned(), self.value(&schemas, depth + 1)?);
        }
        Some(Value::Object(object))
    }

    fn array(&mut self, said: &[&'a Map<String, Value>], depth: usize) -> Option<Value> {
        let mut array = Vec::new();
        for at in 0..usize::try_from(fill(said, "minItems")?).ok()? {
            let mut schemas: Vec<&'a Value> = Vec::new();
            for members in said {
                let items = members.get("items");
                let tuple = members
                    .get("prefixItems")
                    .or(items.filter(|items| items.is_array()));
                let one = tuple.and_then(|tuple| tuple.get(at));
                schemas.extend(one.or_else(|| items.filter(|items| !items.is_array())));
            }
            array.push(self.value(&schemas, depth + 1)?);
        }
        Some(Value::Array(array))
    }
}

fn elements<'a>(members: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    members
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn has_type(words: &[&str], value: &Value) -> bool {
    let word = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    words.is_empty() || words.contains(&word) || word == "number" && words.contains(&"integer")
}

/// The types that a schema says, or means: one of lists is meant for lists, though it takes anything else as well.
fn meant_types(members: &Map<String, Value>) -> Vec<&str> {
    let said = said_types(members);
    let has = |keywords: &[&str]| {
        keywords
            .iter()
            .any(|keyword| members.contains_key(*keyword))
    };
    if !said.is_empty() || members.contains_key("type") {
        said
    } else if has(&[
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
    ]) {
        vec!["object"]
    } else if has(&["items", "prefixItems", "minItems"]) {
        vec!["array"]
    } else {
        Vec::new()
    }
}

/// A type that all of them take: the first that is said, `null` last; by the other keywords when none is said.
fn type_of(said: &[&Map<String, Value>]) -> Option<&'static str> {
    const WORDS: [&str; 7] = [
        "object", "array", "string", "integer", "number", "boolean", "null",
    ];
    let lists: Vec<Vec<&str>> = said
        .iter()
        .map(|members| meant_types(members))
        .filter(|words| !words.is_empty())
        .collect();
    let takes = |words: &Vec<&str>, word: &str| {
        words.contains(&word) || word == "integer" && words.contains(&"number")
    };
    if !lists.is_empty() {
        let order = lists.first().into_iter().flatten().copied();
        let first = order
            .filter(|word| *word != "null")
            .chain(WORDS)
            .find(|word| lists.iter().all(|words| takes(words, word)))?;
        return WORDS.into_iter().find(|word| *word == first);
    }
    let has = |keywords: &[&str]| {
        said.iter().any(|members| {
            keywords
                .iter()
                .any(|keyword| members.contains_key(*keyword))
        })
    };
    Some(if has(&["minLength", "maxLength", "pattern", "format"]) {
        "string"
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]) {
        "number"
    } else {
        "null"
    })
}

/// How much must be there, by the greatest of the lower limits; nothing when that is too much to show.
fn fill(said: &[&Map<String, Value>], keyword: &str) -> Option<u64> {
    let most = said
        .iter()
        .filter_map(|members| members.get(keyword)?.as_u64())
        .max()
        .unwrap_or(0);
    (most <= MAX_FILL).then_some(most)
}

/// 0, or what is nearest to it within the limits.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the number is whole and its size was looked at"
)]
fn number(said: &[&Map<String, Value>], is_whole: bool) -> Option<Value> {
    const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;
    let step = if is_whole { 1.0 } else { 0.5 };
    let each = |keyword: &'static str| {
        said.iter()
            .filter_map(move |members| members.get(keyword)?.as_f64())
    };
    let whole = |number: f64, up: bool| match (is_whole, up) {
        (false, _) => number,
        (true, true) => number.ceil(),
        (true, false) => number.floor(),
    };
    let above = |number: f64| {
        if is_whole {
            number.floor() + 1.0
        } else {
            number + step
        }
    };
    let below = |number: f64| {
        if is_whole {
            number.ceil() - 1.0
        } else {
            number - step
        }
    };
    let least = each("minimum")
        .map(|number| whole(number, true))
        .chain(each("exclusiveMinimum").map(above))
        .fold(f64::NEG_INFINITY, f64::max);
    let most = each("maximum")
        .map(|number| whole(number, false))
        .chain(each("exclusiveMaximum").map(below))
        .fold(f64::INFINITY, f64::min);
    let nearest = 0.0_f64.max(least).min(most);
    if nearest.fract() == 0.0 && nearest.abs() <= MAX_WHOLE {
        return Some(Value::from(nearest as i64));
    }
    Number::from_f64(nearest).map(Value::Number)
}

#[cfg(test)]
mod tests;
