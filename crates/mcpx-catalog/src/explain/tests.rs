use mcp_wire::{Raw, error};
use proptest::prelude::*;

use super::*;
use crate::any_schema::any_schema;

fn at(day: i8) -> Timestamp {
    format!("2026-09-{day:02}T10:00:00Z").parse().unwrap()
}

fn tool(name: &str, schema: &Value) -> Tool {
    Tool::parse(&Raw::of(&json!({"name": name, "inputSchema": schema}))).unwrap()
}

fn create_issue(more: &Value) -> Tool {
    let mut schema = json!({"type": "object", "required": ["title"], "properties": {
        "title": {"type": "string"}, "labels": {"type": "array", "items": {"type": "string"}},
        "state": {"enum": ["open", "closed"]}, "limit": {"type": "integer", "maximum": 10}}});
    for (name, property) in more.as_object().unwrap() {
        schema["properties"][name] = property.clone();
        schema["required"].as_array_mut().unwrap().push(json!(name));
    }
    tool("create_issue", &schema)
}

/// A history in which `create_issue` gained a required `repo`, and `echo` calls its argument otherwise.
fn history() -> (History, Vec<Tool>) {
    let mut history = History::default();
    let echo = |name: &str| {
        tool(
            "echo",
            &json!({"type": "object", "required": [name], "properties": {name: {"type": "string"}}}),
        )
    };
    history.observe(
        "demo",
        &[
            create_issue(&json!({})),
            echo("message"),
            tool("old", &json!({})),
        ],
        &[],
        at(1),
    );
    let now = vec![
        create_issue(&json!({"repo": {"type": "string"}})),
        echo("text"),
    ];
    history.observe("demo", &now, &[], at(30));
    (history, now)
}

fn explained(tool: &str, arguments: &Value, refusal: Refusal<'_>) -> Vec<Finding> {
    let (history, tools) = history();
    let arguments = Raw::of(arguments).object().unwrap();
    let call = Call {
        server: "demo",
        namespace: "demo",
        tool,
        tools: Some(&tools),
        arguments: &arguments,
    };
    explain(&call, refusal, &history)
}

fn error(message: &str) -> Refusal<'_> {
    Refusal::Error {
        code: error::INVALID_PARAMS,
        message,
    }
}

#[test]
fn a_required_argument_that_is_new_is_named_with_the_day_and_a_call_that_works() {
    let found = explained(
        "create_issue",
        &json!({"title": "x"}),
        error("Invalid params"),
    );
    assert_eq!(
        render(&found),
        "demo.create_issue: the call was rejected and repo is required but was not sent (schema changed 2026-09-30: \
         `repo` was added and is required)\n  minimum:    await demo.create_issue({ repo: \"\", title: \"\" })"
    );
    assert_eq!(
        found[0].to_value(),
        json!({"kind": "invalid-params", "tool": "demo.create_issue", "field": "repo", "fatal": true,
            "message": "the call was rejected and repo is required but was not sent",
            "changed": {"when": "2026-09-30T10:00:00Z", "kind": "argument-added", "what": "`repo` was added and is required"},
            "fix": "await demo.create_issue({ repo: \"\", title: \"\" })"})
    );
}

#[test]
fn what_contradicts_the_schema_is_said_place_by_place_and_the_call_once() {
    let sent = json!({"repo": "a/b", "state": "shut", "limit": 11, "labels": "x"});
    let text = render(&explained("create_issue", &sent, error("no")));
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim_start_matches("demo.create_issue: the call was rejected and "))
        .collect();
    assert_eq!(
        lines,
        [
            "title is required but was not sent",
            "labels takes array but a string was sent",
            "limit is beyond maximum=10",
            "state takes one of \"open\", \"closed\" but another value was sent",
            "  minimum:    await demo.create_issue({ repo: \"\", title: \"\" })",
        ]
    );
    assert!(
        !text.contains("shut"),
        "a value that was sent is repeated: {text}"
    );
}

#[test]
fn an_argument_under_its_old_name_is_told_the_new_one() {
    let text = render(&explained("echo", &json!({"message": "hi"}), error("no")));
    assert!(
        text.contains("text is required but was not sent (schema changed 2026-09-30: "),
        "{text}"
    );
    assert!(text.ends_with("await demo.echo({ text: \"\" })"), "{text}");
}

#[test]
fn a_call_that_fits_is_explained_by_what_the_message_names() {
    let fits = json!({"title": "x", "repo": "y"});
    let said = |message: &str| {
        explained("create_issue", &fits, error(message))[0]
            .message
            .clone()
    };
    assert_eq!(
        said("limit must be less than the title"),
        "the call was rejected and its message names limit, which takes integer (maximum=10)"
    );
    assert_eq!(
        said("bad state"),
        "the call was rejected and its message names state, which takes one of \"closed\", \"open\""
    );
    assert_eq!(
        said("no"),
        "the call was rejected; it takes repo (required), title (required), labels, limit, state"
    );
}

#[test]
fn what_is_not_about_the_arguments_is_not_explained() {
    let refusals = [
        (-32_000, "connection closed: unexpected EOF"),
        (-32_050, "invalid params: title is required"),
        (error::INTERNAL_ERROR, "the disk is full"),
    ];
    for (code, message) in refusals {
        assert_eq!(
            explained("create_issue", &json!({}), Refusal::Error { code, message }),
            [],
            "{message}"
        );
    }
    let arguments = Object::new();
    let unread = Call {
        server: "demo",
        namespace: "demo",
        tool: "echo",
        tools: None,
        arguments: &arguments,
    };
    assert_eq!(explain(&unread, error("no"), &History::default()), []);
}

