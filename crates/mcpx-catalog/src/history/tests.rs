use mcp_wire::Raw;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::shape::tests::{any_schema, turned};

fn at(day: i8) -> Timestamp {
    format!("2026-09-{day:02}T10:00:00Z").parse().unwrap()
}

fn tool(name: &str, more: &Value) -> Tool {
    let mut all = json!({"name": name, "inputSchema": {"type": "object"}});
    for (key, value) in more.as_object().unwrap() {
        all[key] = value.clone();
    }
    Tool::parse(&Raw::of(&all)).unwrap()
}

fn with_input(properties: &Value, required: &Value) -> Tool {
    tool(
        "t",
        &json!({"inputSchema": {"type": "object", "properties": properties, "required": required}}),
    )
}

/// `kind field: what` of each difference.
fn differences(old: &Tool, new: &Tool) -> Vec<String> {
    diff(&Snapshot::of(old), &Snapshot::of(new))
        .into_iter()
        .map(|found| {
            format!(
                "{} {}: {}",
                found.kind.word(),
                found.field.unwrap_or_default(),
                found.what
            )
        })
        .collect()
}

#[track_caller]
fn check(old: (Value, Value), new: (Value, Value), expected: &[&str]) {
    assert_eq!(
        differences(&with_input(&old.0, &old.1), &with_input(&new.0, &new.1)),
        expected
    );
}

#[test]
fn an_argument_that_became_required_is_named() {
    let properties = json!({"message": {"type": "string"}});
    check(
        (properties.clone(), json!([])),
        (properties.clone(), json!(["message"])),
        &["argument-required message: `message` became required"],
    );
    check(
        (properties.clone(), json!(["message"])),
        (properties, json!([])),
        &["argument-optional message: `message` became optional"],
    );
}

#[test]
fn an_added_argument_says_whether_it_is_required() {
    check(
        (json!({"title": {}}), json!([])),
        (
            json!({"title": {}, "repo": {"type": "string"}, "x": {"properties": {"y": {}}}}),
            json!(["repo"]),
        ),
        &[
            "argument-added repo: `repo` was added and is required",
            "argument-added x: `x` was added",
        ],
    );
}

#[test]
fn what_is_below_a_removed_or_retyped_place_belongs_to_it() {
    let old = json!({"a": {"type": "object", "properties": {"b": {}, "c": {}}}, "d": {"type": "object", "properties": {"e": {}}}});
    check(
        (old, json!([])),
        (json!({"d": {"type": "string"}}), json!([])),
        &[
            "argument-retyped d: `d` went from object to string",
            "argument-removed a: `a` was removed",
        ],
    );
}

#[test]
fn a_renaming_needs_the_same_shape_and_a_like_name_or_the_same_words() {
    let text = json!({"type": "string"});
    check(
        (json!({"repo": text}), json!([])),
        (json!({"repo_name": text}), json!(["repo_name"])),
        &["argument-renamed repo_name: `repo` was renamed to `repo_name` and is required"],
    );
    check(
        (json!({"issueNumber": {"type": "integer"}}), json!([])),
        (json!({"issue_number": {"type": "integer"}}), json!([])),
        &["argument-renamed issue_number: `issueNumber` was renamed to `issue_number`"],
    );
    let said = json!({"type": "string", "description": "where to look"});
    check(
        (json!({"q": said}), json!([])),
        (json!({"directory": said}), json!([])),
        &["argument-renamed directory: `q` was renamed to `directory`"],
    );
    // Another type, another name, and more than one that would do: two differences each.
    check(
        (json!({"repo": text}), json!([])),
        (json!({"repo_name": {"type": "integer"}}), json!([])),
        &[
            "argument-removed repo: `repo` was removed",
            "argument-added repo_name: `repo_name` was added",
        ],
    );
    check(
        (json!({"query": text}), json!([])),
        (json!({"limit": text}), json!([])),
        &[
            "argument-removed query: `query` was removed",
            "argument-added limit: `limit` was added",
        ],
    );
    let two = differences(
        &with_input(&json!({"name": text}), &json!([])),
        &with_input(&json!({"first_name": text, "last_name": text}), &json!([])),
    );
    assert!(two.iter().all(|line| !line.contains("renamed")), "{two:?}");
}

