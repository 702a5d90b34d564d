//! One schema as a TypeScript type.
//!
//! References are followed within the document. What leads back to itself becomes a named type where the language
//! allows one, and `unknown` where it does not (a type that is nothing but itself) or where a limit is reached.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::combine::{
    NOTHING, RECORD, Type, UNKNOWN, braces, intersection, list_of, literals, single, union,
};
use super::text::{describe, member};
use crate::reference::{self, Trail};

/// How deep a type may nest.
const MAX_DEPTH: usize = 12;
/// Most schemas that are rendered for one tool.
const MAX_NODES: usize = 4_000;
/// Most schemas that are walked through to find cycles.
const MAX_WALK: usize = 100_000;
/// Most elements of a tuple that are listed.
const MAX_TUPLE: usize = 20;

/// Renders the schemas of one tool.
pub(super) struct Renderer<'a> {
    root: &'a Value,
    /// What the named types of the tool begin with; no other tool has it.
    prefix: String,
    left: usize,
    /// Whether a schema leads back to itself, for those that were looked at.
    cycles: BTreeMap<*const Value, bool>,
    /// How many more schemas may be walked through to find that out.
    walk: usize,
    names: Vec<(*const Value, String)>,
    waiting: VecDeque<(&'a Value, String)>,
    /// Definitions of the named types, ready to be put before the tool.
    pub(super) named: Vec<String>,
}

/// Where a type stands.
#[derive(Clone)]
struct Place {
    trail: Trail,
    depth: usize,
    indent: usize,
    /// Whether a member or element lies between here and the name of the type that is being defined.
    is_guarded: bool,
}

impl Place {
    fn inside(&self, indent: usize) -> Self {
        Self {
            trail: self.trail.clone(),
            depth: self.depth + 1,
            indent,
            is_guarded: true,
        }
    }

    fn deeper(&self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self.clone()
        }
    }
}

impl<'a> Renderer<'a> {
    pub(super) fn new(root: &'a Value, prefix: String) -> Self {
        Self {
            root,
            prefix,
            left: MAX_NODES,
            cycles: BTreeMap::new(),
            walk: MAX_WALK,
            names: Vec::new(),
            waiting: VecDeque::new(),
            named: Vec::new(),
        }
    }

    /// The type of the whole document, at `indent`.
    pub(super) fn whole(&mut self, indent: usize) -> String {
        let place = Place {
            trail: Trail::default(),
            depth: 0,
            indent,
            is_guarded: true,
        };
        let text = self.schema(self.root, &place).text;
        while let Some((schema, name)) = self.waiting.pop_front() {
            let place = Place {
                trail: Trail::default().with(schema),
                depth: 0,
                indent: 0,
                is_guarded: false,
            };
            let body = self.schema(schema, &place).text;
            self.named.push(format!("type {name} = {body};\n"));
        }
        text
    }

    fn schema(&mut self, schema: &'a Value, place: &Place) -> Type {
        let Value::Object(members) = schema else {
            return single(if schema == &Value::Bool(false) {
                "never"
            } else {
                UNKNOWN
            });
        };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || place.depth > MAX_DEPTH {
            return single(UNKNOWN);
        }
        let mut parts = Vec::new();
        if let Some(reference) = reference::of(members) {
            parts.push(self.reference(reference, place));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(schemas) = schemas(members.get(keyword)) {
                let types = schemas
                    .iter()
                    .map(|schema| self.schema(schema, &place.deeper()))
                    .collect();
                parts.push(union(types));
            }
        }
        for schema in schemas(members.get("allOf")).into_iter().flatten() {
            parts.push(self.schema(schema, &place.deeper()));
        }
        // A bare `object` beside other parts says nothing that they do not, and would open them to any member.
        let says_members = ["properties", "required", "patternProperties"]
            .iter()
            .any(|keyword| members.contains_key(*keyword));
        let own = self.own(members, place);
        if parts.is_empty() || says_members || own.text != RECORD && own.text != NOTHING {
            parts.insert(0, own);
        }
        let whole = intersection(parts);
        if members.get("nullable") == Some(&Value::Bool(true)) {
            return union(vec![whole, single("null")]);
        }
        whole
    }

    fn reference(&mut self, reference: &str, place: &Place) -> Type {
        let Some(target) = reference::resolve(self.root, reference) else {
            return single(UNKNOWN);
        };
        if place.is_guarded && self.is_cycle(target) {
            return single(self.name(target, reference));
        }
        if place.trail.holds(target) {
            return single(UNKNOWN);
        }
        let place = Place {
            trail: place.trail.with(target),
            ..place.deeper()
        };
        self.schema(target, &place)
    }