#[test]
fn a_failed_result_is_explained_when_the_schema_or_the_history_knows_why() {
    let failed =
        |tool: &str, sent: &Value, text: &str| explained(tool, sent, Refusal::Result { text });
    let missing = failed(
        "create_issue",
        &json!({"title": "x"}),
        "TypeError: undefined",
    );
    assert_eq!(
        missing[0].message,
        "the tool failed and repo is required but was not sent"
    );
    let fits = json!({"title": "x", "repo": "y"});
    assert_eq!(failed("create_issue", &fits, "the tracker is down"), []);
    assert_eq!(failed("create_issue", &fits, "no such title"), []);
    let named = failed("create_issue", &fits, "no such repo");
    assert_eq!(named[0].field.as_deref(), Some("repo"));
    assert_eq!(named[0].changed.as_ref().unwrap().kind, "argument-added");
}

#[test]
fn an_unknown_tool_finds_its_neighbours_and_what_became_of_it() {
    let found = explained(
        "craete_issue",
        &json!({}),
        error("Unknown tool: craete_issue"),
    );
    assert_eq!(
        found[0].message,
        "demo has no tool craete_issue; did you mean create_issue?"
    );
    assert_eq!(
        found[0].fix.as_deref(),
        Some("await demo.create_issue({ repo: \"\", title: \"\" })")
    );
    let old = explained(
        "old",
        &json!({}),
        Refusal::Result {
            text: "Unknown tool: old",
        },
    );
    assert_eq!(old[0].changed.as_ref().unwrap().kind, "tool-removed");
    assert_eq!(
        old[0].message,
        "demo has no tool old; its tools are create_issue, echo"
    );
    let unrelated = Refusal::Error {
        code: error::INTERNAL_ERROR,
        message: "the disk is full",
    };
    assert_eq!(explained("old", &json!({}), unrelated), []);
}

#[test]
fn an_unknown_namespace_finds_its_neighbours() {
    let servers = Names::of_servers([("demo", "demo"), ("issue-tracker", "issue_tracker")]);
    let said = |name: &str| unknown_namespace(name, "echo", &servers).message;
    assert_eq!(
        said("dmeo"),
        "no server is configured under dmeo; did you mean demo?"
    );
    assert_eq!(
        said("github"),
        "no server is configured under github; there are demo, issue_tracker"
    );
    let none = unknown_namespace("x\u{1b}[2J", "", &Names::default());
    assert_eq!(
        none.message,
        "no server is configured under x\u{241b}[2J; there is none at all"
    );
}

#[test]
fn a_misspelt_argument_is_a_remark_where_any_is_taken() {
    let found = explained(
        "create_issue",
        &json!({"title": "x", "repo": "y", "lables": []}),
        error("no"),
    );
    let remark = found.iter().find(|finding| !finding.fatal).unwrap();
    assert_eq!(
        remark.message,
        "lables is not an argument; did you mean labels?"
    );
}

#[test]
fn a_misspelt_argument_finds_its_name_where_no_other_is_taken() {
    let input = json!({"type": "object", "properties": {"message": {"type": "string"}}, "additionalProperties": false});
    let tools = [tool("echo", &input)];
    let arguments = Raw::of(&json!({"mesage": "hi"})).object().unwrap();
    let call = Call {
        server: "demo",
        namespace: "demo",
        tool: "echo",
        tools: Some(&tools),
        arguments: &arguments,
    };
    let found = explain(&call, error("no"), &History::default());
    assert_eq!(
        found[0].message,
        "the call was rejected and mesage is not an argument; did you mean message?"
    );
}

#[test]
fn what_was_written_stands_between_the_reason_and_the_call() {
    let mut found = explained("echo", &json!({}), error("no"));
    found[0].written = Some(Written {
        line: 2,
        text: "await demo.echo()".to_owned(),
    });
    let text = render(&found);
    assert!(
        text.contains("\n  you wrote:  await demo.echo()   (line 2)\n  minimum:    "),
        "{text}"
    );
}

proptest! {
    #[test]
    fn any_schema_call_and_answer_are_explained_without_harm(
        schema in any_schema(), sent in any_schema(), message in "(required |p|q|expected|\u{1b}|\u{2028}|`){0,6}", code in -32_700_i64..=0, is_result: bool
    ) {
        let input = json!({"type": "object", "properties": {"p": schema}, "required": ["p"]});
        let tools = [tool("t", &input)];
        let mut arguments = Object::new();
        arguments.set("p", Raw::of(&sent));
        let call = Call { server: "s", namespace: "s", tool: "t", tools: Some(&tools), arguments: &arguments };
        let refusal = if is_result { Refusal::Result { text: &message } } else { Refusal::Error { code, message: &message } };
        for finding in explain(&call, refusal, &History::default()) {
            let harmless = |text: &str| !text.contains(['\n', '\u{1b}', '\u{2028}']);
            prop_assert!(harmless(&finding.message), "{:?}", finding.message);
            prop_assert!(finding.fix.as_deref().is_none_or(harmless));
        }
    }
}
