//! What a schema says about one place, with its references and combinations worked out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Allowed, MAX_ALLOWED};
use crate::canonical;
use crate::reference::{self, Trail};

/// A set of JSON types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

const WORDS: [(&str, u8); 7] = [
    ("array", 1),
    ("boolean", 2),
    ("integer", 4),
    // A number may be whole.
    ("number", 8 | 4),
    ("object", 16),
    ("string", 32),
    ("null", 64),
];

impl Types {
    pub(super) const ALL: Self = Self(127);
    const NONE: Self = Self(0);
    const OBJECT: Self = Self(16);
    pub(super) const NULL: Self = Self(64);

    fn word(word: &str) -> Self {
        WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map_or(Self::ALL, |(_, bits)| Self(*bits))
    }

    fn of_value(value: &Value) -> Self {
        Self::word(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        })
    }

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn names(self) -> String {
        let without_null = self.0 & !Self::NULL.0;
        if without_null == Self::ALL.0 & !Self::NULL.0 {
            return "unknown".to_owned();
        }
        if without_null == 0 {
            return if self.has(Self::NULL) {
                "null"
            } else {
                "never"
            }
            .to_owned();
        }
        let is_number = self.0 & 8 != 0;
        WORDS
            .iter()
            .filter(|(word, bits)| {
                *word != "null"
                    && without_null & bits == *bits
                    && !(*word == "integer" && is_number)
            })
            .map(|(word, _)| *word)
            .collect::<Vec<_>>()
            .join("|")
    }
}

/// A schema, or several about the same place.
#[derive(Clone)]
pub(super) enum Part<'a> {
    One(&'a Value, Trail),
    All(Vec<Part<'a>>),
    Any(Vec<Part<'a>>),
}

/// What is said about one place.
#[derive(Clone)]
pub(super) struct Level<'a> {
    pub(super) types: Types,
    /// The type that holds itself, when the place is one.
    pub(super) cycle: Option<String>,
    /// Spelled values, sorted.
    pub(super) allowed: Option<BTreeSet<String>>,
    pub(super) default: Option<&'a Value>,
    pub(super) format: Option<&'a str>,
    pub(super) limits: BTreeSet<String>,
    pub(super) description: Option<&'a str>,
    pub(super) members: BTreeMap<&'a str, Part<'a>>,
    pub(super) required: BTreeSet<&'a str>,
    /// Members by pattern.
    pub(super) patterns: BTreeMap<&'a str, Part<'a>>,
    /// Members that have no name of their own; nothing when any are taken.
    pub(super) others: Option<Part<'a>>,
    pub(super) closed: bool,
    pub(super) elements: Option<Part<'a>>,
    pub(super) tuple: Vec<Part<'a>>,
}

impl<'a> Level<'a> {
    pub(super) fn any() -> Self {
        Self {
            types: Types::ALL,
            cycle: None,
            allowed: None,
            default: None,
            format: None,
            limits: BTreeSet::new(),
            description: None,
            members: BTreeMap::new(),
            required: BTreeSet::new(),
            patterns: BTreeMap::new(),
            others: None,
            closed: false,
            elements: None,
            tuple: Vec::new(),
        }
    }

    /// What `allowed` is in a row.
    pub(super) fn allowed(&self) -> Option<Allowed> {
        let all = self.allowed.as_ref()?;
        Some(Allowed {
            values: all.iter().take(MAX_ALLOWED).cloned().collect(),
            more: (all.len() > MAX_ALLOWED)
                .then(|| canonical::digest(&all.iter().cloned().collect::<Vec<_>>().join("\n"))),
        })
    }

    fn both(mut self, other: Self) -> Self {
        self.said_by_either(&other);
        self.types = Types(self.types.0 & other.types.0);
        self.cycle = self.cycle.or(other.cycle);
        self.allowed = match (self.allowed, other.allowed) {
            (Some(mine), Some(theirs)) => Some(mine.intersection(&theirs).cloned().collect()),
            (mine, theirs) => mine.or(theirs),
        };
        self.limits.extend(other.limits);
        join(&mut self.members, other.members, Part::All);
        join(&mut self.patterns, other.patterns, Part::All);
        self.required.extend(other.required);
        self.closed |= other.closed;
        self.others = both(self.others, other.others, Part::All);
        self.elements = both(self.elements, other.elements, Part::All);
        if self.tuple.is_empty() {
            self.tuple = other.tuple;
        }
        self
    }

    fn either(mut self, other: Self) -> Self {
        self.said_by_either(&other);
        let (mine, theirs) = (
            self.types.has(Types::OBJECT),
            other.types.has(Types::OBJECT),
        );
        self.required = match (mine, theirs) {
            (true, true) => self
                .required
                .intersection(&other.required)
                .copied()
                .collect(),
            (true, false) => self.required,
            _ => other.required,
        };
        self.allowed = match (self.allowed, other.allowed) {
            (Some(mine), Some(theirs)) => Some(mine.into_iter().chain(theirs).collect()),
            // `null` beside a list of values is the list, and may be null.
            (Some(mine), None) if other.types == Types::NULL => Some(mine),
            (None, Some(theirs)) if self.types == Types::NULL => Some(theirs),
            _ => None,
        };
        self.types = Types(self.types.0 | other.types.0);
        self.cycle = self.cycle.or(other.cycle);
        self.limits = self.limits.union(&other.limits).cloned().collect();
        join(&mut self.members, other.members, Part::Any);
        join(&mut self.patterns, other.patterns, Part::Any);
        self.closed = match (mine, theirs) {
            (true, true) => self.closed && other.closed,
            (true, false) => self.closed,
            _ => other.closed,
        };
        self.others = both(self.others, other.others, Part::Any);
        self.elements = both(self.elements, other.elements, Part::Any);
        if self.tuple.is_empty() {
            self.tuple = other.tuple;
        }
        self
    }

    fn said_by_either(&mut self, other: &Self) {
        self.default = self.default.or(other.default);
        self.format = self.format.or(other.format);
        self.description = self.description.or(other.description);
    }
}

fn both<'a>(
    mine: Option<Part<'a>>,
    theirs: Option<Part<'a>>,
    combine: fn(Vec<Part<'a>>) -> Part<'a>,
) -> Option<Part<'a>> {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => Some(combine(vec![mine, theirs])),
        (mine, theirs) => mine.or(theirs),
    }
}

