use std::collections::BTreeMap;

use mcp_wire::{Object, Raw};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::caller::decode;
use crate::client::spread;
use crate::{Op, operation, operations};

fn check(op: Op, given: &Value) -> Result<Params, ApiError> {
    Params::check(
        operation(op),
        Raw::from(given.clone()).object().expect("an object"),
    )
}

#[test]
fn what_is_wrong_is_said_with_what_was_given_and_what_is_expected() {
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let cases = [
        (
            Op::Search,
            json!({"q": "a", "limt": 3}),
            "`search` has no parameter `limt`; it takes `q`, `limit`",
        ),
        (Op::Search, json!({}), "`q` is missing"),
        (Op::Search, json!({"q": 7}), "`q` was 7, expected text"),
        (
            Op::Search,
            json!({"q": "a", "limit": -1}),
            "`limit` was -1, expected a whole number from 0 on",
        ),
        (
            Op::Search,
            json!({"q": "a", "limit": 1.5}),
            "`limit` was 1.5",
        ),
        (
            Op::Search,
            json!({"q": "a", "limit": 9_007_199_254_740_992_i64}),
            "`limit` was 9007199254740992",
        ),
        (
            Op::Search,
            json!({"q": "a", "profile": "p"}),
            "`profile` was \"p\", expected a list of text",
        ),
        (
            Op::Call,
            json!({"tool": "a.b", "args": []}),
            "`args` was [], expected a JSON object",
        ),
        (
            Op::Call,
            json!({"tool": "a.b", "args": {"a": deep}}),
            "`args` is nested deeper than 100 levels",
        ),
        (
            Op::Batch,
            json!({"calls": [1]}),
            "`calls` was [1], expected a list of JSON objects",
        ),
        (
            Op::LogQuery,
            json!({"level": "loud\u{7}"}),
            "`level` was `loud\u{fffd}`, expected `debug`, `info`, `warn` or `error`",
        ),
        (Op::Call, json!({"tool": null}), "`tool` was null"),
    ];
    for (op, given, expected) in cases {
        let error = check(op, &given).expect_err(expected);
        assert_eq!(error.code, Code::BadRequest);
        assert!(
            error.message.contains(expected),
            "{}\n{expected}",
            error.message
        );
    }
}

#[test]
fn what_need_not_be_there_may_be_null_and_then_it_is_not_there() {
    let params = check(
        Op::Call,
        &json!({"tool": "a.b", "args": null, "timeoutMs": null, "raw": null}),
    )
    .expect("parameters");
    assert_eq!(params.members("args"), None);
    assert_eq!(params.count("timeoutMs"), Ok(None));
    assert!(!params.switch("raw"));
}

