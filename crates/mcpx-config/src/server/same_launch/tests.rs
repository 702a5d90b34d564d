#![expect(
    clippy::disallowed_methods,
    reason = "the file is that of a temporary folder"
)]

use std::time::Duration;

use super::*;
use crate::{Choice, Config, Surroundings, Trust, load};

fn config(servers: &str) -> Config {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("servers.json");
    std::fs::write(&file, format!("{{\"mcpServers\": {servers}}}")).unwrap();
    let surroundings = Surroundings {
        cwd: home.path().to_owned(),
        env: BTreeMap::new(),
        home: Some(home.path().to_owned()),
        exe: "/nowhere/mcpx".into(),
    };
    let choice = Choice {
        config_file: Some(file),
        ..Choice::default()
    };
    load(&surroundings, &choice, &Trust::none()).unwrap()
}

#[test]
fn of_what_entries_share_the_widest_holds_and_what_cannot_be_used_widens_nothing() {
    let config = config(
        r#"{
            "a": {"command": "notes", "mcpx": {"scope": "session", "max": 2, "min": 1, "idleTimeout": "1m", "startTimeout": "90s", "callTimeout": "1s"}},
            "b": {"command": "notes", "mcpx": {"scope": "session", "max": 6, "idleTimeout": "3m", "startTimeout": "5s", "callTimeout": "9s"}},
            "c": {"command": "notes", "mcpx": {"scope": "session", "max": 50, "requiresSecrets": ["NOT_THERE"]}},
            "view": {"aliasOf": "b"},
            "other": {"command": "notes"}
        }"#,
    );
    let mut all: Vec<Shared> = shared(&config.servers).into_values().collect();
    all.sort_by(|one, other| one.names.cmp(&other.names));
    let [first, second] = all.as_slice() else {
        panic!("{all:#?}");
    };
    assert_eq!(first.names, ["a", "b", "view"]);
    assert!(first.is_of_equals);
    let sizes = &first.server;
    assert_eq!((sizes.max, sizes.min), (6, 1));
    assert_eq!(sizes.idle_timeout, Duration::from_secs(180));
    assert_eq!(sizes.start_timeout, Duration::from_secs(90));
    assert_eq!(second.names, ["other"]);
    assert!(!second.is_of_equals);
}

#[test]
fn a_view_and_what_it_is_a_view_of_are_one_entry_with_sizes() {
    let config = config(r#"{"a": {"command": "notes"}, "v": {"aliasOf": "a"}}"#);
    let all: Vec<Shared> = shared(&config.servers).into_values().collect();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].names, ["a", "v"]);
    assert!(!all[0].is_of_equals);
}

#[test]
fn a_life_without_end_is_the_longest() {
    let minute = Duration::from_secs(60);
    assert_eq!(longest(minute, Duration::ZERO), Duration::ZERO);
    assert_eq!(longest(Duration::ZERO, minute), Duration::ZERO);
    assert_eq!(longest(minute, minute * 2), minute * 2);
}