    fn is_cycle(&mut self, target: &'a Value) -> bool {
        let key = std::ptr::from_ref(target);
        if let Some(known) = self.cycles.get(&key) {
            return *known;
        }
        let found = self.leads_back(target);
        self.cycles.insert(key, found);
        found
    }

    /// Whether a reference below `target` leads to it again.
    fn leads_back(&mut self, target: &'a Value) -> bool {
        let mut seen: BTreeSet<*const Value> = BTreeSet::new();
        let mut waiting = vec![target];
        while let Some(schema) = waiting.pop() {
            self.walk = self.walk.saturating_sub(1);
            if self.walk == 0 {
                return false;
            }
            let next = match schema {
                Value::Array(elements) => {
                    waiting.extend(elements);
                    continue;
                }
                Value::Object(members) => {
                    // Definitions are reached by references alone, data never.
                    let inner = members.iter().filter(|(name, _)| {
                        !matches!(
                            name.as_str(),
                            "$defs" | "definitions" | "enum" | "const" | "default" | "examples"
                        )
                    });
                    waiting.extend(
                        inner
                            .map(|(_, value)| value)
                            .filter(|value| value.is_object() || value.is_array()),
                    );
                    reference::of(members)
                        .and_then(|reference| reference::resolve(self.root, reference))
                }
                _ => None,
            };
            match next {
                Some(next) if std::ptr::eq(next, target) => return true,
                Some(next) if seen.insert(std::ptr::from_ref(next)) => waiting.push(next),
                _ => {}
            }
        }
        false
    }

    fn name(&mut self, target: &'a Value, reference: &str) -> String {
        if let Some((_, name)) = self
            .names
            .iter()
            .find(|(known, _)| std::ptr::eq(*known, target))
        {
            return name.clone();
        }
        let word: String = reference::name(reference)
            .chars()
            .filter(|c| c.is_ascii_alphanumeric())
            .take(40)
            .collect();
        let mut name = format!("{}${word}", self.prefix);
        while self.names.iter().any(|(_, known)| *known == name) {
            name = format!("{name}_{}", self.names.len());
        }
        self.names.push((std::ptr::from_ref(target), name.clone()));
        self.waiting.push_back((target, name.clone()));
        name
    }

    /// What a schema says without its references and combinations.
    fn own(&mut self, members: &'a Map<String, Value>, place: &Place) -> Type {
        if let Some(value) = members.get("const") {
            return literals(std::slice::from_ref(value));
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            return literals(values);
        }
        let words: Vec<&str> = match members.get("type") {
            Some(Value::String(word)) => vec![word],
            Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if words.is_empty() {
            let has = |keywords: &[&str]| {
                keywords
                    .iter()
                    .any(|keyword| members.contains_key(*keyword))
            };
            return if has(&[
                "properties",
                "required",
                "patternProperties",
                "additionalProperties",
            ]) {
                self.object(members, place)
            } else if has(&["items", "prefixItems"]) {
                self.array(members, place)
            } else {
                single(UNKNOWN)
            };
        }
        let mut types = Vec::new();
        for word in words {
            types.push(match word {
                "string" | "boolean" | "null" => single(word),
                "number" | "integer" => single("number"),
                "object" => self.object(members, place),
                "array" => self.array(members, place),
                _ => single(UNKNOWN),
            });
        }
        union(types)
    }

    fn object(&mut self, schema: &'a Map<String, Value>, place: &Place) -> Type {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required: BTreeSet<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
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
            let mark = if required.contains(name) { "" } else { "?" };
            let lines = property
                .map(|property| describe(name, property))
                .unwrap_or_default();
            rows.push((lines, format!("{}{mark}: {};", member(name), value.text)));
        }
        let others = schema
            .get("additionalProperties")
            .or_else(|| schema.get("unevaluatedProperties"));
        let patterns = schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .is_some_and(|patterns| !patterns.is_empty());
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

    fn array(&mut self, schema: &'a Map<String, Value>, place: &Place) -> Type {
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
        let rest = items.filter(|items| items.is_object()).or_else(|| {
            schema
                .get("additionalItems")
                .filter(|items| items.is_object())
        });
        if let Some(rest) = rest {
            let rest = self.schema(rest, &inside);
            elements.push(format!("...{}", list_of(&rest)));
        }
        single(format!("[{}]", elements.join(", ")))
    }
}

fn schemas(value: Option<&Value>) -> Option<&Vec<Value>> {
    value?.as_array().filter(|schemas| !schemas.is_empty())
}
