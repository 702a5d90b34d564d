//! A schema of any dialect as one of 2020-12 that stands in a document with others.
//!
//! What older dialects spell otherwise is spelled anew, what no dialect knows is left out, and references are turned to
//! where their places are now. One that leads nowhere is left out and named in a `$comment`: a document with it could
//! not be read at all. One that leads out of the document stays as it is.

use serde_json::{Map, Value, json};

use crate::reference::{self, Below, below};

/// The schema as it has to read at `place` of another document.
pub(super) fn portable(schema: Value, place: &str) -> Value {
    let before = reference::local(schema);
    let mut after = before.clone();
    renew(&mut after, &before);
    let whole = after.clone();
    turn(&mut after, &whole, place);
    after
}

/// Does `work` for `schema` and, after it, for every schema below. The depth is that of what was parsed.
fn each(schema: &mut Value, work: &mut dyn FnMut(&mut Value)) {
    work(schema);
    let Value::Object(members) = schema else {
        return;
    };
    for (keyword, value) in members {
        match (below(keyword), value) {
            (Below::Nothing, _) => {}
            (Below::Named, Value::Object(named)) => {
                named.values_mut().for_each(|schema| each(schema, work));
            }
            (_, Value::Array(elements)) => {
                elements.iter_mut().for_each(|schema| each(schema, work));
            }
            (_, value) => each(value, work),
        }
    }
}

/// Spells every schema in the words of 2020-12. `root` is the document as it was.
fn renew(schema: &mut Value, root: &Value) {
    each(schema, &mut |schema| {
        let Value::Object(members) = schema else {
            return;
        };
        for keyword in ["$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = members.shift_remove(keyword) {
                members.entry("$ref").or_insert(reference);
            }
        }
        if let Some(Value::String(reference)) = members.get_mut("$ref")
            && let Some(pointer) = reference.strip_prefix('#')
        {
            *reference = format!("#{}", renewed_pointer(root, pointer));
        }
        for keyword in [
            "$schema",
            "$id",
            "$anchor",
            "$dynamicAnchor",
            "$recursiveAnchor",
            "$vocabulary",
        ] {
            // One that is no string is the name of something else.
            members.shift_remove(keyword);
        }
        tuple(members);
        exclusive(members, "minimum", "exclusiveMinimum");
        exclusive(members, "maximum", "exclusiveMaximum");
        dependencies(members);
        let is_nullable = members.shift_remove("nullable") == Some(Value::Bool(true));
        members.retain(|keyword, value| is_sound(keyword, value));
        if is_nullable {
            take_null(schema);
        }
    });
}

/// `items` as a list was the tuple, and `additionalItems` what follows it.
fn tuple(members: &mut Map<String, Value>) {
    let rest = members.shift_remove("additionalItems");
    if members.get("items").is_some_and(Value::is_array)
        && let Some(tuple) = members.shift_remove("items")
    {
        members.entry("prefixItems").or_insert(tuple);
        members.extend(rest.map(|rest| ("items".to_owned(), rest)));
    }
}

/// `exclusiveMinimum: true` made a limit of `minimum`.
fn exclusive(members: &mut Map<String, Value>, limit: &str, keyword: &str) {
    let Some(Value::Bool(is_exclusive)) = members.get(keyword) else {
        return;
    };
    let is_exclusive = *is_exclusive;
    members.shift_remove(keyword);
    if is_exclusive && let Some(limit) = members.shift_remove(limit) {
        members.insert(keyword.to_owned(), limit);
    }
}

fn dependencies(members: &mut Map<String, Value>) {
    let Some(Value::Object(all)) = members.shift_remove("dependencies") else {
        return;
    };
    for (name, value) in all {
        let keyword = if value.is_array() {
            "dependentRequired"
        } else {
            "dependentSchemas"
        };
        let known = members.entry(keyword).or_insert_with(|| json!({}));
        if let Value::Object(known) = known {
            known.entry(name).or_insert(value);
        }
    }
}

