//! Gathers the keywords of one field from where a schema may have put them.
//!
//! Local `$ref`, an `allOf` of one, and the alternative between something and null are followed, at most [`MAX_HOPS`]
//! of them; nothing is fetched. A keyword that is stated twice with different values is not guessed at.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::Unaskable;
use crate::shown::Shown;

/// Most schemas that one field may be put together from.
const MAX_HOPS: usize = 16;

/// The keywords of one field.
#[derive(Default)]
pub(crate) struct Keywords<'a> {
    stated: BTreeMap<&'a str, &'a Value>,
    /// Null is one of the alternatives.
    pub(crate) or_null: bool,
}

impl<'a> Keywords<'a> {
    /// Gathers the keywords of `schema`, a part of `root`.
    pub(crate) fn gather(root: &'a Value, schema: &'a Value) -> Result<Self, Unaskable> {
        let mut gathered = Self::default();
        let mut open = vec![(schema, false)];
        let mut hops = 0;
        while let Some((schema, is_shared)) = open.pop() {
            hops += 1;
            if hops > MAX_HOPS {
                return Err(Unaskable::TooDeep);
            }
            let Some(object) = schema.as_object() else {
                return Err(Unaskable::NotASchema);
            };
            for (key, value) in object {
                match key.as_str() {
                    "$ref" => open.push((resolve(root, value)?, true)),
                    // Names what is shared, not the field.
                    "title" if is_shared => {}
                    "allOf" => match value.as_array().map(Vec::as_slice) {
                        Some([only]) => open.push((only, is_shared)),
                        _ => return Err(Unaskable::Combined { keyword: "allOf" }),
                    },
                    "anyOf" => gathered.alternatives("anyOf", value, object, &mut open)?,
                    "oneOf" => gathered.alternatives("oneOf", value, object, &mut open)?,
                    _ => gathered.state(key, value)?,
                }
            }
        }
        Ok(gathered)
    }

    /// Returns the value of a keyword.
    pub(crate) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.stated.get(keyword).copied()
    }

    /// Returns the text of a keyword; other values count as not stated.
    pub(crate) fn text(&self, keyword: &str) -> Option<&'a str> {
        self.get(keyword).and_then(Value::as_str)
    }

    /// Returns a size, such as `minLength`.
    pub(crate) fn size(&self, keyword: &'static str) -> Result<Option<u64>, Unaskable> {
        let Some(value) = self.get(keyword) else {
            return Ok(None);
        };
        let float = value.as_f64().filter(|float| float.fract() == 0.0);
        match (value.as_u64(), float) {
            (Some(size), _) => Ok(Some(size)),
            // A cast from a float stops at the limits of the target.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole and not negative"
            )]
            (None, Some(float)) if float >= 0.0 => Ok(Some(float as u64)),
            _ => Err(Unaskable::Malformed {
                keyword,
                expected: "a whole number from 0",
            }),
        }
    }

    fn state(&mut self, key: &'a str, value: &'a Value) -> Result<(), Unaskable> {
        match self.stated.get(key) {
            None => {
                self.stated.insert(key, value);
                Ok(())
            }
            // The outer one comes first and is the closer description.
            Some(_) if is_annotation(key) => Ok(()),
            Some(stated) if *stated == value => Ok(()),
            Some(_) => Err(Unaskable::Conflict {
                keyword: Shown::line(key, 40),
            }),
        }
    }

    /// Takes the alternatives apart: one of them beside null is the field itself, several fixed values are choices.
    fn alternatives(
        &mut self,
        keyword: &'static str,
        value: &'a Value,
        beside: &Map<String, Value>,
        open: &mut Vec<(&'a Value, bool)>,
    ) -> Result<(), Unaskable> {
        let branches = value.as_array().map_or(&[][..], Vec::as_slice);
        let others: Vec<_> = branches.iter().filter(|branch| !is_null(branch)).collect();
        let is_fixed_beside = ["enum", "const"]
            .iter()
            .any(|key| beside.contains_key(*key));
        if others.len() < branches.len()
            && beside.get("type").is_none_or(names_null)
            && !is_fixed_beside
        {
            self.or_null = true;
        }
        match others.as_slice() {
            [] => Err(Unaskable::Combined { keyword }),
            all if all.iter().all(|branch| is_fixed(branch)) => self.state(keyword, value),
            [only] => {
                open.push((only, false));
                Ok(())
            }
            _ => Err(Unaskable::Combined { keyword }),
        }
    }
}

/// Says whether a schema accepts null and nothing else.
pub(crate) fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

fn names_null(kind: &Value) -> bool {
    match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "null"),
        _ => kind == "null",
    }
}

fn is_fixed(schema: &Value) -> bool {
    schema.get("const").is_some()
}

fn is_annotation(key: &str) -> bool {
    matches!(
        key,
        "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "$id"
            | "$schema"
            | "$comment"
            | "$defs"
            | "definitions"
    ) || key.starts_with("x-")
}

fn resolve<'a>(root: &'a Value, reference: &Value) -> Result<&'a Value, Unaskable> {
    let text = reference.as_str().unwrap_or_default();
    let shown = || Shown::line(text, 80);
    let Some(pointer) = text.strip_prefix('#') else {
        return Err(Unaskable::Elsewhere { reference: shown() });
    };
    root.pointer(pointer)
        .ok_or_else(|| Unaskable::Dangling { reference: shown() })
}
