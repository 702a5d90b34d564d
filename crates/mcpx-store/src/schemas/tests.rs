use std::fs;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

fn state() -> (testkit::TempHome, StateDir) {
    let home = testkit::TempHome::new();
    let state = StateDir::open(home.path().join("state")).unwrap();
    (home, state)
}

const TOOL: &str =
    r#"{"name":"a","inputSchema":{"type":"object","x-n":1.0},"future":{"é":"\u00e9","n":1e400}}"#;

fn whole() -> Entry {
    Entry {
        identity: Some("00ff".to_owned()),
        tools: Some(vec![Raw::parse(TOOL).unwrap()]),
        resources: Some(vec![]),
        resource_templates: Some(vec![]),
        prompts: Some(vec![]),
        instructions: Some(String::new()),
        server_info: Some(Raw::parse(r#"{"name":"x","version":"1"}"#).unwrap()),
        capabilities: Some(Raw::parse("{}").unwrap()),
        revision: Some("2025-11-25".to_owned()),
        fetched_at: Some(at(0)),
    }
}

#[test]
fn definitions_come_back_byte_for_byte() {
    let (_home, state) = state();
    let cache = SchemaCache {
        servers: BTreeMap::from([("files".to_owned(), whole())]),
        saved_at: None,
    };
    cache.save(&state, "abc", at(1)).unwrap();
    let (read, problems) = SchemaCache::load(&state, "abc");
    assert_eq!(problems, []);
    assert_eq!(read.servers, cache.servers);
    assert_eq!(read.saved_at, Some(at(1)));
    assert_eq!(
        read.servers["files"].tools.as_ref().unwrap()[0].as_str(),
        TOOL
    );
}

#[test]
fn a_field_that_an_older_program_did_not_write_is_unknown_and_not_empty() {
    let (_home, state) = state();
    let text = r#"{"version":1,"configHash":"abc","servers":{
        "old":{"tools":[],"fetchedAt":"2026-11-30T00:00:00Z"}, "none":{}, "newer":{"tools":[],"widgets":[1],"prompts":null}}}"#;
    fs::write(state.path("schemas-abc.json"), text).unwrap();
    let (read, problems) = SchemaCache::load(&state, "abc");
    assert_eq!(problems, []);
    let old = &read.servers["old"];
    assert_eq!(old.tools, Some(vec![]));
    assert_eq!(
        (&old.prompts, &old.resources, &old.instructions),
        (&None, &None, &None)
    );
    assert_eq!(read.servers["none"], Entry::default());
    assert_eq!(read.servers["newer"].prompts, None);
    // Written again, the unknown stays unknown.
    read.save(&state, "abc", at(0)).unwrap();
    assert_eq!(SchemaCache::load(&state, "abc").0.servers, read.servers);
    assert!(
        !fs::read_to_string(state.path("schemas-abc.json"))
            .unwrap()
            .contains("resources")
    );
}

#[test]
fn what_is_of_another_version_or_configuration_or_broken_is_ignored_and_told() {
    let (_home, state) = state();
    for (text, why) in [
        (
            r#"{"version":2,"configHash":"abc","servers":{"a":{"tools":[]}}}"#,
            "version 2",
        ),
        (
            r#"{"version":0,"configHash":"abc","servers":{"a":{"tools":[]}}}"#,
            "version 0",
        ),
        (
            r#"{"version":1,"configHash":"abd","servers":{"a":{"tools":[]}}}"#,
            "another configuration, `abd`",
        ),
        (
            r#"{"version":1,"configHash":"abc","servers":{"a":{"tools":["#,
            "no schema cache",
        ),
        (r#"{"version":1,"configHash":"abc"}"#, "servers"),
        ("", "no schema cache"),
    ] {
        fs::write(state.path("schemas-abc.json"), text).unwrap();
        let (cache, problems) = SchemaCache::load(&state, "abc");
        assert_eq!(cache, SchemaCache::default(), "{text}");
        assert_eq!(problems.len(), 1, "{text}");
        assert!(problems[0].reason.contains(why), "{problems:?}");
    }
    let (cache, problems) = SchemaCache::load(&state, "../abc");
    assert_eq!((cache, problems.len()), (SchemaCache::default(), 1));
}

#[test]
fn a_broken_entry_costs_only_itself() {
    let (_home, state) = state();
    let text = r#"{"version":1,"configHash":"abc","servers":{"a":{"tools":7},"b":{"tools":[]}}}"#;
    fs::write(state.path("schemas-abc.json"), text).unwrap();
    let (cache, problems) = SchemaCache::load(&state, "abc");
    assert_eq!(cache.servers.keys().collect::<Vec<_>>(), ["b"]);
    assert!(
        problems[0].reason.contains("the entry of `a`"),
        "{problems:?}"
    );
}

#[test]
fn the_files_of_old_configurations_go() {
    let (_home, state) = state();
    for n in 0..20 {
        SchemaCache::default()
            .save(&state, &format!("h{n}"), at(n))
            .unwrap();
    }
    let files = entries(state.root());
    assert_eq!(files.len(), KEEP_FILES);
    assert!(state.path("schemas-h19.json").exists());
}