/// `nullable` of `OpenAPI` 3.0.
fn take_null(schema: &mut Value) {
    let Value::Object(members) = schema else {
        return;
    };
    if let Some(Value::Array(values)) = members.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match members.get_mut("type") {
        Some(Value::Array(words)) if !words.contains(&json!("null")) => words.push(json!("null")),
        Some(Value::Array(_)) => {}
        Some(word) => *word = json!([word.clone(), "null"]),
        None => {}
    }
    let has_parts = ["$ref", "allOf", "anyOf", "oneOf", "const"]
        .iter()
        .any(|keyword| members.contains_key(*keyword));
    if has_parts {
        let inner = std::mem::take(schema);
        *schema = json!({"anyOf": [inner, {"type": "null"}]});
    }
}

/// Whether 2020-12 takes `value` for `keyword`. Makes it so where it can, without moving what references may lead to.
fn is_sound(keyword: &str, value: &mut Value) -> bool {
    match keyword {
        "items"
        | "contains"
        | "additionalProperties"
        | "propertyNames"
        | "if"
        | "then"
        | "else"
        | "not"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => is_schema(value),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => match value {
            Value::Array(schemas) => {
                schemas.iter_mut().for_each(anything_for_nonsense);
                !schemas.is_empty()
            }
            _ => false,
        },
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            match value {
                Value::Object(schemas) => {
                    schemas.values_mut().for_each(anything_for_nonsense);
                    true
                }
                _ => false,
            }
        }
        "type" => is_type(value),
        "required" => names(value),
        "dependentRequired" => match value {
            Value::Object(lists) => {
                lists.retain(|_, list| names(list));
                true
            }
            _ => false,
        },
        "enum" | "examples" => value.is_array(),
        "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
        "maximum" | "minimum" | "exclusiveMaximum" | "exclusiveMinimum" => value.is_number(),
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties"
        | "maxContains" | "minContains" => {
            let number = value.as_f64();
            number.is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
        }
        "$ref" | "$comment" | "title" | "description" | "pattern" | "format"
        | "contentEncoding" | "contentMediaType" => value.is_string(),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        _ => true,
    }
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn anything_for_nonsense(schema: &mut Value) {
    if !is_schema(schema) {
        *schema = Value::Bool(true);
    }
}

fn is_type(value: &mut Value) -> bool {
    let is_known = |word: &Value| {
        let words = [
            "array", "boolean", "integer", "null", "number", "object", "string",
        ];
        word.as_str().is_some_and(|word| words.contains(&word))
    };
    match value {
        Value::Array(words) => {
            once_each(words);
            !words.is_empty() && words.iter().all(is_known)
        }
        word => is_known(word),
    }
}

/// A list of names, each once.
fn names(value: &mut Value) -> bool {
    let Value::Array(names) = value else {
        return false;
    };
    names.retain(Value::is_string);
    once_each(names);
    true
}

fn once_each(values: &mut Vec<Value>) {
    let mut seen = std::collections::HashSet::new();
    values.retain(|value| seen.insert(value.to_string()));
}

/// A pointer into the document as it was, as one into the renewed one.
fn renewed_pointer(root: &Value, pointer: &str) -> String {
    let mut at = Some(root);
    let mut text = String::new();
    for token in pointer.split('/').skip(1) {
        let members = at.and_then(Value::as_object);
        let has_tuple =
            members.is_some_and(|members| members.get("items").is_some_and(Value::is_array));
        let is_list = members.is_some_and(|members| members.contains_key("dependencies"));
        let renamed = match token {
            "items" if has_tuple => "prefixItems",
            "additionalItems" if has_tuple => "items",
            "dependencies" if is_list => "dependentSchemas",
            other => other,
        };
        text.push('/');
        text.push_str(renamed);
        at = at.and_then(|at| at.pointer(&format!("/{}", reference::percent_decoded(token))));
    }
    text
}

/// Turns the references below `schema`, a part of `whole`, to `place`.
fn turn(schema: &mut Value, whole: &Value, place: &str) {
    each(schema, &mut |schema| {
        let Value::Object(members) = schema else {
            return;
        };
        let Some(Value::String(reference)) = members.get_mut("$ref") else {
            return;
        };
        let Some(pointer) = reference.strip_prefix('#') else {
            return;
        };
        if reference::resolve(whole, reference).is_some_and(is_schema) {
            *reference = format!("{place}{}", in_fragment(pointer));
            return;
        }
        let comment = format!("it referred to {reference}, which is not there");
        members.shift_remove("$ref");
        members.entry("$comment").or_insert_with(|| comment.into());
    });
}

