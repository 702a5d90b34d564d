use proptest::prelude::*;
use serde_json::{Value, json};

use super::Choices;
use crate::form::Form;

#[track_caller]
fn form(schema: &Value) -> Form {
    Form::parse(
        "",
        &json!({ "type": "object", "properties": { "c": schema }, "required": ["c"] }),
    )
    .unwrap()
}

#[track_caller]
fn check(schema: &Value, typed: &str, expected: &Result<Value, &str>) {
    let form = form(schema);
    let got = form.fields()[0].check(typed);
    let got = got.as_ref().map_err(|reason| reason.as_str());
    assert_eq!(
        got,
        expected.as_ref().map_err(|reason| *reason),
        "{typed:?} for {schema}"
    );
}

#[test]
fn every_spelling_of_a_single_choice_is_read() {
    let spellings = [
        json!({ "type": "string", "enum": ["p1", "p2"], "enumNames": ["Cats", "Dogs"] }),
        json!({ "type": "string", "oneOf": [{ "const": "p1", "title": "Cats" }, { "const": "p2", "title": "Dogs" }] }),
        json!({ "type": "string", "anyOf": [{ "const": "p1", "title": "Cats" }, { "const": "p2", "title": "Dogs" }] }),
        json!({ "oneOf": [{ "const": "p1", "title": "Cats", "type": "string" }, { "const": "p2", "title": "Dogs" }] }),
        json!({ "enum": ["p1", "p2", "p3"], "oneOf": [{ "const": "p1", "title": "Cats" }, { "const": "p2", "title": "Dogs" }] }),
        json!({ "type": "string", "maxLength": 2, "enum": ["p1", "p2", "long"], "enumNames": ["Cats", "Dogs", "Others"] }),
    ];
    for schema in &spellings {
        for typed in ["Cats", " cats ", "p1", "1"] {
            check(schema, typed, &Ok(json!("p1")));
        }
        check(schema, "2", &Ok(json!("p2")));
        for typed in ["", "0", "3", "-1", "Birds", "P1"] {
            check(schema, typed, &Err("expected one of: Cats, Dogs"));
        }
    }
}

#[test]
fn values_need_not_be_text() {
    let mixed = json!({ "enum": ["a", 7, 1.5, true, false, null] });
    check(&mixed, "a", &Ok(json!("a")));
    check(&mixed, "7", &Ok(json!(7)));
    check(&mixed, "1.5", &Ok(json!(1.5)));
    check(&mixed, "yes", &Ok(json!(true)));
    check(&mixed, "No", &Ok(json!(false)));
    check(&mixed, "none", &Ok(json!(null)));
    check(&mixed, "2", &Ok(json!(7)));
    check(
        &json!({ "type": "integer", "enum": ["x", 2, 2.0, 3.5] }),
        "2",
        &Ok(json!(2)),
    );
    check(&json!({ "const": "agree" }), "AGREE", &Ok(json!("agree")));
    check(
        &json!({ "type": ["string", "null"], "enum": ["a", null] }),
        "none",
        &Ok(json!(null)),
    );
}

#[test]
fn a_label_or_value_that_is_a_number_turns_numbers_off() {
    let schema = json!({ "type": "integer", "enum": [3, 1, 2] });
    assert!(!form(&schema).fields()[0].choices().unwrap().is_numbered());
    check(&schema, "1", &Ok(json!(1)));
    check(&schema, "3", &Ok(json!(3)));
    let schema =
        json!({ "oneOf": [{ "const": "2", "title": "a" }, { "const": "b", "title": "b" }] });
    check(&schema, "2", &Ok(json!("2")));
    check(&schema, "1", &Err("expected one of: a, b"));
}

