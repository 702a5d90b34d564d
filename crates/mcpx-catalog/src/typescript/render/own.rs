//! What a schema says by itself.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Place, Renderer, schemas};
use crate::shape::required;
use crate::typescript::combine::{
    NOTHING, RECORD, Type, UNKNOWN, braces, list_of, literals, single, union,
};
use crate::typescript::text::{describe, member, optional};

/// Most elements of a tuple that are listed.
const MAX_TUPLE: usize = 20;

/// Keywords that describe members, and elements.
const MEMBERS: &[&str] = &[
    "properties",
    "required",
    "patternProperties",
    "additionalProperties",
];
const ELEMENTS: &[&str] = &["items", "prefixItems"];

fn has(schema: &Map<String, Value>, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| schema.contains_key(*keyword))
}

/// The types that a schema names.
pub(super) fn said_words(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// What a schema says of members that it does not name.
fn others(schema: &Map<String, Value>) -> Option<&Value> {
    /// Parts for the same place, whose members count as named.
    const PARTS: &[&str] = &[
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "then",
        "else",
        "dependentSchemas",
    ];
    let others = schema.get("additionalProperties");
    others.or_else(|| match schema.get("unevaluatedProperties")? {
        Value::Bool(false) if has(schema, PARTS) => None,
        Value::Object(_) if has(schema, PARTS) => Some(&Value::Bool(true)),
        others => Some(others),
    })
}

impl<'a> Renderer<'a> {
    /// What a schema says without its references and combinations.
    ///
    /// `words` are the types that its value has, by what it says or what was said before of the same place.
    pub(super) fn own(
        &mut self,
        members: &'a Map<String, Value>,
        words: &[&'a str],
        place: &Place<'a>,
    ) -> Type {
        if let Some(value) = members.get("const") {
            return literals(std::slice::from_ref(value));
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            return literals(values);
        }
        if words.is_empty() {
            return if has(members, MEMBERS) {
                self.object(members, place)
            } else if has(members, ELEMENTS) {
                self.array(members, place)
            } else {
                single(UNKNOWN)
            };
        }
        if !members.contains_key("type") && !has(members, MEMBERS) && !has(members, ELEMENTS) {
            return single(UNKNOWN);
        }
        let mut types = Vec::new();
        for word in words {
            types.push(match *word {
                "string" | "boolean" | "null" => single(*word),
                "number" | "integer" => single("number"),
                "object" => self.object(members, place),
                "array" => self.array(members, place),
                _ => single(UNKNOWN),
            });
        }
        union(types)
    }

    fn object(&mut self, schema: &'a Map<String, Value>, place: &Place<'a>) -> Type {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required: BTreeSet<&str> = required(schema).collect();
        let mut names: BTreeSet<&str> = properties
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        names.extend(&required);
        let mut rows: Vec<(Vec<String>, String)> = Vec::new();
        let is_empty = names.is_empty();
        for name in names {
            let property = properties.and_then(|properties| properties.get(name));
            let value = property.map_or_else(
                || single(UNKNOWN),
                |property| self.schema(property, &place.inside(place.indent + 2)),
            );
            let lines = property
                .map(|property| describe(name, property))
                .unwrap_or_default();
            let row = if required.contains(name) {
                format!("{}: {};", member(name), value.text)
            } else {
                optional(name, &value.text)
            };
            rows.push((lines, row));
        }
        let patterns = schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .is_some_and(|patterns| !patterns.is_empty());
        let others = others(schema);
        match others {
            Some(Value::Bool(false)) if is_empty && !patterns => return single(NOTHING),
            // An index has to fit every named member too.
            Some(Value::Object(_)) if is_empty && !patterns => {
                let value = others.map_or_else(
                    || single(UNKNOWN),
                    |others| self.schema(others, &place.inside(place.indent)),
                );
                return single(format!("{{ [key: string]: {} }}", value.text));
            }
            Some(Value::Object(_) | Value::Bool(true)) => {
                rows.push((Vec::new(), "[key: string]: unknown;".to_owned()));
            }
            _ if is_empty => return single(RECORD),
            _ if patterns => rows.push((Vec::new(), "[key: string]: unknown;".to_owned())),
            _ => {}
        }
        single(braces(&rows, place.indent))
    }

    fn array(&mut self, schema: &'a Map<String, Value>, place: &Place<'a>) -> Type {
        let items = schema.get("items");
        let tuple = schema
            .get("prefixItems")
            .or(items.filter(|items| items.is_array()));
        let inside = place.inside(place.indent);
        let Some(tuple) = schemas(tuple).filter(|tuple| tuple.len() <= MAX_TUPLE) else {
            let element = match items {
                Some(items @ (Value::Object(_) | Value::Bool(_))) if tuple.is_none() => {
                    self.schema(items, &inside)
                }
                _ => single(UNKNOWN),
            };
            return single(list_of(&element));
        };
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let mut elements = Vec::new();
        for (index, element) in (0_u64..).zip(tuple) {
            let element = self.schema(element, &inside);
            let mark = if index < least { "" } else { "?" };
            elements.push(format!("({}){mark}", element.text));
        }
        let rest = match items {
            Some(Value::Array(_)) => schema.get("additionalItems"),
            items => items,
        };
        let most = schema.get("maxItems").and_then(Value::as_u64);
        let is_full = most.is_some_and(|most| most <= tuple.len() as u64);
        if !is_full && rest != Some(&Value::Bool(false)) {
            let rest = rest.map_or_else(|| single(UNKNOWN), |rest| self.schema(rest, &inside));
            elements.push(format!("...{}", list_of(&rest)));
        }
        single(format!("[{}]", elements.join(", ")))
    }
}
