//! Whether a tool can be called with nothing.

use serde_json::{Map, Value};

use crate::conformity::{allowed, said_types};
use crate::reference::{self, Trail};

/// Most schemas that are looked at.
const MAX_NODES: usize = 2_000;

/// Whether an empty object fits the schema. Where that cannot be told, it does.
pub(crate) fn takes_nothing(schema: &Value) -> bool {
    let mut check = Check {
        root: schema,
        left: MAX_NODES,
    };
    let trail = Trail::default().with(schema);
    check.schema(schema, &trail).unwrap_or(true)
}

struct Check<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> Check<'a> {
    /// Whether an empty object fits; nothing where that cannot be told.
    fn schema(&mut self, schema: &'a Value, trail: &Trail) -> Option<bool> {
        let Value::Object(members) = schema else {
            return Some(schema != &Value::Bool(false));
        };
        self.left = self.left.checked_sub(1)?;
        if !fits_by_itself(members) {
            return Some(false);
        }
        let mut whole = self.reference(members, trail);
        for part in list(members, "allOf") {
            whole = and(whole, self.schema(part, trail));
        }
        if let parts @ [_, ..] = list(members, "anyOf") {
            let fits: Vec<_> = parts.iter().map(|part| self.schema(part, trail)).collect();
            whole = and(whole, any(&fits));
        }
        if let parts @ [_, ..] = list(members, "oneOf") {
            whole = and(whole, self.exactly_one(parts, trail));
        }
        if let Some(not) = members.get("not") {
            whole = and(whole, self.schema(not, trail).map(|fits| !fits));
        }
        and(whole, self.condition(members, trail))
    }

    fn reference(&mut self, members: &'a Map<String, Value>, trail: &Trail) -> Option<bool> {
        let Some(reference) = reference::of(members) else {
            return Some(true);
        };
        let target = reference::resolve(self.root, reference)?;
        if trail.holds(target) {
            return None;
        }
        self.schema(target, &trail.with(target))
    }

    fn exactly_one(&mut self, parts: &'a [Value], trail: &Trail) -> Option<bool> {
        let fits: Vec<Option<bool>> = parts.iter().map(|part| self.schema(part, trail)).collect();
        let count = |wanted| fits.iter().filter(|fits| **fits == wanted).count();
        match (count(Some(true)), count(None)) {
            (2.., _) | (0, 0) => Some(false),
            (1, 0) => Some(true),
            _ => None,
        }
    }

    fn condition(&mut self, members: &'a Map<String, Value>, trail: &Trail) -> Option<bool> {
        let Some(condition) = members.get("if") else {
            return Some(true);
        };
        let mut branch = |keyword: &str| match members.get(keyword) {
            Some(schema) => self.schema(schema, trail),
            None => Some(true),
        };
        let (then, other) = (branch("then"), branch("else"));
        match self.schema(condition, trail) {
            Some(true) => then,
            Some(false) => other,
            None if then == other => then,
            None => None,
        }
    }
}

fn fits_by_itself(members: &Map<String, Value>) -> bool {
    let types = said_types(members);
    let is_object = types.is_empty() || types.contains(&"object");
    let is_allowed = allowed(members).is_none_or(|values| {
        values
            .iter()
            .any(|value| value.as_object().is_some_and(Map::is_empty))
    });
    let least = members.get("minProperties").and_then(Value::as_u64);
    is_object
        && is_allowed
        && !list(members, "required").iter().any(Value::is_string)
        && least.unwrap_or(0) == 0
}

fn list<'a>(members: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    members
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn and(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn any(all: &[Option<bool>]) -> Option<bool> {
    if all.contains(&Some(true)) {
        Some(true)
    } else if all.contains(&None) {
        None
    } else {
        Some(false)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_object_fits_or_does_not() {
        let required = json!({"required": ["a"]});
        for (schema, fits) in [
            (json!({}), true),
            (json!({"type": "object", "required": []}), true),
            (json!({"type": "string"}), false),
            (json!({"type": ["null", "object"]}), true),
            (json!({"const": {}}), true),
            (json!({"enum": [{"a": 1}]}), false),
            (json!({"minProperties": 1}), false),
            (json!({"anyOf": [required, {}]}), true),
            (json!({"anyOf": [required, required]}), false),
            (json!({"oneOf": [required, {}]}), true),
            (json!({"oneOf": [{}, {"type": "object"}]}), false),
            (json!({"allOf": [{}, required]}), false),
            (json!({"not": {"required": ["a"]}}), true),
            (json!({"not": {"maxProperties": 0}}), false),
            (json!({"if": required, "then": false}), true),
            (json!({"if": required, "else": required}), false),
            (
                json!({"if": {"properties": {"a": {"const": 1}}}, "then": required}),
                false,
            ),
            (
                json!({"$ref": "#/$defs/x", "$defs": {"x": required}}),
                false,
            ),
            (json!({"$ref": "#"}), true),
            (json!({"anyOf": [{"$ref": "#"}, required]}), true),
            (json!({"$ref": "https://example.com/x"}), true),
            (json!({"dependentRequired": {"a": ["b"]}}), true),
            (json!(false), false),
        ] {
            assert_eq!(takes_nothing(&schema), fits, "{schema}");
        }
    }
}