#[test]
fn labels_go_before_values_and_are_never_shared() {
    let swapped =
        json!({ "oneOf": [{ "const": "a", "title": "b" }, { "const": "b", "title": "a" }] });
    check(&swapped, "a", &Ok(json!("b")));
    let same =
        json!({ "oneOf": [{ "const": "x", "title": "Same" }, { "const": "y", "title": "Same" }] });
    check(&same, "Same (y)", &Ok(json!("y")));
    check(&same, "Same", &Err("expected one of: Same (x), Same (y)"));
    let folded = json!({ "enum": ["a", "A", "b"] });
    check(&folded, "a", &Ok(json!("a")));
    check(&folded, "A", &Ok(json!("A")));
    check(&folded, "B", &Ok(json!("b")));
}

#[test]
fn several_are_typed_with_commas() {
    let fish = [
        json!({ "const": "fish-1", "title": "Tuna" }),
        json!({ "const": "fish-2", "title": "Paris, France" }),
        json!({ "const": "fish-3", "title": "Trout" }),
    ];
    for key in ["anyOf", "oneOf"] {
        let schema =
            json!({ "type": "array", "items": { key: fish }, "minItems": 1, "maxItems": 2 });
        check(&schema, "Tuna", &Ok(json!(["fish-1"])));
        check(&schema, "trout , 1", &Ok(json!(["fish-3", "fish-1"])));
        check(
            &schema,
            "Paris, France,fish-1",
            &Ok(json!(["fish-2", "fish-1"])),
        );
        check(&schema, "1,1,Tuna", &Ok(json!(["fish-1"])));
        check(
            &schema,
            "1,2,3",
            &Err("expected 1 to 2 choices, with commas between"),
        );
        check(
            &schema,
            "none",
            &Err("expected 1 to 2 choices, with commas between"),
        );
        for typed in ["Tuna,", ",Tuna", "Tuna Trout", "Paris", "4"] {
            check(
                &schema,
                typed,
                &Err("expected some of these, with commas between: Tuna, Paris, France, Trout"),
            );
        }
    }
    let plain = json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b"] } });
    check(&plain, "b,a", &Ok(json!(["b", "a"])));
    check(&plain, "none", &Ok(json!([])));
    check(
        &json!({ "type": "array", "items": { "type": "integer", "enum": [1, 2] } }),
        "2",
        &Ok(json!([2])),
    );
    check(
        &json!({ "type": "array", "items": { "enum": ["none", "b"] } }),
        "none",
        &Ok(json!(["none"])),
    );
    check(
        &json!({ "type": "array", "items": { "const": "a" }, "minItems": 1 }),
        "",
        &Err("expected at least 1 choice, with commas between"),
    );
}

#[test]
fn a_long_list_is_not_listed_whole() {
    let values: Vec<_> = (0..1_000).map(|number| format!("v{number}")).collect();
    check(
        &json!({ "enum": values }),
        "x",
        &Err("expected one of: v0, v1, v2, v3, v4, v5 and 994 more"),
    );
    check(&json!({ "enum": values }), "1000", &Ok(json!("v999")));
}

fn values() -> impl Strategy<Value = Vec<(Value, Option<String>)>> {
    let text = prop_oneof![
        "[a-c ]{0,2}",
        "[1-3]",
        any::<String>(),
        Just("a,b".to_owned())
    ];
    let value = prop_oneof![
        text.clone().prop_map(Value::from),
        (0..5_i64).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null)
    ];
    prop::collection::vec((value, prop::option::of(text)), 1..8).prop_map(|mut values| {
        let mut seen: Vec<Value> = Vec::new();
        values.retain(|(value, _)| {
            let is_new = !seen.contains(value);
            seen.push(value.clone());
            is_new
        });
        values
    })
}

proptest! {
    #[test]
    fn every_choice_is_reached_by_its_label_and_where_numbers_count_by_its_number(values in values()) {
        let borrowed: Vec<_> = values.iter().map(|(value, title)| (value.clone(), title.as_deref())).collect();
        let choices = Choices::new(&borrowed);
        for (at, choice) in choices.list().iter().enumerate() {
            prop_assert_eq!(&choices.parse(choice.label().as_str()).unwrap(), choice.value());
            if choices.is_numbered() {
                prop_assert_eq!(&choices.parse(&(at + 1).to_string()).unwrap(), choice.value());
            }
        }
    }
}
