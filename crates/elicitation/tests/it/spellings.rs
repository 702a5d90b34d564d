//! What is a form, what is not, and what a person or a program is told about it.

use elicitation::Form;
use serde_json::{Value, json};

#[track_caller]
fn refused(schema: &Value, expected: &str) {
    assert_eq!(
        Form::parse("", schema).expect_err("no form").to_string(),
        expected,
        "{schema}"
    );
}

#[test]
fn what_is_no_form_is_refused_with_the_reason() {
    let not_an_object = "the requested schema does not describe an object; expected `type` to be `object` and `properties`";
    for schema in [
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!({ "type": "string" }),
        json!({ "type": "object", "properties": [] }),
        json!({ "type": "array", "properties": {} }),
    ] {
        refused(&schema, not_an_object);
    }
    refused(
        &json!({ "properties": {}, "required": "a" }),
        "the requested schema's `required` is not a list of names",
    );
    refused(
        &json!({ "properties": {}, "required": [1] }),
        "the requested schema's `required` is not a list of names",
    );
    refused(
        &json!({ "properties": {}, "required": ["a"] }),
        "the field `a` is required and not described",
    );
    let many: serde_json::Map<_, _> = (0..65)
        .map(|at| (format!("f{at}"), json!({ "type": "string" })))
        .collect();
    refused(
        &json!({ "properties": many }),
        "the form has 65 fields, the most is 64",
    );
    assert!(
        Form::parse("", &json!({ "type": "object" }))
            .unwrap()
            .fields()
            .is_empty()
    );
}

#[test]
fn a_field_that_cannot_be_asked_is_named_if_required_and_left_out_otherwise() {
    let deep: Value = (0..20).fold(
        json!({ "type": "string" }),
        |inner, _| json!({ "allOf": [inner] }),
    );
    let many: Vec<_> = (0..1_001).collect();
    let kinds = "; expected text, a number, yes or no, or a choice";
    let cases = [
        (json!(true), "its schema is not an object".to_owned()),
        (
            json!({ "type": "object", "properties": {} }),
            format!("it is a nested object{kinds}"),
        ),
        (
            json!({ "type": "array", "items": { "type": "string" } }),
            format!("it is a list of anything{kinds}"),
        ),
        (
            json!({ "type": "array" }),
            format!("it is a list of anything{kinds}"),
        ),
        (
            json!({ "type": "date\u{1b}" }),
            format!("it is of the type `date␛`{kinds}"),
        ),
        (
            json!({ "type": ["string", "integer"] }),
            format!("it is of several types{kinds}"),
        ),
        (
            json!({ "type": "null" }),
            format!("it is always null{kinds}"),
        ),
        (
            json!({ "title": "x" }),
            format!("it is of no stated type{kinds}"),
        ),
        (
            json!({ "type": 5 }),
            "its `type` is not a name or a list of names".into(),
        ),
        (
            json!({ "type": [] }),
            "its `type` is not a name or a list of names".into(),
        ),
        (
            json!({ "type": "string", "minLength": -1 }),
            "its `minLength` is not a whole number from 0".into(),
        ),
        (
            json!({ "type": "string", "minLength": 2, "maxLength": 1 }),
            "no answer can satisfy its limits".into(),
        ),
        (
            json!({ "type": "string", "enum": "a" }),
            "its `enum` is not a list".into(),
        ),
        (
            json!({ "enum": [] }),
            "it offers no choice that its own limits allow".into(),
        ),
        (
            json!({ "enum": [{}, []] }),
            "it offers no choice that its own limits allow".into(),
        ),
        (
            json!({ "type": "integer", "enum": ["a"] }),
            "it offers no choice that its own limits allow".into(),
        ),
        (
            json!({ "enum": many }),
            "it offers 1001 choices, the most is 1000".into(),
        ),
        (
            json!({ "type": "array", "items": { "enum": ["a"] }, "minItems": 2 }),
            "no answer can satisfy its limits".into(),
        ),
        (
            json!({ "type": "array", "items": { "enum": ["a"] }, "uniqueItems": 1 }),
            "its `uniqueItems` is not true or false".into(),
        ),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
            "it combines several schemas with `anyOf`".into(),
        ),
        (
            json!({ "oneOf": [] }),
            "it combines several schemas with `oneOf`".into(),
        ),
        (
            json!({ "allOf": [{ "type": "string" }, { "minLength": 1 }] }),
            "it combines several schemas with `allOf`".into(),
        ),
        (
            json!({ "$ref": "https://evil.example/\u{1b}" }),
            "its `$ref` leads to another document, `https://evil.example/␛`".into(),
        ),
        (
            json!({ "$ref": "#/$defs/None" }),
            "its `$ref` leads nowhere, `#/$defs/None`".into(),
        ),
        (
            json!({ "$ref": "#/$defs/Loop" }),
            "its schema refers to others too many times".into(),
        ),
        (
            json!({ "$ref": "#" , "type": "string" }),
            "its `type` is stated twice".into(),
        ),
        (
            json!({ "type": "string", "maxLength": 3, "allOf": [{ "maxLength": 4 }] }),
            "its `maxLength` is stated twice".into(),
        ),
        (deep, "its schema refers to others too many times".into()),
    ];
    for (field, why) in cases {
        let schema = |required: &[&str]| {
            json!({
                "type": "object", "properties": { "f": field, "g": { "type": "string" } }, "required": required,
                "$defs": { "Loop": { "$ref": "#/$defs/Loop" } },
            })
        };
        refused(
            &schema(&["f"]),
            &format!("the field `f` cannot be asked: {why}"),
        );
        let form = Form::parse("", &schema(&["g"])).unwrap();
        assert_eq!(form.fields().len(), 1, "{field}");
        let left_out = &form.left_out()[0];
        assert_eq!(
            (left_out.field.as_str(), left_out.why.to_string()),
            ("f", why),
            "{field}"
        );
    }
}

