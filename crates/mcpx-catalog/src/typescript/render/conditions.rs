//! Members that a schema declares under a condition alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Place, Renderer, schemas};
use crate::reference::{self, Trail};
use crate::typescript::combine::{Type, UNKNOWN, braces, single, union};
use crate::typescript::text::{describe, optional};

/// Most schemas that are looked at for one place.
const MAX_LOOKS: usize = 500;

/// The names of members that are declared for one place.
struct Declared<'a> {
    left: usize,
    always: BTreeSet<&'a str>,
    /// With the schemas that a condition gives them.
    sometimes: BTreeMap<&'a str, Vec<&'a Value>>,
}

impl<'a> Renderer<'a> {
    /// The type that has the members which `then`, `else` and `dependentSchemas` declare and nothing else does: optional,
    /// because what the condition says is no part of a type. `words` are the types that the value has.
    pub(super) fn conditional(
        &mut self,
        schema: &'a Value,
        words: &[&str],
        place: &Place<'a>,
    ) -> Option<Type> {
        if !words.contains(&"object") {
            return None;
        }
        let mut declared = Declared {
            left: MAX_LOOKS,
            always: BTreeSet::new(),
            sometimes: BTreeMap::new(),
        };
        self.gather(schema, false, &place.trail, &mut declared);
        let Declared {
            always, sometimes, ..
        } = declared;
        let mut rows = Vec::new();
        for (name, schemas) in sometimes {
            if always.contains(name) {
                continue;
            }
            let lines = schemas.first().map(|schema| describe(name, schema));
            let inside = place.inside(place.indent + 2);
            let types = schemas.iter().map(|schema| self.schema(schema, &inside));
            let text = if schemas.is_empty() {
                UNKNOWN.to_owned()
            } else {
                union(types.collect()).text
            };
            rows.push((lines.unwrap_or_default(), optional(name, &text)));
        }
        if rows.is_empty() {
            return None;
        }
        let members = single(braces(&rows, place.indent));
        let other = words.iter().filter(|word| **word != "object");
        let other = other.map(|word| match *word {
            "string" | "boolean" | "null" => single(*word),
            "number" | "integer" => single("number"),
            "array" => single("unknown[]"),
            _ => single(UNKNOWN),
        });
        Some(union(std::iter::once(members).chain(other).collect()))
    }

    fn gather(
        &self,
        schema: &'a Value,
        is_condition: bool,
        trail: &Trail,
        declared: &mut Declared<'a>,
    ) {
        let Value::Object(members) = schema else {
            return;
        };
        let Some(left) = declared.left.checked_sub(1) else {
            return;
        };
        declared.left = left;
        declare(members, is_condition, declared);
        if let Some(target) =
            reference::of(members).and_then(|reference| reference::resolve(self.root, reference))
            && !trail.holds(target)
        {
            self.gather(target, is_condition, &trail.with(target), declared);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for part in schemas(members.get(keyword)).into_iter().flatten() {
                self.gather(part, is_condition, trail, declared);
            }
        }
        for keyword in ["if", "then", "else"] {
            if let Some(part) = members.get(keyword).filter(|_| members.contains_key("if")) {
                self.gather(part, true, trail, declared);
            }
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            let named = members.get(keyword).and_then(Value::as_object);
            for part in named.into_iter().flat_map(Map::values) {
                self.gather(part, true, trail, declared);
            }
        }
    }
}

/// Takes in what a schema names by itself.
fn declare<'a>(members: &'a Map<String, Value>, is_condition: bool, declared: &mut Declared<'a>) {
    let properties = members.get("properties").and_then(Value::as_object);
    let required = schemas(members.get("required"));
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    if is_condition {
        for name in required {
            declared.sometimes.entry(name).or_default();
        }
        for (name, schema) in properties.into_iter().flatten() {
            let known = declared.sometimes.entry(name).or_default();
            known.push(schema);
        }
    } else {
        declared.always.extend(required);
        let names = properties.into_iter().flat_map(Map::keys);
        declared.always.extend(names.map(String::as_str));
    }
    for keyword in ["dependentRequired", "dependencies"] {
        let lists = members.get(keyword).and_then(Value::as_object);
        let lists = lists.into_iter().flat_map(Map::values);
        for name in lists.filter_map(Value::as_array).flatten() {
            let Some(name) = name.as_str() else { continue };
            declared.sometimes.entry(name).or_default();
        }
    }
}