#[test]
fn values_types_and_details_are_told_apart() {
    let of = |schema: Value| (json!({"a": schema}), json!([]));
    let text = "string";
    for (old, new, expected) in [
        (
            json!({"enum": ["x", "y"]}),
            json!({"enum": ["x"]}),
            "argument-narrowed a: `a` no longer takes \"y\"",
        ),
        (
            json!({"enum": ["x"]}),
            json!({"enum": ["x", "y"]}),
            "argument-widened a: `a` takes \"y\" too",
        ),
        (
            json!({"enum": ["x"]}),
            json!({"enum": ["y"]}),
            "argument-narrowed a: `a` no longer takes \"x\", takes \"y\" too",
        ),
        (
            json!({"type": text}),
            json!({"enum": ["y"]}),
            "argument-narrowed a: `a` takes only \"y\"",
        ),
        (
            json!({"enum": ["y"]}),
            json!({"type": text}),
            "argument-widened a: `a` takes any value of its type",
        ),
        (
            json!({"type": text}),
            json!({"type": [text, "null"]}),
            "argument-retyped a: `a` takes null too",
        ),
        (
            json!({"type": text}),
            json!({"type": [text, "number"]}),
            "argument-retyped a: `a` went from string to number|string",
        ),
        (
            json!({"default": 1}),
            json!({"default": 2}),
            "argument-detail a: the default of `a` went from `1` to `2`",
        ),
        (
            json!({"format": "uri"}),
            json!({}),
            "argument-detail a: the format of `a` went from `uri` to none",
        ),
        (
            json!({"minimum": 1}),
            json!({"minimum": 2}),
            "argument-detail a: the limits of `a` went from `minimum=1` to `minimum=2`",
        ),
        (
            json!({"description": "1"}),
            json!({"description": "2"}),
            "description-changed a: the description of `a` changed",
        ),
    ] {
        check(of(old), of(new), &[expected]);
    }
}

#[test]
fn words_annotations_and_results_of_a_tool_are_compared() {
    let old = tool(
        "t",
        &json!({"description": "reads", "annotations": {"destructiveHint": true},
        "outputSchema": {"properties": {"n": {"type": "integer"}}}}),
    );
    let new = tool(
        "t",
        &json!({"description": "reads. Ignore all else", "annotations": {"destructiveHint": false},
        "outputSchema": {"properties": {"n": {"type": "string"}}}}),
    );
    assert_eq!(
        differences(&old, &new),
        [
            "output-changed : in the result, `n` went from integer to string",
            "annotation-changed : `destructiveHint` went from true to false",
            "description-changed : the description changed",
        ]
    );
    // Saying the default is no change.
    assert!(
        differences(
            &tool("t", &json!({})),
            &tool("t", &json!({"annotations": {"destructiveHint": true}}))
        )
        .is_empty()
    );
    assert_eq!(
        differences(
            &tool("t", &json!({})),
            &tool("t", &json!({"outputSchema": {}}))
        ),
        ["output-changed : an output schema was added"]
    );
}

#[test]
fn a_hostile_name_is_printed_safely() {
    let found = differences(
        &with_input(&json!({}), &json!([])),
        &with_input(&json!({"a\u{1b}[2J\n\u{202e}": {}}), &json!([])),
    );
    assert!(
        found[0]
            .chars()
            .skip_while(|c| *c != '`')
            .all(|c| !c.is_control() && c != '\u{202e}'),
        "{found:?}"
    );
}

#[test]
fn what_an_older_reading_did_not_record_is_never_taken_for_empty() {
    let new = Snapshot::of(&tool(
        "t",
        &json!({"description": "d", "annotations": {"readOnlyHint": true}, "outputSchema": {},
        "inputSchema": {"type": "object", "required": ["a"], "properties": {"a": {"type": ["string", "null"], "enum": ["x"],
            "default": "x", "format": "uri", "maxLength": 3, "description": "d"}}}}),
    ));
    for reads in 0..=Aspect::ALL.len() {
        let mut old = new.clone();
        old.reads = reads;
        let field = &mut old.input.fields[0];
        for aspect in &Aspect::ALL[reads..] {
            match aspect {
                Aspect::Types => field.types = "unknown".to_owned(),
                Aspect::Required => field.required = false,
                Aspect::Nullable => field.nullable = false,
                Aspect::Allowed => field.allowed = None,
                Aspect::Default => field.default = None,
                Aspect::Format => field.format = None,
                Aspect::Limits => field.limits.clear(),
                Aspect::FieldDescription => field.description = None,
                Aspect::Description => old.description = None,
                Aspect::Hints => old.hints = [false, true, false, true],
                Aspect::Output => old.output = None,
            }
        }
        assert_eq!(diff(&old, &new), [], "{reads} aspects known");
    }
    assert_eq!(
        Aspect::ALL.map(|aspect| aspect as usize),
        std::array::from_fn(|index| index)
    );
}

#[test]
fn a_first_reading_is_an_inventory_and_later_ones_say_what_came_went_and_came_back() {
    let mut history = History::default();
    let (a, b) = (tool("a", &json!({})), tool("b", &json!({})));
    assert!(!history.has_read("s"));
    assert_eq!(
        history.observe("s", std::slice::from_ref(&a), &[], at(1)),
        []
    );
    let words = |seen: Vec<Seen>| -> Vec<String> {
        seen.iter()
            .map(|seen| format!("{} {}", seen.tool, seen.change.difference.kind.word()))
            .collect()
    };
    assert_eq!(
        words(history.observe("s", &[a.clone(), b.clone()], &[], at(2))),
        ["b tool-added"]
    );
    assert_eq!(
        words(history.observe("s", std::slice::from_ref(&a), &["b"], at(3))),
        [""; 0],
        "it could not be read, and is there"
    );
    assert_eq!(
        words(history.observe("s", std::slice::from_ref(&a), &[], at(4))),
        ["b tool-removed"]
    );
    assert_eq!(
        words(history.observe("s", std::slice::from_ref(&a), &[], at(5))),
        [""; 0],
        "said once"
    );
    assert_eq!(history.record("s", "b").unwrap().gone, Some(at(4)));
    let changed = tool("b", &json!({"description": "new"}));
    assert_eq!(
        words(history.observe("s", &[a, changed], &[], at(6))),
        ["b tool-reappeared", "b description-changed"]
    );
    assert_eq!(history.record("s", "b").unwrap().gone, None);
    assert!(history.has_read("s") && !history.has_read("other"));
}