#[test]
fn what_the_form_demands_as_a_whole_is_named_as_unchecked() {
    let schema = json!({ "type": "object", "properties": {}, "anyOf": [{ "required": ["a"] }], "if": {}, "additionalProperties": false });
    let form = Form::parse("", &schema).unwrap();
    let unchecked: Vec<_> = form.unchecked().iter().map(ToString::to_string).collect();
    assert_eq!(unchecked, ["anyOf", "if"]);
}

#[test]
fn fields_that_ask_for_secrets_are_told() {
    let cases = [
        ("password", json!({ "type": "string" }), true),
        ("api_key", json!({ "type": "string" }), true),
        ("x", json!({ "type": "string", "title": "API-Key" }), true),
        ("x", json!({ "type": "string", "format": "password" }), true),
        ("x", json!({ "type": "string", "writeOnly": true }), true),
        ("name", json!({ "type": "string" }), false),
        ("max_tokens", json!({ "type": "integer" }), false),
    ];
    for (name, field, is_secret) in cases {
        let form = Form::parse("", &json!({ "properties": { name: field } })).unwrap();
        assert_eq!(form.fields()[0].is_secret(), is_secret, "{name} {field}");
    }
}

#[test]
fn a_default_that_its_own_field_refuses_is_dropped() {
    let cases = [
        (
            json!({ "type": "integer", "minimum": 1, "default": 0 }),
            None,
        ),
        (json!({ "type": "integer", "default": 3.0 }), Some("3")),
        (json!({ "type": "string", "default": 5 }), None),
        (json!({ "type": "string", "default": null }), None),
        (
            json!({ "type": "string", "format": "email", "default": "x" }),
            None,
        ),
        (json!({ "type": "boolean", "default": true }), Some("yes")),
        (json!({ "enum": ["a"], "default": "b" }), None),
        (
            json!({ "enum": ["a"], "enumNames": ["A!"], "default": "a" }),
            Some("A!"),
        ),
        (
            json!({ "type": "array", "items": { "enum": ["a", "b"] }, "default": ["a", "b"] }),
            Some("a, b"),
        ),
        (
            json!({ "type": "array", "items": { "enum": ["a"] }, "default": [] }),
            Some("none"),
        ),
        (
            json!({ "type": "array", "items": { "enum": ["a"] }, "default": ["c"] }),
            None,
        ),
    ];
    for (field, expected) in cases {
        let form = Form::parse("", &json!({ "properties": { "f": field } })).unwrap();
        let shown = form.fields()[0]
            .default_shown()
            .map(|shown| shown.to_string());
        assert_eq!(shown.as_deref(), expected, "{field}");
    }
}

#[test]
fn fields_with_the_same_title_are_told_apart_by_their_names() {
    let schema = json!({ "properties": {
        "a": { "type": "string", "title": "Key" }, "b": { "type": "string", "title": "Key" },
        "c": { "type": "string" }, "d": { "type": "string", "title": "c" },
    } });
    let form = Form::parse("", &schema).unwrap();
    let labels: Vec<_> = form
        .fields()
        .iter()
        .map(|field| field.label().as_str())
        .collect();
    assert_eq!(labels, ["Key (a)", "Key (b)", "c", "c (d)"]);
}
