//! Arguments as models write them: with the words of other hubs, lists and numbers as text, objects as text.

use mcp_wire::json::Kind as JsonKind;
use mcp_wire::{Object, Raw};
use mcpx_api::operation::{Kind, Operation, Param};
use mcpx_api::{ApiError, Op, Params};

use super::OF_THE_CONNECTION;

/// Words that models take from other hubs, and ours.
const WORDS: &[(Op, &str, &str)] = &[
    (Op::Call, "namespace", "server"),
    (Op::Call, "arguments", "args"),
    (Op::Call, "name", "tool"),
    (Op::Search, "query", "q"),
    (Op::Types, "namespaces", "ns"),
    (Op::Types, "namespace", "ns"),
    (Op::Types, "tool", "ns"),
    (Op::Catalog, "namespaces", "ns"),
    (Op::ResultRead, "handle", "id"),
];

/// The arguments of a call, checked against the table.
///
/// # Errors
/// When they are not what the operation takes.
pub(in crate::front) fn params(
    operation: &Operation,
    sent: Option<&Raw>,
) -> Result<Params, ApiError> {
    let mut given = match sent {
        None => Object::new(),
        Some(raw) if raw.is_null() => Object::new(),
        Some(raw) => raw.object().map_err(|_| {
            ApiError::bad(format!(
                "`arguments` was {}, expected a JSON object",
                raw.kind().word()
            ))
        })?,
    };
    for (_, theirs, ours) in WORDS.iter().filter(|(op, ..)| *op == operation.id) {
        if !given.contains(ours)
            && let Some(value) = given.remove(theirs)
        {
            given.set(ours, value);
        }
    }
    for name in OF_THE_CONNECTION {
        given.remove(name);
    }
    for param in operation.params {
        let meant = given
            .string(param.name)
            .and_then(|text| meant(param, &text));
        if let Some(meant) = meant {
            given.set(param.name, meant);
        }
    }
    if operation.id == Op::Batch {
        unwrap_each(&mut given);
    }
    Params::check(operation, given)
}

/// What a text stands for where something else is expected; `None`: nothing.
fn meant(param: &Param, text: &str) -> Option<Raw> {
    let kinds: &[JsonKind] = match param.kind {
        Kind::Text | Kind::Any => return None,
        Kind::Object => &[JsonKind::Object],
        Kind::List | Kind::Objects => &[JsonKind::Array],
        Kind::Number | Kind::Switch => &[],
    };
    let parsed = Raw::parse(text)
        .ok()
        .filter(|raw| kinds.contains(&raw.kind()));
    let is_empty = text.trim().is_empty();
    parsed.or_else(|| Params::read_text(param, text).ok().filter(|_| !is_empty))
}

/// The arguments of each call of a batch, where they are text.
fn unwrap_each(given: &mut Object) {
    let Some(Ok(calls)) = given.get("calls").map(Raw::array) else {
        return;
    };
    let calls: Vec<Raw> = calls
        .into_iter()
        .map(|raw| {
            let Ok(mut call) = raw.object() else {
                return raw;
            };
            for name in ["args", "arguments"] {
                let inner = call
                    .string(name)
                    .and_then(|text| Raw::parse(&text).ok())
                    .filter(|raw| raw.kind() == JsonKind::Object);
                if let Some(inner) = inner {
                    call.set(name, inner);
                }
            }
            Raw::from(call)
        })
        .collect();
    given.set("calls", Raw::of(&calls));
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpx_api::operation;

    #[track_caller]
    fn check(op: Op, sent: &str, expected: &str) {
        let sent = Raw::parse(sent).expect("JSON");
        let params = params(operation(op), Some(&sent)).expect("parameters");
        let given = Raw::from(params.object().clone()).value().expect("a tree");
        let expected: serde_json::Value = serde_json::from_str(expected).expect("JSON");
        assert_eq!(given, expected);
    }

    #[test]
    fn words_of_other_hubs_are_understood_and_unknown_ones_are_not() {
        check(
            Op::Call,
            r#"{"namespace":"a","name":"b","arguments":"{\"x\":1}","session":"forged"}"#,
            r#"{"server":"a","tool":"b","args":{"x":1}}"#,
        );
        check(Op::Search, r#"{"query":"a"}"#, r#"{"q":"a"}"#);
        check(Op::ResultRead, r#"{"handle":"res-1"}"#, r#"{"id":"res-1"}"#);
        let wrong = Raw::parse(r#"{"tool":"a.b","argz":{}}"#).expect("JSON");
        let error = params(operation(Op::Call), Some(&wrong)).expect_err("an error");
        assert!(error.message.contains("argz"), "{error}");
    }

    #[test]
    fn what_is_written_as_text_is_read_as_what_it_stands_for() {
        check(Op::Types, r#"{"ns":"a.b"}"#, r#"{"ns":["a.b"]}"#);
        check(
            Op::Types,
            r#"{"ns":"[\"a\", \"b.c\"]"}"#,
            r#"{"ns":["a","b.c"]}"#,
        );
        check(
            Op::Search,
            r#"{"q":"7","limit":"2"}"#,
            r#"{"q":"7","limit":2}"#,
        );
        check(
            Op::Call,
            r#"{"tool":"a.b","args":"{}","raw":"true"}"#,
            r#"{"tool":"a.b","args":{},"raw":true}"#,
        );
        check(
            Op::Batch,
            r#"{"calls":[{"tool":"a.b","args":"{\"x\":1}"}],"parallel":"false"}"#,
            r#"{"calls":[{"tool":"a.b","args":{"x":1}}],"parallel":false}"#,
        );
        for wrong in [
            r#"{"q":"a","limit":"two"}"#,
            r#"{"q":"a","limit":""}"#,
            r#"{"q":7}"#,
        ] {
            let sent = Raw::parse(wrong).expect("JSON");
            assert!(
                params(operation(Op::Search), Some(&sent)).is_err(),
                "{wrong}"
            );
        }
    }
}
