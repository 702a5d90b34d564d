use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::any_schema::any_schema;
use crate::shape::Shape;

#[test]
fn placeholders_fit_their_place() {
    for (schema, value) in [
        (json!({"type": "object"}), json!({})),
        (json!({}), json!(null)),
        (
            json!({"properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a"]}),
            json!({"a": ""}),
        ),
        (json!({"required": ["x"]}), json!({"x": null})),
        (
            json!({"required": ["x"], "additionalProperties": {"type": "integer"}}),
            json!({"x": 0}),
        ),
        (json!({"type": ["null", "boolean"]}), json!(false)),
        (json!({"enum": ["open", "closed"]}), json!("open")),
        (json!({"type": "string", "enum": [1, "a"]}), json!("a")),
        (json!({"const": {"a": 1}}), json!({"a": 1})),
        (json!({"type": "string", "minLength": 3}), json!("xxx")),
        (json!({"type": "integer", "minimum": 2.5}), json!(3)),
        (json!({"type": "integer", "exclusiveMaximum": 0}), json!(-1)),
        (json!({"type": "number", "minimum": 0.25}), json!(0.25)),
        (
            json!({"type": "array", "minItems": 1, "items": {"type": "string"}}),
            json!([""]),
        ),
        (
            json!({"prefixItems": [{"type": "string"}, {"type": "boolean"}], "minItems": 2}),
            json!(["", false]),
        ),
        (
            json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": false, "b": {"type": "string"}}}),
            json!({"b": ""}),
        ),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "object"}], "type": "object"}),
            json!({}),
        ),
        (
            json!({"allOf": [{"required": ["a"]}, {"properties": {"a": {"enum": ["x"]}}}]}),
            json!({"a": "x"}),
        ),
        (
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "required": ["b"], "properties": {"b": {"$ref": "#/$defs/B"}}}, "B": {"type": "boolean"}}}),
            json!({"b": false}),
        ),
        (
            json!({"properties": {"child": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["child"]}),
            json!({"child": null}),
        ),
    ] {
        assert_eq!(minimal(&schema), Some(value), "{schema}");
    }
}

#[test]
fn what_nothing_fits_has_none() {
    for schema in [
        json!(false),
        json!({"enum": []}),
        json!({"required": ["a"], "properties": {"a": false}}),
        json!({"required": ["a"], "properties": {"a": {"$ref": "#"}}}),
        json!({"allOf": [{"type": "string"}, {"type": "object"}]}),
        json!({"type": "integer", "minimum": 2, "maximum": 1}),
        json!({"required": ["a"], "additionalProperties": false}),
        json!({"type": "string", "minLength": 100_000}),
    ] {
        assert_eq!(minimal(&schema), None, "{schema}");
    }
}

proptest! {
    /// The rows of a shape are read by other code than what makes the value.
    #[test]
    fn the_smallest_value_has_what_the_rows_require(schema in any_schema()) {
        let Some(value) = minimal(&schema) else { return Ok(()) };
        prop_assert_eq!(mismatches(&schema, &value), []);
        let Value::Object(sent) = &value else { return Ok(()) };
        let shape = Shape::of(&mcp_wire::Raw::of(&schema));
        if shape.cut.is_some() || shape.fields.iter().any(|field| field.types.starts_with('$')) {
            return Ok(());
        }
        let names: BTreeSet<String> = sent.keys().map(|name| crate::shape::segment(name)).collect();
        for field in shape.arguments() {
            prop_assert!(!field.required || names.contains(&field.path), "{} in {value} of {schema}", field.path);
        }
    }
}