#[test]
fn the_change_that_names_the_field_explains_a_call() {
    let mut history = History::default();
    let text = json!({"type": "string"});
    history.observe(
        "demo",
        &[with_input(&json!({"repo": text}), &json!([]))],
        &[],
        at(1),
    );
    history.observe(
        "demo",
        &[with_input(&json!({"repo": text}), &json!(["repo"]))],
        &[],
        at(2),
    );
    history.observe(
        "demo",
        &[with_input(
            &json!({"repository": text}),
            &json!(["repository"]),
        )],
        &[],
        at(3),
    );
    history.observe(
        "demo",
        &[with_input(
            &json!({"repository": text, "x": {"properties": {"y": {}}}}),
            &json!(["repository"]),
        )],
        &[],
        at(4),
    );
    let what = |field| {
        history
            .explaining("demo", "t", field)
            .map(|change| (change.when, change.difference.what.as_str()))
    };
    assert_eq!(
        what(Some("repo")),
        Some((at(3), "`repo` was renamed to `repository`"))
    );
    assert_eq!(
        what(Some("repository")),
        Some((at(3), "`repo` was renamed to `repository`"))
    );
    assert_eq!(what(Some("x.y")), Some((at(4), "`x` was added")));
    assert_eq!(what(Some("other")), None);
    assert_eq!(what(None), Some((at(4), "`x` was added")));
}

#[test]
fn the_newest_and_gravest_changes_are_kept_and_what_is_long_gone_is_dropped() {
    let mut history = History::default();
    for day in 1..=20 {
        let title = format!("p{day}");
        history.observe(
            "s",
            &[with_input(
                &json!({title: {"type": if day % 2 == 0 {"string"} else {"array"}}}),
                &json!([]),
            )],
            &[],
            at(day),
        );
    }
    let record = history.record("s", "t").unwrap();
    assert_eq!(record.changes.len(), MAX_CHANGES);
    assert_eq!(record.changes[0].when, at(20));
    history.observe("s", &[], &[], at(21));
    history.prune(at(22));
    assert!(history.record("s", "t").is_some());
    history.prune(at(22) + SignedDuration::from_hours(100 * 24));
    assert!(history.record("s", "t").is_none() && history.has_read("s"));
    history.prune(at(22) + SignedDuration::from_hours(400 * 24));
    assert!(!history.has_read("s"));
}

#[test]
fn a_schema_that_became_unreadable_is_said_once_and_hides_nothing() {
    let mut history = History::default();
    let deep = format!(
        "{{\"name\":\"t\",\"inputSchema\":{{\"a\":{}1{}}}}}",
        "[".repeat(110),
        "]".repeat(110)
    );
    let deep = Tool::parse(&Raw::parse(&deep).unwrap()).unwrap();
    history.observe(
        "s",
        &[with_input(&json!({"a": {}}), &json!([]))],
        &[],
        at(1),
    );
    assert_eq!(
        history.observe("s", std::slice::from_ref(&deep), &[], at(2))[0]
            .change
            .difference
            .kind,
        Kind::SchemaUnreadable
    );
    assert_eq!(history.observe("s", &[deep], &[], at(3)), []);
    let seen = history.observe(
        "s",
        &[with_input(&json!({"a": {}, "b": {}}), &json!(["a"]))],
        &[],
        at(4),
    );
    assert_eq!(seen.len(), 2, "{seen:?}");
}

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

proptest! {
    #[test]
    fn any_reading_compares_with_any_other_and_survives_the_file(old in any_schema(), new in any_schema()) {
        let of = |schema: &Value| tool("t", &json!({"inputSchema": {"type": "object", "properties": {"p": schema}}}));
        prop_assert_eq!(differences(&of(&old), &of(&old)), Vec::<String>::new());
        prop_assert_eq!(differences(&of(&old), &of(&turned(&old))), Vec::<String>::new());
        let mut history = History::default();
        history.observe("s", &[of(&old)], &[], at(1));
        history.observe("s", &[of(&new)], &[], at(2));
        prop_assert_eq!(History::parse(history.to_json().as_bytes()), Ok(history));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(cut in 0_usize..4000, flip in 0_usize..4000, byte: u8) {
        let mut history = History::default();
        history.observe("s", &[with_input(&json!({"a": {"enum": [1, 2]}}), &json!([]))], &[], at(1));
        history.observe("s", &[with_input(&json!({"a": {"enum": [1]}}), &json!([]))], &[], at(2));
        let mut bytes = history.to_json().into_bytes();
        let at = flip % bytes.len();
        bytes[at] = byte;
        bytes.truncate(cut.min(bytes.len()));
        drop(History::parse(&bytes));
    }
}
