use serde_json::{Value, json};

use crate::form::Form;

fn form() -> Form {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "minLength": 1 },
            "age": { "type": "integer", "minimum": 18, "default": 20 },
            "agree": { "type": "boolean" },
            "tags": { "type": "array", "items": { "enum": ["a", "b"] }, "uniqueItems": true, "maxItems": 2 },
            "note": { "type": ["string", "null"] },
            "extra": { "type": "object" },
        },
        "required": ["name"],
    });
    Form::parse("", &schema).unwrap()
}

#[track_caller]
fn check(content: &Value, expected: Result<Value, &[&str]>) {
    let got = form().validate(content).map(crate::Answers::into_wire);
    let got = got.map_err(|wrong| wrong.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(
        got,
        expected.map_err(|wrong| wrong.iter().map(ToString::to_string).collect()),
        "{content}"
    );
}

#[test]
fn good_answers_are_sent_in_the_order_of_the_form() {
    let content =
        json!({ "tags": ["b", "a"], "note": null, "age": 36.0, "name": "Ada", "agree": true });
    let answers = form().validate(&content).unwrap();
    assert_eq!(
        answers.into_wire().to_string(),
        r#"{"name":"Ada","age":36,"agree":true,"tags":["b","a"],"note":null}"#
    );
    check(&json!({ "name": "Ada" }), Ok(json!({ "name": "Ada" })));
}

#[test]
fn everything_that_is_wrong_is_named() {
    check(
        &json!({ "nmae": "hunter2", "age": "hunter2", "agree": "yes", "tags": ["a", "a"], "note": 5, "extra": {} }),
        Err(&[
            "`nmae`: the form has no such field",
            "`extra`: left out of the form: it is a nested object; expected text, a number, yes or no, or a choice",
            "`name`: needs an answer",
            "`age`: expected a whole number of at least 18",
            "`agree`: expected yes or no",
            "`tags`: expected each choice at most once",
            "`note`: expected text",
        ]),
    );
    check(
        &json!({ "name": null }),
        Err(&["`name`: expected text of at least 1 character"]),
    );
    check(
        &json!({ "name": "x", "tags": ["hunter2"] }),
        Err(&["`tags`: expected some of these, with commas between: a, b"]),
    );
    check(
        &json!({ "name": "x", "tags": "a" }),
        Err(&["`tags`: expected at most 2 choices, with commas between"]),
    );
    check(
        &json!([]),
        Err(&["`the answers`: expected an object with a value for each field"]),
    );
}

#[test]
fn pairs_are_read_by_their_fields() {
    let answers = form()
        .check_pairs(&[
            ("name", "7"),
            ("age", "36"),
            ("agree", "y"),
            ("tags", "1,b"),
        ])
        .unwrap();
    assert_eq!(
        answers.into_wire(),
        json!({ "name": "7", "age": 36, "agree": true, "tags": ["a", "b"] })
    );
    let wrong = form()
        .check_pairs(&[("name", "a"), ("name", "b"), ("x", "hunter2")])
        .unwrap_err();
    let wrong: Vec<_> = wrong.iter().map(ToString::to_string).collect();
    assert_eq!(
        wrong,
        ["`x`: the form has no such field", "`name`: answered twice"]
    );
}

#[test]
fn defaults_are_filled_in_on_demand() {
    let content = json!({ "name": "Ada" });
    let filled = form().with_defaults(content.as_object().unwrap().clone());
    assert_eq!(Value::Object(filled), json!({ "name": "Ada", "age": 20 }));
    let kept = form().with_defaults(json!({ "age": 5 }).as_object().unwrap().clone());
    assert_eq!(Value::Object(kept), json!({ "age": 5 }));
}

#[test]
fn yes_and_no_have_many_words() {
    let schema = json!({ "properties": { "b": { "type": "boolean" } } });
    let form = Form::parse("", &schema).unwrap();
    let field = &form.fields()[0];
    for typed in ["yes", " Y ", "TRUE", "on", "1"] {
        assert_eq!(field.check(typed), Ok(json!(true)), "{typed}");
    }
    for typed in ["no", "N", "false", "off", "0"] {
        assert_eq!(field.check(typed), Ok(json!(false)), "{typed}");
    }
    for typed in ["", "maybe", "2", "yes no"] {
        assert_eq!(
            field.check(typed).unwrap_err().as_str(),
            "expected yes or no",
            "{typed}"
        );
    }
}

#[test]
fn a_text_without_end_is_refused() {
    let form = Form::parse("", &json!({ "properties": { "t": { "type": "string" } } })).unwrap();
    let reason = form.fields()[0].check(&"x".repeat(70_000)).unwrap_err();
    assert_eq!(reason.as_str(), "expected a shorter text, at most 64 KiB");
}