#[test]
fn a_name_that_is_given_twice_is_refused() {
    let given = Raw::parse(r#"{"q": "a", "q": "b"}"#)
        .expect("JSON")
        .object()
        .expect("an object");
    let error = Params::check(operation(Op::Search), given).expect_err("twice");
    assert!(error.message.contains("twice"), "{error}");
}

/// The way back from what was sent, as the daemon goes it.
fn received(operation: &Operation, uri: &str, body: Option<&str>) -> Result<Params, ApiError> {
    let mut given = Object::new();
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    for (hole, part) in operation.path.split('/').zip(path.split('/')) {
        if let Some(name) = hole
            .strip_prefix('{')
            .and_then(|hole| hole.strip_suffix('}'))
        {
            given.set(name, decode(part).as_str());
        }
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').expect("a value");
        let param = operation.params.iter().find(|param| param.name == name);
        given.set(
            name,
            Params::read_text(param.expect("a parameter"), &decode(value))?,
        );
    }
    if let Some(body) = body {
        let raw = Raw::parse(body).expect("JSON");
        match operation
            .params
            .iter()
            .find(|param| param.place == Place::Whole)
        {
            Some(whole) => given.set(whole.name, raw),
            None => given.append(raw.object().expect("an object")),
        }
    }
    Params::check(operation, given)
}

fn value(param: &'static Param) -> BoxedStrategy<Value> {
    let text = "[^\u{0}]{1,12}";
    match param.kind {
        Kind::Text if !param.choices.is_empty() => proptest::sample::select(param.choices)
            .prop_map(|word| json!(word))
            .boxed(),
        Kind::Text => text.prop_map(|text| json!(text)).boxed(),
        Kind::Number => (0..=LARGEST).prop_map(|number| json!(number)).boxed(),
        Kind::Switch => any::<bool>().prop_map(|on| json!(on)).boxed(),
        // In a query a comma stands between two, and blanks around one do not count.
        Kind::List if param.place == Place::Query => {
            proptest::collection::vec("[^,\\s\u{0}]{1,8}", 1..4)
                .prop_map(|all| json!(all))
                .boxed()
        }
        Kind::List => proptest::collection::vec(text, 0..4)
            .prop_map(|all| json!(all))
            .boxed(),
        Kind::Object => object().boxed(),
        Kind::Objects => proptest::collection::vec(object(), 0..3)
            .prop_map(|all| json!(all))
            .boxed(),
        Kind::Any => prop_oneof![object(), any::<i32>().prop_map(|number| json!(number))].boxed(),
    }
}

fn object() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[a-z{}\"\\\\ä]{1,5}", "[^\u{0}]{0,8}", 0..3)
        .prop_map(|map: BTreeMap<String, String>| json!(map))
}

fn request() -> impl Strategy<Value = (&'static Operation, Value)> {
    let all: Vec<&'static Operation> = operations::all().collect();
    proptest::sample::select(all).prop_flat_map(|operation| {
        let members: Vec<_> = operation
            .params
            .iter()
            .map(|param| (Just(param), value(param), any::<bool>()))
            .collect();
        members.prop_map(move |members| {
            let given: serde_json::Map<String, Value> = members
                .into_iter()
                .filter(|(param, _, is_there)| param.required || *is_there)
                .map(|(param, value, _)| (param.name.to_owned(), value))
                .collect();
            (operation, Value::Object(given))
        })
    })
}

proptest! {
    #[test]
    fn what_is_sent_is_what_is_received_for_every_operation((operation, given) in request()) {
        let sent = Raw::from(given.clone()).object().expect("an object");
        let checked = Params::check(operation, sent.clone());
        prop_assert!(checked.is_ok(), "{}: {given} {checked:?}", operation.name);
        let (uri, body) = spread(operation, &sent);
        prop_assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
        let back = received(operation, &uri, body.as_deref()).expect("parameters");
        let mut back = Raw::from(back.object().clone()).value().expect("a tree");
        // A body that holds the whole is there even when nothing was given.
        if let Value::Object(back) = &mut back {
            back.retain(|name, value| given.get(name).is_some() || *value != json!({}));
        }
        prop_assert_eq!(back, given, "{}", uri);
    }

    #[test]
    fn whatever_a_query_says_is_read_or_refused(text in ".{0,40}") {
        for operation in operations::all() {
            for param in operation.params {
                if let Ok(value) = Params::read_text(param, &text) {
                    let given = Object::new().with(param.name, value);
                    match Params::check(operation, given) {
                        Ok(params) => {
                            let _any = (params.count(param.name), params.list(param.name), params.switch(param.name));
                        }
                        Err(error) => prop_assert_eq!(error.code, Code::BadRequest),
                    }
                }
            }
        }
    }

    #[test]
    fn whatever_a_body_says_is_read_or_refused(body in any::<Vec<u8>>()) {
        if let Ok(object) = Raw::parse_bytes(&body).and_then(|raw| raw.object()) {
            for operation in operations::all() {
                if let Err(error) = Params::check(operation, object.clone()) {
                    prop_assert_eq!(error.code, Code::BadRequest);
                }
            }
        }
    }
}
