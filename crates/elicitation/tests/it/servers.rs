//! The forms of real servers and of the specification, answered from the first question to the wire.
#![expect(clippy::approx_constant, reason = "the default of the server")]

use elicitation::{Form, Interview, Outcome, Step};
use serde_json::{Value, json};

/// Answers the questions in order; `-` skips, an empty text is Enter alone. Returns what is sent.
#[track_caller]
fn interview(message: &str, schema: &Value, typed: &[&str]) -> Value {
    let mut step = Interview::begin(Form::parse(message, schema).expect("a form"));
    for typed in typed {
        step = match step {
            Step::Ask(interview) if *typed == "-" => interview.skip(),
            Step::Ask(interview) => interview.answer(typed),
            other => panic!("no question for {typed:?}: {other:?}"),
        };
    }
    let Step::Review(review) = step else {
        panic!("not at the end: {step:?}");
    };
    let Outcome::Accept(answers) = review.send() else {
        panic!("not sent");
    };
    answers.into_wire()
}

/// The form of the tool `trigger-elicitation-request` of the official demonstration server: each kind once.
fn everything() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "title": "String", "type": "string", "description": "Your full, legal name" },
            "check": { "title": "Boolean", "type": "boolean", "description": "Agree to the terms and conditions" },
            "firstLine": { "title": "String with default", "type": "string", "default": "It was a dark and stormy night." },
            "email": { "title": "String with email format", "type": "string", "format": "email" },
            "homepage": { "type": "string", "format": "uri", "title": "String with uri format" },
            "birthdate": { "title": "String with date format", "type": "string", "format": "date" },
            "integer": { "title": "Integer", "type": "integer", "minimum": 1, "maximum": 100, "default": 42 },
            "number": { "title": "Number in range 1-1000", "type": "number", "minimum": 0, "maximum": 1000, "default": 3.14 },
            "untitledSingleSelectEnum": {
                "type": "string", "title": "Untitled Single Select Enum",
                "enum": ["Monica", "Rachel", "Joey", "Chandler", "Ross", "Phoebe"], "default": "Monica"
            },
            "untitledMultipleSelectEnum": {
                "type": "array", "title": "Untitled Multiple Select Enum", "minItems": 1, "maxItems": 3,
                "items": { "type": "string", "enum": ["Guitar", "Piano", "Violin", "Drums", "Bass"] }, "default": ["Guitar"]
            },
            "titledSingleSelectEnum": {
                "type": "string", "title": "Titled Single Select Enum", "default": "hero-1",
                "oneOf": [
                    { "const": "hero-1", "title": "Superman" },
                    { "const": "hero-2", "title": "Green Lantern" },
                    { "const": "hero-3", "title": "Wonder Woman" }
                ]
            },
            "titledMultipleSelectEnum": {
                "type": "array", "title": "Titled Multiple Select Enum", "minItems": 1, "maxItems": 3, "default": ["fish-1"],
                "items": { "anyOf": [
                    { "const": "fish-1", "title": "Tuna" },
                    { "const": "fish-2", "title": "Salmon" },
                    { "const": "fish-3", "title": "Trout" }
                ] }
            },
            "legacyTitledEnum": {
                "type": "string", "title": "Legacy Titled Single Select Enum", "default": "pet-1",
                "enum": ["pet-1", "pet-2", "pet-3", "pet-4", "pet-5"],
                "enumNames": ["Cats", "Dogs", "Birds", "Fish", "Reptiles"]
            }
        },
        "required": ["name"]
    })
}

#[test]
fn the_demonstration_server_is_answered_in_words() {
    let typed = [
        "Ada Lovelace",
        "yes",
        "Once.",
        "ada@example.com",
        "https://example.com/ada",
        "1815-12-10",
        "7",
        "2.5",
        "rachel",
        "Piano, 5",
        "Green Lantern",
        "Trout,fish-1",
        "Birds",
    ];
    let sent = interview(
        "Please provide inputs for the following fields:",
        &everything(),
        &typed,
    );
    assert_eq!(
        sent,
        json!({
            "name": "Ada Lovelace", "check": true, "firstLine": "Once.", "email": "ada@example.com", "homepage": "https://example.com/ada",
            "birthdate": "1815-12-10", "integer": 7, "number": 2.5, "untitledSingleSelectEnum": "Rachel",
            "untitledMultipleSelectEnum": ["Piano", "Bass"], "titledSingleSelectEnum": "hero-2",
            "titledMultipleSelectEnum": ["fish-3", "fish-1"], "legacyTitledEnum": "pet-3"
        })
    );
}

