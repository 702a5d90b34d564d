use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::operation::{Kind, Place};

fn about() -> About {
    let mut about = About {
        version: "1.2.3".to_owned(),
        socket: Some("/run/x.sock".to_owned()),
        endpoint: Some("http://127.0.0.1:7".to_owned()),
        ..About::default()
    };
    about.tool_paths.insert(
        "/v1/call/demo/echo".to_owned(),
        json!({"post": {
            "operationId": "demo.echo",
            "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/demo.echo"}}}},
            "responses": {"200": {"description": "x", "content": {"application/json": {"schema": {
                "type": "object", "properties": {"result": {"type": "object", "properties": {"structuredContent": {"title": "own"}}}}}}}}}
        }}),
    );
    about
        .tool_schemas
        .insert("demo.echo".to_owned(), json!({"type": "object"}));
    about
}

/// Every `$ref` below a value.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                found.push(reference.clone());
            }
            members
                .values()
                .for_each(|member| references(member, found));
        }
        Value::Array(elements) => elements
            .iter()
            .for_each(|element| references(element, found)),
        _ => {}
    }
}

#[test]
fn every_reference_of_the_document_leads_somewhere_and_no_schema_is_for_nothing() {
    let document = document(about());
    let mut found = Vec::new();
    references(&document, &mut found);
    for reference in &found {
        let pointer = reference
            .strip_prefix('#')
            .expect("a place in this document");
        assert!(
            document.pointer(pointer).is_some(),
            "{reference} leads nowhere"
        );
    }
    let found: BTreeSet<String> = found.into_iter().collect();
    for part in ["schemas", "parameters"] {
        let all = document["components"][part].as_object().expect("members");
        for name in all.keys() {
            let reference = format!("#/components/{part}/{name}");
            assert!(found.contains(&reference), "{reference} is used nowhere");
        }
    }
}

#[test]
fn the_document_has_every_operation_with_all_it_takes_and_every_way_it_can_end() {
    let document = document(about());
    let mut names = BTreeSet::new();
    for operation in operations::all() {
        let method = operation.method.as_str().to_ascii_lowercase();
        let written = &document["paths"][operation.path][&method];
        assert_eq!(written["operationId"], operation.name, "{}", operation.path);
        assert!(names.insert(operation.name));
        let parameters = written["parameters"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for param in operation.params {
            let is_there = match param.place {
                Place::Path | Place::Query => parameters
                    .iter()
                    .any(|one| one["name"] == param.name && one["required"] == param.required),
                Place::Body => written
                    .pointer("/requestBody/content/application~1json/schema/properties")
                    .is_some_and(|members| members.get(param.name).is_some()),
                Place::Whole => written.get("requestBody").is_some(),
            };
            assert!(is_there, "{}: {}", operation.name, param.name);
        }
        let responses = written["responses"].as_object().expect("responses");
        let ends: BTreeSet<&str> = responses.keys().map(String::as_str).collect();
        for status in ["200", "400", "401", "403", "408", "413", "503"] {
            assert!(ends.contains(status), "{}: {status}", operation.name);
        }
        assert!(!ends.contains("500"), "{}", operation.name);
        for (status, response) in responses {
            let is_told = response.get("$ref").is_some() || response.get("description").is_some();
            assert!(is_told, "{} {status}", operation.name);
        }
    }
    let mut written = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        let methods = item.as_object().expect("methods").keys();
        written.extend(methods.map(|method| (path.as_str(), method.to_ascii_uppercase())));
    }
    let mut expected: BTreeSet<(&str, String)> = operations::all()
        .map(|operation| (operation.path, operation.method.as_str().to_owned()))
        .collect();
    expected.insert(("/v1/call/demo/echo", "POST".to_owned()));
    assert_eq!(written, expected);
    assert_eq!(document["security"], json!([{"bearer": []}]));
    assert_eq!(document["servers"][0]["url"], "http://127.0.0.1:7");
    assert!(
        document["servers"][1]["description"]
            .as_str()
            .is_some_and(|text| text.contains("/run/x.sock"))
    );
}

#[test]
fn a_tool_has_a_path_of_its_own_with_its_arguments_its_result_and_the_ends_of_every_call() {
    let document = document(about());
    let post = &document["paths"]["/v1/call/demo/echo"]["post"];
    assert_eq!(
        post.pointer("/requestBody/content/application~1json/schema/$ref"),
        Some(&json!("#/components/schemas/demo.echo"))
    );
    let answer = &post["responses"]["200"]["content"]["application/json"]["schema"]["allOf"];
    assert_eq!(
        answer[1].pointer("/properties/result/properties/structuredContent/title"),
        Some(&json!("own"))
    );
    for status in ["400", "429", "502", "503"] {
        assert!(post["responses"].get(status).is_some(), "{status}");
    }
}

#[test]
fn a_member_that_need_not_be_there_may_be_null_and_words_are_listed() {
    let document = document(About::default());
    let members = document
        .pointer("/paths/~1v1~1call/post/requestBody/content/application~1json/schema")
        .expect("a body");
    assert_eq!(
        members["properties"]["server"]["type"],
        json!(["string", "null"])
    );
    assert_eq!(members["properties"]["tool"]["type"], "string");
    assert_eq!(members["required"], json!(["tool"]));
    assert_eq!(members["additionalProperties"], false);
    let by = document["paths"]["/v1/stats"]["get"]["parameters"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["name"] == "by").cloned())
        .expect("a parameter");
    assert_eq!(by["schema"]["enum"].as_array().map(Vec::len), Some(7));
}

#[test]
fn the_words_of_a_choice_are_those_of_its_help() {
    for operation in operations::all() {
        for param in operation.params {
            assert!(
                param.choices.is_empty() || param.kind == Kind::Text,
                "{}",
                param.name
            );
            for word in param.choices {
                assert!(
                    param.help.contains(&format!("`{word}`")),
                    "{}: the help of `{}` does not say `{word}`",
                    operation.name,
                    param.name
                );
            }
        }
    }
}

/// Every schema below a value, with where it stands.
fn schemas<'a>(value: &'a Value, at: &str, found: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(members) => {
            if members.contains_key("type") {
                found.push((at.to_owned(), value));
            }
            for (name, member) in members {
                schemas(member, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                schemas(element, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn no_schema_is_one_that_generators_of_clients_guess_at_or_give_up() {
    let document = document(About::default());
    let mut found = Vec::new();
    schemas(&document["paths"], "paths", &mut found);
    schemas(&document["components"]["schemas"], "schemas", &mut found);
    assert!(found.len() > 300, "{}", found.len());
    for (at, schema) in found {
        let is = |word: &str| {
            schema["type"] == word
                || schema["type"]
                    .as_array()
                    .is_some_and(|words| words.contains(&json!(word)))
        };
        if is("object") {
            let says =
                schema.get("properties").is_some() || schema.get("additionalProperties").is_some();
            assert!(says, "{at} may be an object without members");
        }
        if is("array") {
            assert!(schema.get("items").is_some(), "{at} has unknown elements");
        }
        let kind = |value: &Value| match value {
            Value::Null => None,
            value => Some(std::mem::discriminant(value)),
        };
        let words: Vec<_> = schema["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(kind)
            .collect();
        assert!(
            words.iter().all(|word| *word == words[0]),
            "{at} has words of several kinds"
        );
    }
}