/// What a fragment cannot hold is encoded; what is encoded already stays.
fn in_fragment(pointer: &str) -> String {
    super::encoded(pointer, b"-._~!$&'()*+,;=:@/?%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_spellings_become_those_of_2020_12() {
        for (before, after) in [
            (
                json!({"items": [{"type": "string"}], "additionalItems": {"type": "number"}}),
                json!({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}),
            ),
            (
                json!({"items": [true], "additionalItems": false}),
                json!({"prefixItems": [true], "items": false}),
            ),
            (
                json!({"items": {}, "additionalItems": false}),
                json!({"items": {}}),
            ),
            (
                json!({"minimum": 1, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": false}),
                json!({"maximum": 5, "exclusiveMinimum": 1}),
            ),
            (
                json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
                json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}}),
            ),
            (
                json!({"type": "string", "nullable": true}),
                json!({"type": ["string", "null"]}),
            ),
            (
                json!({"type": "string", "enum": ["a"], "nullable": true}),
                json!({"type": ["string", "null"], "enum": ["a", null]}),
            ),
            (
                json!({"allOf": [{"type": "string"}], "nullable": true}),
                json!({"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]}),
            ),
            (
                json!({"type": "string", "nullable": false}),
                json!({"type": "string"}),
            ),
            (
                json!({"$schema": "x", "$id": "y", "$anchor": "z", "title": "t"}),
                json!({"title": "t"}),
            ),
        ] {
            assert_eq!(portable(before.clone(), "#/here"), after, "{before}");
        }
    }

    #[test]
    fn nonsense_is_left_out() {
        for (before, after) in [
            (json!({"type": "decimal", "title": 7}), json!({})),
            (json!({"type": [], "anyOf": [], "enum": "x"}), json!({})),
            (
                json!({"type": ["string", "string"]}),
                json!({"type": ["string"]}),
            ),
            (json!({"required": true, "properties": []}), json!({})),
            (
                json!({"required": ["a", 1, "a"]}),
                json!({"required": ["a"]}),
            ),
            (
                json!({"properties": {"a": 7, "b": null}}),
                json!({"properties": {"a": true, "b": true}}),
            ),
            (
                json!({"anyOf": [7, {"type": "null"}]}),
                json!({"anyOf": [true, {"type": "null"}]}),
            ),
            (
                json!({"minLength": -1, "multipleOf": 0, "uniqueItems": "yes"}),
                json!({}),
            ),
            (
                json!({"const": {"type": "decimal"}, "x-more": [1]}),
                json!({"const": {"type": "decimal"}, "x-more": [1]}),
            ),
        ] {
            assert_eq!(portable(before.clone(), "#/here"), after, "{before}");
        }
    }

    #[test]
    fn a_reference_leads_to_its_place_or_is_named() {
        let schema = json!({
            "$id": "https://example.com/tool",
            "properties": {
                "pair": {"items": [{"type": "string"}, {"$ref": "#/properties/pair/items/0"}]},
                "box": {"$ref": "box#/$defs/x y"},
                "gone": {"$ref": "#/$defs/gone"},
                "far": {"$ref": "https://example.com/other"},
            },
            "$defs": {"box": {"$id": "box", "$defs": {"x y": {"type": "null"}}}},
        });
        assert_eq!(
            portable(schema, "#/here"),
            json!({
                "properties": {
                    "pair": {"prefixItems": [{"type": "string"}, {"$ref": "#/here/properties/pair/prefixItems/0"}]},
                    "box": {"$ref": "#/here/$defs/box/$defs/x%20y"},
                    "gone": {"$comment": "it referred to #/$defs/gone, which is not there"},
                    "far": {"$ref": "https://example.com/other"},
                },
                "$defs": {"box": {"$defs": {"x y": {"type": "null"}}}},
            })
        );
    }
}
