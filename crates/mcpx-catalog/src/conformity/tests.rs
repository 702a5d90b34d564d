use serde_json::json;

use super::*;

#[track_caller]
fn check(schema: &Value, value: &Value, expected: &[(&str, Problem)]) {
    let found = mismatches(schema, value);
    let found: Vec<_> = found
        .into_iter()
        .map(|mismatch| (mismatch.path, mismatch.problem))
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(path, problem)| ((*path).to_owned(), problem.clone()))
        .collect();
    assert_eq!(found, expected, "{value} against {schema}");
}

#[test]
fn each_place_that_does_not_fit_is_named() {
    let schema = json!({"type": "object", "required": ["title", "at"], "additionalProperties": false, "properties": {
        "title": {"type": "string", "minLength": 1}, "at": {"$ref": "#/$defs/at"}, "state": {"enum": ["open", 1]},
        "labels": {"type": "array", "items": {"type": "string"}}, "limit": {"type": ["integer", "null"], "maximum": 10}},
        "$defs": {"at": {"type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"]}}});
    check(
        &schema,
        &json!({"title": "x", "at": {"line": 1}, "state": 1.0, "limit": null}),
        &[],
    );
    check(
        &schema,
        &json!({}),
        &[("at", Problem::Missing), ("title", Problem::Missing)],
    );
    check(
        &schema,
        &json!({"title": "", "at": {}, "state": "shut", "labels": ["a", 2], "limit": 11, "extra": 1}),
        &[
            ("at.line", Problem::Missing),
            ("extra", Problem::Unknown),
            ("labels[]", Problem::Type("string".to_owned(), "a number")),
            ("limit", Problem::Limit("maximum=10".to_owned())),
            (
                "state",
                Problem::NotAllowed(vec!["\"open\"".to_owned(), "1".to_owned()]),
            ),
            ("title", Problem::Limit("minLength=1".to_owned())),
        ],
    );
    check(
        &schema,
        &json!([]),
        &[("", Problem::Type("object".to_owned(), "an array"))],
    );
}

#[test]
fn of_alternatives_the_one_that_was_meant_is_judged() {
    let schema = json!({"anyOf": [{"type": "string"}, {"type": "object", "required": ["id"]}]});
    check(&schema, &json!("x"), &[]);
    check(&schema, &json!({}), &[("id", Problem::Missing)]);
    check(&schema, &json!(1), &[("", Problem::NoAlternative)]);
    let either = json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    check(&either, &json!({}), &[("", Problem::NoAlternative)]);
    check(&json!({"anyOf": []}), &json!(1), &[]);
}

#[test]
fn what_cannot_be_told_fits_and_a_cycle_ends() {
    for schema in [
        json!({"pattern": "^a$"}),
        json!({"not": {}}),
        json!({"type": "weird"}),
        json!({"$ref": "#"}),
        json!({"$ref": "http://127.0.0.1/x"}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}),
    ] {
        assert_eq!(mismatches(&schema, &json!("x")), [], "{schema}");
    }
    check(&json!(false), &json!(1), &[("", Problem::Never)]);
    check(
        &json!({"patternProperties": {"^x": {}}, "additionalProperties": false}),
        &json!({"y": 1}),
        &[],
    );
    check(
        &json!({"type": "string", "nullable": true}),
        &json!(null),
        &[],
    );
}
