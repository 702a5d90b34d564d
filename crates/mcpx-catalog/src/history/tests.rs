use mcp_wire::Raw;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::any_schema::{any_schema, turned};

pub(super) fn at(day: i8) -> Timestamp {
    format!("2026-09-{day:02}T10:00:00Z").parse().unwrap()
}

pub(super) fn tool(name: &str, more: &Value) -> Tool {
    let mut all = json!({"name": name, "inputSchema": {"type": "object"}});
    for (key, value) in more.as_object().unwrap() {
        all[key] = value.clone();
    }
    Tool::parse(&Raw::of(&all)).unwrap()
}

pub(super) fn with_input(properties: &Value, required: &Value) -> Tool {
    tool(
        "t",
        &json!({"inputSchema": {"type": "object", "properties": properties, "required": required}}),
    )
}

/// `kind field: what` of each difference.
pub(super) fn differences(old: &Tool, new: &Tool) -> Vec<String> {
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

#[test]
fn a_record_goes_on_under_another_key_and_a_part_of_it_has_names_of_its_own() {
    let mut history = History::default();
    let one = [tool("a", &json!({}))];
    history.observe("db", &one, &[], at(1));
    history.adopt("db", "/p#db");
    assert!(!history.has_read("db") && history.has_read("/p#db"));
    history.observe("/q#db", &[], &[], at(2));
    history.adopt("/q#db", "/p#db");
    let part = history.part(|key| key.strip_prefix("/p#").map(str::to_owned));
    let tools: Vec<_> = part
        .records()
        .map(|(server, tool, _)| (server, tool))
        .collect();
    assert_eq!(tools, [("db", "a")]);
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
        words(history.observe("s", &[a.clone(), b], &[], at(2))),
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