fn join<'a>(
    mine: &mut BTreeMap<&'a str, Part<'a>>,
    theirs: BTreeMap<&'a str, Part<'a>>,
    combine: fn(Vec<Part<'a>>) -> Part<'a>,
) {
    for (name, part) in theirs {
        let joined = both(mine.remove(name), Some(part), combine);
        mine.extend(joined.map(|part| (name, part)));
    }
}

/// Works out schemas of one document, within a budget.
pub(super) struct Reader<'a> {
    pub(super) root: &'a Value,
    /// How many more schemas may be looked at.
    pub(super) left: usize,
}

impl<'a> Reader<'a> {
    /// What `part` says about its place. Nothing once the budget is used up.
    pub(super) fn read(&mut self, part: &Part<'a>) -> Option<Level<'a>> {
        match part {
            Part::One(schema, trail) => self.schema(schema, trail),
            Part::All(parts) => self.fold(parts, Level::both),
            Part::Any(parts) => self.fold(parts, Level::either),
        }
    }

    fn fold(
        &mut self,
        parts: &[Part<'a>],
        join: fn(Level<'a>, Level<'a>) -> Level<'a>,
    ) -> Option<Level<'a>> {
        let mut all: Option<Level<'a>> = None;
        for part in parts {
            let level = self.read(part)?;
            all = Some(match all {
                Some(all) => join(all, level),
                None => level,
            });
        }
        Some(all.unwrap_or_else(Level::any))
    }

    fn schema(&mut self, schema: &'a Value, trail: &Trail) -> Option<Level<'a>> {
        self.left = self.left.checked_sub(1)?;
        let Value::Object(members) = schema else {
            let mut level = Level::any();
            if schema == &Value::Bool(false) {
                level.types = Types::NONE;
            }
            return Some(level);
        };
        let mut level = own(members, trail);
        if let Some(reference) = reference::of(members)
            && let Some(target) = reference::resolve(self.root, reference)
        {
            if trail.holds(target) {
                level.cycle = Some(format!("${}", reference::name(reference)));
            } else {
                level = level.both(self.schema(target, &trail.with(target))?);
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(parts) = parts(members.get(keyword), trail) {
                level = level.both(self.fold(&parts, Level::either)?);
            }
        }
        if let Some(parts) = parts(members.get("allOf"), trail) {
            level = level.both(self.fold(&parts, Level::both)?);
        }
        Some(level)
    }
}

fn parts<'a>(schemas: Option<&'a Value>, trail: &Trail) -> Option<Vec<Part<'a>>> {
    let schemas = schemas?.as_array().filter(|schemas| !schemas.is_empty())?;
    Some(
        schemas
            .iter()
            .map(|schema| Part::One(schema, trail.clone()))
            .collect(),
    )
}

fn named<'a>(schemas: Option<&'a Value>, trail: &Trail) -> BTreeMap<&'a str, Part<'a>> {
    schemas
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.as_str(), Part::One(schema, trail.clone())))
        .collect()
}

