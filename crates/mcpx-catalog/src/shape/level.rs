//! What a schema says about one place, with its references and combinations worked out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::value_types::Types;
use super::{Allowed, MAX_ALLOWED};
use crate::canonical;
use crate::reference::{self, Trail};

/// A schema, or several about the same place.
#[derive(Clone)]
pub(super) enum Part<'a> {
    One(&'a Value, Trail),
    All(Vec<Self>),
    Any(Vec<Self>),
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
        self.types = self.types.and(other.types);
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
        self.types = self.types.or(other.types);
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
                level.cycle = Some(format!(
                    "${}",
                    canonical::shorten(reference::name(reference), 80)
                ));
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

/// The names of the members that a schema requires.
pub(crate) fn required(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
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
        level.types = level.types.or(Types::NULL);
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
    level.required = required(schema).collect();
    match schema
        .get("additionalProperties")
        .or_else(|| schema.get("unevaluatedProperties"))
    {
        Some(Value::Bool(false)) => level.closed = true,
        Some(others @ Value::Object(members)) if !members.is_empty() => {
            level.others = Some(part(others));
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
    let union = |types: &mut dyn Iterator<Item = Types>| types.fold(Types::NONE, Types::or);
    let said = match schema.get("type") {
        Some(Value::String(word)) => Some(Types::word(word)),
        Some(Value::Array(words)) if !words.is_empty() => Some(union(
            &mut words.iter().filter_map(Value::as_str).map(Types::word),
        )),
        _ => None,
    };
    if let Some(values) = values {
        let of_values = union(&mut values.iter().map(Types::of_value));
        return said.map_or(of_values, |said| said.and(of_values));
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
