use serde_json::json;

use super::*;
use crate::history::tests::{at, tool};

#[test]
fn a_record_comes_back_as_it_was_with_what_it_did_not_know() {
    let mut history = History::default();
    let rich = tool(
        "t",
        &json!({"description": "d", "outputSchema": {"properties": {"n": {}}}, "annotations": {"readOnlyHint": true},
        "inputSchema": {"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": {"type": ["string", "null"],
            "enum": ["x", "y"], "default": "x", "format": "uri", "maxLength": 3, "description": "d"}}}}),
    );
    history.observe("a.b", &[tool("t", &json!({}))], &[], at(1));
    history.observe("a.b", &[rich], &[], at(2));
    history.observe("a.b", &[], &[], at(3));
    let text = history.to_json();
    assert_eq!(History::parse(text.as_bytes()), Ok(history));
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["later"] = json!(1);
    value["servers"]["a.b"]["later"] = json!(2);
    value["servers"]["a.b"]["tools"]["t"]["later"] = json!({"x": 3});
    value["servers"]["a.b"]["tools"]["t"]["input"]["fields"][0]["later"] = json!(4);
    value["servers"]["a.b"]["tools"]["t"]["changes"][0]["later"] = json!(5);
    value["servers"]["a.b"]["tools"]["t"]["changes"][0]["kind"] = json!("kind-of-tomorrow");
    let read = History::parse(value.to_string().as_bytes()).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&read.to_json()).unwrap(),
        value
    );
}

#[test]
fn a_broken_record_is_an_error_that_says_where() {
    let whole = |tool: &str| {
        format!(
            r#"{{"version":1,"servers":{{"s":{{"read":"2026-09-01T00:00:00Z","tools":{{"t":{tool}}}}}}}}}"#
        )
    };
    for (text, expected) in [
        (String::new(), "not JSON"),
        ("{\"version\":1,\"serv".to_owned(), "not JSON"),
        ("[]".to_owned(), "no object at ``"),
        ("{}".to_owned(), "no version at `version`"),
        (r#"{"version":2}"#.to_owned(), "version 2"),
        (r#"{"version":1}"#.to_owned(), "no object at `servers`"),
        (whole("7"), "no object at `servers/s/tools/t`"),
        (whole("{}"), "no number at `servers/s/tools/t/reads`"),
        (
            whole(r#"{"reads":1,"input":{"fields":[{"types":"x"}]}}"#),
            "no string at `servers/s/tools/t/input/fields/0/path`",
        ),
        (
            whole(r#"{"reads":1,"input":{},"changes":[{"when":"yesterday"}]}"#),
            "no time at `servers/s/tools/t/changes/0/when`",
        ),
        ("[".repeat(100_000), "not JSON"),
    ] {
        let error = History::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("hint: "));
    }
}