#[test]
fn the_demonstration_server_is_answered_by_enter() {
    let mut typed = vec![""; 13];
    typed[0] = "Ada";
    let sent = interview("", &everything(), &typed);
    assert_eq!(
        sent,
        json!({
            "name": "Ada", "firstLine": "It was a dark and stormy night.", "integer": 42, "number": 3.14,
            "untitledSingleSelectEnum": "Monica", "untitledMultipleSelectEnum": ["Guitar"], "titledSingleSelectEnum": "hero-1",
            "titledMultipleSelectEnum": ["fish-1"], "legacyTitledEnum": "pet-1"
        })
    );
}

#[test]
fn what_a_person_is_told_about_the_demonstration_server() {
    let form = Form::parse("", &everything()).unwrap();
    let told: Vec<_> = form
        .fields()
        .iter()
        .map(|field| {
            let default = field
                .default_shown()
                .map_or(String::new(), |default| format!(" [{default}]"));
            format!("{}: {}{default}", field.label(), field.expects())
        })
        .collect();
    assert_eq!(
        told,
        [
            "String: text",
            "Boolean: yes or no",
            "String with default: text [It was a dark and stormy night.]",
            "String with email format: an email address",
            "String with uri format: a whole address, such as `https://example.com`",
            "String with date format: a date, such as `2026-11-30`",
            "Integer: a whole number from 1 to 100 [42]",
            "Number in range 1-1000: a number from 0 to 1000 [3.14]",
            "Untitled Single Select Enum: one of: Monica, Rachel, Joey, Chandler, Ross, Phoebe [Monica]",
            "Untitled Multiple Select Enum: 1 to 3 choices, with commas between [Guitar]",
            "Titled Single Select Enum: one of: Superman, Green Lantern, Wonder Woman [Superman]",
            "Titled Multiple Select Enum: 1 to 3 choices, with commas between [Tuna]",
            "Legacy Titled Single Select Enum: one of: Cats, Dogs, Birds, Fish, Reptiles [Cats]",
        ]
    );
}

#[test]
fn the_examples_of_the_specification_are_answered() {
    let name = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    assert_eq!(
        interview("Please provide your GitHub username", &name, &["octocat"]),
        json!({ "name": "octocat" })
    );
    let contact = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "Your full name" },
            "email": { "type": "string", "format": "email", "description": "Your email address" },
            "age": { "type": "number", "minimum": 18, "description": "Your age" }
        },
        "required": ["name", "email"]
    });
    let sent = interview(
        "Please provide your contact information",
        &contact,
        &["Monalisa Octocat", "octocat@github.com", "30"],
    );
    assert_eq!(
        sent,
        json!({ "name": "Monalisa Octocat", "email": "octocat@github.com", "age": 30 })
    );
    let confirm = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] });
    assert_eq!(
        interview("Delete 3 rows?", &confirm, &["n"]),
        json!({ "ok": false })
    );
}

#[test]
fn the_defaults_of_the_conformance_suite_are_filled_in() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true }
        },
        "required": []
    });
    let form = Form::parse("", &schema).unwrap();
    let content = Value::Object(form.with_defaults(serde_json::Map::new()));
    assert_eq!(
        content,
        json!({ "name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": true })
    );
    assert_eq!(form.validate(&content).unwrap().into_wire(), content);
    assert_eq!(interview("", &schema, &["", "", "", "", ""]), content);
}

#[test]
fn what_pydantic_writes_is_answered() {
    let schema = json!({
        "$defs": { "Color": { "enum": ["red", "green"], "title": "Color", "type": "string" } },
        "properties": {
            "nick": { "anyOf": [{ "type": "string", "maxLength": 5 }, { "type": "null" }], "default": null, "title": "Nick" },
            "color": { "$ref": "#/$defs/Color" },
            "other": { "anyOf": [{ "$ref": "#/$defs/Color" }, { "type": "null" }], "default": null },
            "first": { "allOf": [{ "$ref": "#/$defs/Color" }], "default": "green", "title": "First" },
            "mode": { "const": "fast", "title": "Mode" },
            "tags": { "items": { "$ref": "#/$defs/Color" }, "type": "array", "uniqueItems": true }
        },
        "required": ["color", "mode"],
        "title": "Answer",
        "type": "object"
    });
    let sent = interview("", &schema, &["-", "2", "red", "", "fast", "red,green"]);
    assert_eq!(
        sent,
        json!({ "color": "green", "other": "red", "first": "green", "mode": "fast", "tags": ["red", "green"] })
    );
    let form = Form::parse("", &schema).unwrap();
    let nulls = json!({ "nick": null, "color": "red", "other": null, "mode": "fast" });
    assert_eq!(form.validate(&nulls).unwrap().into_wire(), nulls);
    let labels: Vec<_> = form
        .fields()
        .iter()
        .map(|field| field.label().as_str())
        .collect();
    assert_eq!(labels, ["Nick", "color", "other", "First", "Mode", "tags"]);
}
