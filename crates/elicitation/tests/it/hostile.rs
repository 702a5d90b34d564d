//! Forms that mean harm.

use elicitation::{Form, Interview, Step};
use serde_json::{Value, json};

/// Says whether a text can be printed: what makes text safe changes nothing.
fn is_safe(text: &str) -> bool {
    untrusted_text::terminal::for_terminal(text) == text
}

#[test]
fn names_that_trick_other_programs_are_only_names() {
    let text = r#"{ "type": "object", "properties": {
        "__proto__": { "type": "string" }, "constructor": { "type": "string" }, "": { "type": "string" },
        "a.b/c~d": { "type": "string" }, "\u001b[2J\u202e": { "type": "string" }
    } }"#;
    let form = Form::parse("", &serde_json::from_str(text).unwrap()).unwrap();
    let shown: Vec<_> = form
        .fields()
        .iter()
        .map(|field| field.label().as_str())
        .collect();
    assert_eq!(
        shown,
        ["__proto__", "constructor", "", "a.b/c~d", "␛[2J<U+202E>"]
    );
    let content = json!({ "__proto__": "x", "": "y", "\u{1b}[2J\u{202e}": "z" });
    let answers = form.validate(&content).unwrap();
    assert_eq!(format!("{answers:?}"), "Answers[__proto__, , ␛[2J<U+202E>]");
    assert_eq!(answers.into_wire(), content);
}

#[test]
fn a_name_that_is_given_twice_is_one_field() {
    let text = r#"{ "type": "object", "properties": { "a": { "type": "string" }, "a": { "type": "boolean" } }, "required": ["a", "a"] }"#;
    let form = Form::parse("", &serde_json::from_str(text).unwrap()).unwrap();
    assert_eq!(form.fields().len(), 1);
    assert_eq!(form.fields()[0].expects(), "yes or no");
}

#[test]
fn nothing_that_is_shown_is_long_or_moves_the_cursor() {
    let evil = format!(
        "\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}\u{200b}{}",
        "é\u{9b}31m\r\n".repeat(200_000)
    );
    let schema = json!({ "type": "object", "properties": {
        evil.as_str(): { "type": "string", "title": evil, "description": evil, "default": evil, "format": evil, "pattern": evil },
        "b": { "type": "string", "oneOf": [{ "const": evil, "title": evil }, { "const": "b", "title": evil }] },
        "c": { "type": evil },
    } });
    let form = Form::parse(&evil, &schema).unwrap();
    let mut shown = vec![form.message().to_string()];
    for field in form.fields() {
        shown.extend([
            field.label().to_string(),
            field.name_shown().to_string(),
            field.description().to_string(),
            field.expects(),
        ]);
        shown.extend(field.default_shown().map(|default| default.to_string()));
        shown.extend(field.unchecked().iter().map(ToString::to_string));
        shown.extend(
            field
                .choices()
                .into_iter()
                .flat_map(|choices| choices.list())
                .map(|choice| choice.label().to_string()),
        );
        shown.extend(field.check("").err().map(|reason| reason.to_string()));
    }
    shown.extend(
        form.left_out()
            .iter()
            .flat_map(|left_out| [left_out.field.to_string(), left_out.why.to_string()]),
    );
    for text in shown {
        assert!(is_safe(&text), "{text:?}");
        assert!(
            text.chars().count() < 2_100,
            "{} characters",
            text.chars().count()
        );
    }
}

#[test]
fn a_schema_as_deep_as_json_allows_is_read() {
    let mut text = String::from(r#"{"type":"string"}"#);
    // Each turn is an object and a list; the reader of JSON stops at 128.
    for _ in 0..60 {
        text = format!(r#"{{"allOf":[{text}]}}"#);
    }
    let deep: Value = serde_json::from_str(&text).unwrap();
    let form = Form::parse(
        "",
        &json!({ "type": "object", "properties": { "a": deep } }),
    )
    .unwrap();
    assert_eq!(form.left_out().len(), 1);
}

#[test]
fn long_lists_of_commas_and_digits_take_no_time() {
    let commas = ",".repeat(10_000);
    let values: Vec<_> = (0..1_000).map(|at| format!("{at}{commas}")).collect();
    let schema = json!({ "type": "object", "properties": { "a": { "type": "array", "items": { "enum": values } } } });
    let form = Form::parse("", &schema).unwrap();
    assert!(form.fields()[0].check(&",".repeat(60_000)).is_err());
    assert!(form.fields()[0].check(&"9".repeat(60_000)).is_err());
    let number = Form::parse(
        "",
        &json!({ "properties": { "a": { "type": "number", "multipleOf": 1e-300 } } }),
    )
    .unwrap();
    assert!(number.fields()[0].check("1e300").is_ok());
}

#[test]
fn reasons_never_repeat_what_was_typed() {
    let secret = "s3cr3t-hunter2-\u{1b}";
    let schema = json!({ "type": "object", "properties": {
        "a": { "type": "string", "maxLength": 3 }, "b": { "type": "string", "format": "email" }, "c": { "type": "integer" },
        "d": { "type": "boolean" }, "e": { "enum": ["x"] }, "f": { "type": "array", "items": { "enum": ["x"] } },
        "g": { "type": "string", "pattern": "^$" }, "h": { "type": "string", "format": "date" }, "i": { "type": "string", "format": "uri" },
    } });
    let form = Form::parse("", &schema).unwrap();
    for field in form.fields() {
        let reason = field.check(secret).unwrap_err().to_string();
        assert!(!reason.contains("s3cr3t"), "{reason}");
        let wrong = form
            .validate(&json!({ field.name(): [secret] }))
            .unwrap_err();
        assert!(
            !format!("{wrong:?}{}", wrong[0]).contains("s3cr3t"),
            "{wrong:?}"
        );
        let Step::Ask(interview) = Interview::begin(form.clone()) else {
            panic!("a question")
        };
        assert!(!format!("{:?}", interview.answer(secret)).contains("s3cr3t"));
    }
}
