use serde_json::{Value, json};

use crate::form::Form;

#[track_caller]
fn rule(schema: &Value) -> Form {
    Form::parse(
        "",
        &json!({ "type": "object", "properties": { "n": schema } }),
    )
    .unwrap()
}

#[track_caller]
fn check(schema: &Value, typed: &str, expected: &Result<Value, &str>) {
    let form = rule(schema);
    let got = form.field("n").expect("it can be asked").check(typed);
    let got = got.as_ref().map_err(|reason| reason.as_str());
    assert_eq!(
        got,
        expected.as_ref().map_err(|reason| *reason),
        "{typed:?} for {schema}"
    );
    // 3 and 3.0 are equal to nobody but a reader of the text.
    if let (Ok(got), Ok(expected)) = (got, expected) {
        assert_eq!(got.to_string(), expected.to_string());
    }
}

#[test]
fn whole_numbers_are_read_and_sent_without_a_fraction() {
    let integer = json!({ "type": "integer" });
    check(&integer, "3", &Ok(json!(3)));
    check(&integer, " -3 ", &Ok(json!(-3)));
    check(&integer, "+3", &Ok(json!(3)));
    check(&integer, "3.0", &Ok(json!(3)));
    check(&integer, "1e3", &Ok(json!(1000)));
    check(&integer, "18446744073709551615", &Ok(json!(u64::MAX)));
    let no = || Err("expected a whole number");
    for typed in [
        "",
        "x",
        "3.5",
        "3,5",
        "1 000",
        "1_000",
        "0x10",
        "inf",
        "NaN",
        "--3",
        "18446744073709551616",
        "1e300",
    ] {
        check(&integer, typed, &no());
    }
}

#[test]
fn numbers_may_have_a_fraction() {
    let number = json!({ "type": "number" });
    check(&number, "3.25", &Ok(json!(3.25)));
    check(&number, "3", &Ok(json!(3)));
    check(&number, "-1e-3", &Ok(json!(-0.001)));
    check(&number, ".5", &Ok(json!(0.5)));
    check(
        &json!({ "type": ["number", "integer"] }),
        "0.5",
        &Ok(json!(0.5)),
    );
    for typed in ["", "nan", "infinity", "-inf", "1e999", "1,5", "e", "."] {
        check(&number, typed, &Err("expected a number"));
    }
}

#[test]
fn limits_are_kept_and_told() {
    let cases = [
        (
            json!({ "type": "integer", "minimum": 1, "maximum": 10 }),
            "1",
            "0",
            "a whole number from 1 to 10",
        ),
        (
            json!({ "type": "integer", "minimum": 1.0, "maximum": 10 }),
            "10.0",
            "11",
            "a whole number from 1 to 10",
        ),
        (
            json!({ "type": "number", "minimum": 18 }),
            "18",
            "17.999",
            "a number of at least 18",
        ),
        (
            json!({ "type": "number", "maximum": 0.5 }),
            "0.5",
            "0.51",
            "a number of at most 0.5",
        ),
        (
            json!({ "type": "number", "exclusiveMinimum": 0 }),
            "0.001",
            "0",
            "a number more than 0",
        ),
        (
            json!({ "type": "number", "minimum": 0, "exclusiveMinimum": true }),
            "0.001",
            "-0",
            "a number more than 0",
        ),
        (
            json!({ "type": "number", "minimum": 0, "exclusiveMinimum": false }),
            "0",
            "-1",
            "a number of at least 0",
        ),
        (
            json!({ "type": "number", "minimum": 5, "exclusiveMinimum": 0 }),
            "5",
            "4",
            "a number of at least 5",
        ),
        (
            json!({ "type": "number", "maximum": 5, "exclusiveMaximum": 5 }),
            "4.9",
            "5",
            "a number less than 5",
        ),
        (
            json!({ "type": "number", "minimum": 0, "exclusiveMaximum": 1 }),
            "0",
            "1",
            "a number of at least 0 and less than 1",
        ),
        (
            json!({ "type": "integer", "multipleOf": 5 }),
            "-10",
            "7",
            "a whole number, a multiple of 5",
        ),
        (
            json!({ "type": "number", "multipleOf": 0.01 }),
            "0.07",
            "0.075",
            "a number, a multiple of 0.01",
        ),
        (
            json!({ "type": "number", "multipleOf": 1e20 }),
            "3e20",
            "1",
            "a number, a multiple of 1e+20",
        ),
        (
            json!({ "type": "integer", "minimum": 9007199254740993_u64 }),
            "9007199254740993",
            "9007199254740992",
            "a whole number of at least 9007199254740993",
        ),
    ];
    for (schema, good, bad, expects) in cases {
        let form = rule(&schema);
        let field = form.field("n").expect("it can be asked");
        assert!(field.check(good).is_ok(), "{good} for {schema}");
        let reason = field.check(bad).unwrap_err();
        assert_eq!(
            reason.as_str(),
            format!("expected {expects}"),
            "{bad} for {schema}"
        );
    }
}

#[test]
fn limits_that_make_no_sense_are_named() {
    let cases = [
        (
            json!({ "type": "integer", "minimum": 2, "maximum": 1 }),
            "no answer can satisfy its limits",
        ),
        (
            json!({ "type": "number", "minimum": 1, "exclusiveMaximum": 1 }),
            "no answer can satisfy its limits",
        ),
        (
            json!({ "type": "number", "minimum": "1" }),
            "its `minimum` is not a number",
        ),
        (
            json!({ "type": "number", "multipleOf": 0 }),
            "its `multipleOf` is not more than 0",
        ),
        (
            json!({ "type": "number", "multipleOf": "1" }),
            "its `multipleOf` is not a number",
        ),
    ];
    for (schema, why) in cases {
        assert_eq!(rule(&schema).left_out()[0].why.to_string(), why, "{schema}");
    }
}
