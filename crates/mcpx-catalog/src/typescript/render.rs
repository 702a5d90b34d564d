//! One schema as a TypeScript type.
//!
//! References are followed within the document. What leads back to itself becomes a named type where the language
//! allows one, and `unknown` where it does not (a type that is nothing but itself) or where a limit is reached.
//!
//! A type takes every value that the schema takes, with two exceptions that are meant: of a schema that says nothing of
//! other members, those that it declares are all; one that describes members or elements and no type is of that type.

mod conditions;
mod own;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::combine::{NOTHING, RECORD, Type, UNKNOWN, intersection, single, union};
use crate::reference::{self, Trail};
use own::said_words;

/// Most schemas that are rendered for one tool.
const MAX_NODES: usize = 4_000;
/// Most schemas that are walked through to find cycles.
const MAX_WALK: usize = 100_000;

/// Renders the schemas of one tool.
pub(super) struct Renderer<'a> {
    root: &'a Value,
    /// What the named types of the tool begin with; no other tool has it.
    prefix: String,
    left: usize,
    /// How deep a type may nest.
    max_depth: usize,
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
struct Place<'a> {
    trail: Trail,
    depth: usize,
    indent: usize,
    /// Whether a member or element lies between here and the name of the type that is being defined.
    is_guarded: bool,
    /// The types that the value has by what was said of the same place; nothing when nothing was.
    words: Vec<&'a str>,
    /// Whether this is a part of a schema for the same place.
    is_part: bool,
}

impl<'a> Place<'a> {
    fn inside(&self, indent: usize) -> Self {
        Self {
            trail: self.trail.clone(),
            depth: self.depth + 1,
            indent,
            is_guarded: true,
            words: Vec::new(),
            is_part: false,
        }
    }

    /// The place of a part.
    fn part(&self, words: &[&'a str]) -> Self {
        Self {
            depth: self.depth + 1,
            words: words.to_vec(),
            is_part: true,
            ..self.clone()
        }
    }
}

impl<'a> Renderer<'a> {
    pub(super) fn new(root: &'a Value, prefix: String, max_depth: usize) -> Self {
        Self {
            root,
            prefix,
            left: MAX_NODES,
            max_depth,
            cycles: BTreeMap::new(),
            walk: MAX_WALK,
            names: Vec::new(),
            waiting: VecDeque::new(),
            named: Vec::new(),
        }
    }

    /// The type of the whole document, at `indent`. `word` is the type that its value has anyway.
    pub(super) fn whole(&mut self, indent: usize, word: Option<&'a str>) -> String {
        let place = Place {
            trail: Trail::default(),
            depth: 0,
            indent,
            is_guarded: true,
            words: word.into_iter().collect(),
            is_part: false,
        };
        let text = self.schema(self.root, &place).text;
        while let Some((schema, name)) = self.waiting.pop_front() {
            let place = Place {
                trail: Trail::default().with(schema),
                depth: 0,
                indent: 0,
                is_guarded: false,
                words: Vec::new(),
                is_part: false,
            };
            let body = self.schema(schema, &place).text;
            self.named.push(format!("type {name} = {body};\n"));
        }
        text
    }

    fn schema(&mut self, schema: &'a Value, place: &Place<'a>) -> Type {
        let Value::Object(members) = schema else {
            return single(if schema == &Value::Bool(false) {
                "never"
            } else {
                UNKNOWN
            });
        };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || place.depth > self.max_depth {
            return single(UNKNOWN);
        }
        let said = said_words(members);
        let words = if said.is_empty() { &place.words } else { &said };
        let mut parts = Vec::new();
        if let Some(reference) = reference::of(members) {
            parts.push(self.reference(reference, &place.part(words)));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(schemas) = schemas(members.get(keyword)) {
                let types = schemas
                    .iter()
                    .map(|schema| self.schema(schema, &place.part(words)))
                    .collect();
                parts.push(union(types));
            }
        }
        for schema in schemas(members.get("allOf")).into_iter().flatten() {
            parts.push(self.schema(schema, &place.part(words)));
        }
        let own = self.own(members, words, place);
        if parts.is_empty() || !is_bare(members, &own) {
            parts.insert(0, own);
        }
        if !place.is_part {
            parts.extend(self.conditional(schema, words, place));
        }
        let whole = intersection(parts);
        if members.get("nullable") == Some(&Value::Bool(true)) {
            return union(vec![whole, single("null")]);
        }
        whole
    }

    fn reference(&mut self, reference: &str, place: &Place<'a>) -> Type {
        let Some(target) = reference::resolve(self.root, reference) else {
            return single(UNKNOWN);
        };
        if place.is_guarded && self.is_cycle(target) {
            return Type {
                text: self.name(target, reference),
                members: alternatives(target),
            };
        }
        if place.trail.holds(target) {
            return single(UNKNOWN);
        }
        let place = Place {
            trail: place.trail.with(target),
            ..place.clone()
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
}

/// Whether a type says no more than that there is an object: beside other parts, which say that too, it would open them to
/// any member.
fn is_bare(members: &Map<String, Value>, own: &Type) -> bool {
    let is_open = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .filter_map(|keyword| members.get(*keyword))
        .any(|others| others.is_object() || others == &Value::Bool(true));
    let has = |keyword: &str| members.contains_key(keyword);
    own.text == RECORD && !is_open && !has("patternProperties")
        || own.text == NOTHING && !has("properties") && !has("required")
}

/// About how many alternatives a type has that is known by its name alone.
fn alternatives(schema: &Value) -> usize {
    let count = |keyword: &str| schema.get(keyword)?.as_array().map(Vec::len);
    let all = ["anyOf", "oneOf", "enum", "type"]
        .into_iter()
        .filter_map(count);
    all.map(|count| count.max(1)).product::<usize>().max(1)
}

fn schemas(value: Option<&Value>) -> Option<&Vec<Value>> {
    value?.as_array().filter(|schemas| !schemas.is_empty())
}