/// What a schema says by itself, without its references and combinations.
fn own<'a>(schema: &'a Map<String, Value>, trail: &Trail) -> Level<'a> {
    let part = |schema: &'a Value| Part::One(schema, trail.clone());
    let mut level = Level::any();
    let values = match (
        schema.get("const"),
        schema.get("enum").and_then(Value::as_array),
    ) {
        (Some(value), _) => Some(std::slice::from_ref(value)),
        (None, values) => values.map(Vec::as_slice),
    };
    level.types = said_types(schema, values);
    if schema.get("nullable") == Some(&Value::Bool(true)) {
        level.types = Types(level.types.0 | Types::NULL.0);
    }
    level.allowed = values.map(|values| {
        let not_null = values.iter().filter(|value| !value.is_null());
        not_null.map(canonical::spell).collect()
    });
    level.default = schema.get("default");
    level.format = schema.get("format").and_then(Value::as_str);
    level.description = schema.get("description").and_then(Value::as_str);
    level.limits = limits(schema);
    level.members = named(schema.get("properties"), trail);
    level.patterns = named(schema.get("patternProperties"), trail);
    level.required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match schema
        .get("additionalProperties")
        .or_else(|| schema.get("unevaluatedProperties"))
    {
        Some(Value::Bool(false)) => level.closed = true,
        Some(others @ Value::Object(members)) if !members.is_empty() => {
            level.others = Some(part(others))
        }
        _ => {}
    }
    let items = schema.get("items");
    let tuple = schema
        .get("prefixItems")
        .or(items.filter(|items| items.is_array()));
    level.tuple = parts(tuple, trail).unwrap_or_default();
    level.elements = items
        .filter(|items| items.is_object())
        .or_else(|| {
            schema
                .get("additionalItems")
                .filter(|items| items.is_object())
        })
        .map(part);
    level
}

fn said_types(schema: &Map<String, Value>, values: Option<&[Value]>) -> Types {
    let union =
        |types: &mut dyn Iterator<Item = Types>| Types(types.fold(0, |bits, types| bits | types.0));
    let said = match schema.get("type") {
        Some(Value::String(word)) => Some(Types::word(word)),
        Some(Value::Array(words)) if !words.is_empty() => Some(union(
            &mut words.iter().filter_map(Value::as_str).map(Types::word),
        )),
        _ => None,
    };
    if let Some(values) = values {
        let of_values = union(&mut values.iter().map(Types::of_value));
        return said.map_or(of_values, |said| Types(said.0 & of_values.0));
    }
    said.unwrap_or_else(|| {
        let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.contains_key(*keyword));
        if has(&[
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
        ]) {
            Types::OBJECT
        } else if has(&["items", "prefixItems"]) {
            Types::word("array")
        } else {
            Types::ALL
        }
    })
}

fn limits(schema: &Map<String, Value>) -> BTreeSet<String> {
    [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "contentEncoding",
        "contentMediaType",
    ]
    .into_iter()
    .filter_map(|keyword| {
        Some(format!(
            "{keyword}={}",
            canonical::spell(schema.get(keyword)?)
        ))
    })
    .collect()
}
