//! What the schemas of answers are made of.

use serde_json::{Map, Value, json};

/// An object of these members, of which those without `?` are always there. Others may be there too.
pub(super) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let required: Vec<&str> = members
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !name.ends_with('?'))
        .collect();
    let properties: Map<String, Value> = members
        .into_iter()
        .map(|(name, schema)| (name.trim_end_matches('?').to_owned(), schema))
        .collect();
    if required.is_empty() {
        return json!({"type": "object", "properties": properties});
    }
    json!({"type": "object", "properties": properties, "required": required})
}

pub(super) fn list(of: &Value) -> Value {
    json!({"type": "array", "items": of})
}

pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// An object of whatever members. Generators of clients take one that says nothing for one that has none.
pub(super) fn free() -> Value {
    json!({"type": "object", "additionalProperties": true})
}

/// The same, with what it is.
pub(super) fn free_as(what: &str) -> Value {
    json!({"type": "object", "additionalProperties": true, "description": what})
}

pub(super) fn number() -> Value {
    json!({"type": "number"})
}

pub(super) fn any() -> Value {
    json!({})
}

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

pub(super) fn texts() -> Value {
    list(&text())
}

pub(super) fn flag() -> Value {
    json!({"type": "boolean"})
}

pub(super) fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

pub(super) fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// How a server is doing.
pub(super) fn state() -> Value {
    words(&[
        "ready",
        "unread",
        "error",
        "untrusted",
        "unavailable",
        "disabled",
    ])
}

pub(super) fn sharing() -> Value {
    words(&["shared", "exclusive"])
}
