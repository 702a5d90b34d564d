//! Random schemas for tests: the keywords that matter, and values that do not fit them.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A schema of a few levels.
pub(crate) fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!(7)),
        Just(json!({"type": "string", "default": "x"})),
        Just(json!({"type": ["integer", "null"], "minimum": 1})),
        Just(json!({"enum": ["a", 1, null, {"b": [2]}]})),
        Just(json!({"enum": []})),
        Just(json!({"const": "c*/`${\u{2028}"})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/$defs/A"})),
        Just(json!({"$ref": "#/$defs/B"})),
        Just(json!({"$ref": "#/properties/p"})),
        Just(json!({"$ref": "http://127.0.0.1/x"})),
        Just(json!({"type": "weird", "description": "*/ } @ts-expect-error"})),
    ];
    leaf.prop_recursive(5, 48, 5, |inner| {
        let name = prop_oneof![Just("p".to_owned()), Just("q".to_owned()), Just("__proto__".to_owned()), "[a-z.* \"-]{0,5}"];
        let many = prop::collection::vec(inner.clone(), 0..4);
        let members = prop::collection::vec((name.clone(), inner.clone()), 0..5);
        prop_oneof![
            (members.clone(), prop::collection::vec(name, 0..3), prop::option::of(inner.clone())).prop_map(
                |(members, required, others)| {
                    let mut schema = json!({"type": "object", "properties": members.into_iter().collect::<Map<_, _>>(), "required": required});
                    if let Some(others) = others {
                        schema["additionalProperties"] = others;
                    }
                    schema
                }
            ),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            many.clone().prop_map(|items| json!({"prefixItems": items, "items": {"type": "string"}})),
            many.clone().prop_map(|parts| json!({"anyOf": parts})),
            many.clone().prop_map(|parts| json!({"oneOf": parts, "type": "object"})),
            many.prop_map(|parts| json!({"allOf": parts})),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, p)| json!({"$defs": {"A": a, "B": b}, "properties": {"p": p}, "$ref": "#/$defs/A"})),
        ]
    })
}

/// The same value with the members of every object in reverse.
pub(crate) fn turned(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .rev()
            .map(|(name, value)| (name.clone(), turned(value)))
            .collect(),
        Value::Array(elements) => elements.iter().map(turned).collect(),
        other => other.clone(),
    }
}
