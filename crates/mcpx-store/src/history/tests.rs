use std::{fs, thread};

use mcp_wire::{Raw, Tool};

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

fn tools(names: &[&str]) -> Vec<Tool> {
    names
        .iter()
        .map(|name| {
            let text = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
            Tool::parse(&Raw::parse(&text).unwrap()).unwrap()
        })
        .collect()
}

fn file() -> (testkit::TempHome, HistoryFile) {
    let home = testkit::TempHome::new();
    let state = StateDir::open(home.path().join("state")).unwrap();
    let file = HistoryFile::new(&state);
    (home, file)
}

#[test]
fn a_first_sighting_is_inventory_and_the_second_reading_tells_what_changed() {
    let (_home, file) = file();
    let first = file
        .update(at(0), |history| {
            history.observe("demo", &tools(&["echo"]), &[], at(0))
        })
        .unwrap();
    assert_eq!((first.value.len(), first.problem), (0, None));
    let second = file
        .update(at(1), |history| {
            history.observe("demo", &tools(&["echo", "ask"]), &[], at(1))
        })
        .unwrap();
    assert_eq!(second.value.len(), 1);
    assert_eq!(second.value[0].tool, "ask");
    let (read, problem) = file.load();
    assert_eq!((read, problem), (second.history, None));
}

#[test]
fn two_daemons_lose_nothing_of_each_other() {
    let (_home, file) = file();
    thread::scope(|scope| {
        for daemon in 0..4 {
            let file = &file;
            scope.spawn(move || {
                for n in 0..10 {
                    let server = format!("server-{daemon}-{n}");
                    file.update(at(n), |history| {
                        history.observe(&server, &tools(&["a", "b"]), &[], at(n))
                    })
                    .unwrap();
                }
            });
        }
    });
    let (history, problem) = file.load();
    assert_eq!(problem, None);
    assert_eq!(history.records().count(), 4 * 10 * 2);
}

#[test]
fn a_broken_file_is_set_aside_told_and_blocks_nothing() {
    let (home, file) = file();
    let path = home.path().join("state/catalog-history.json");
    fs::write(&path, r#"{"version":1,"servers":{"demo""#).unwrap();
    let (history, problem) = file.load();
    assert_eq!(history, History::default());
    assert!(problem.unwrap().reason.contains("not JSON"));
    let update = |second| {
        file.update(at(second), |history| {
            history.observe("demo", &tools(&["echo"]), &[], at(second))
        })
        .unwrap()
    };
    let first = update(0);
    // Everything is a first sighting again, and no drift.
    assert!(first.value.is_empty());
    let reason = first.problem.unwrap().reason;
    assert!(
        reason.contains("catalog-history.json.broken-20260921T141320Z"),
        "{reason}"
    );
    assert_eq!(update(1).problem, None);
    assert!(
        home.path()
            .join("state/catalog-history.json.broken-20260921T141320Z")
            .exists()
    );
}

#[test]
fn a_file_of_a_newer_program_is_told_and_left_as_it_is() {
    let (home, file) = file();
    let path = home.path().join("state/catalog-history.json");
    let text = r#"{"version":2,"servers":{}}"#;
    fs::write(&path, text).unwrap();
    let updated = file
        .update(at(0), |history| {
            history.observe("demo", &tools(&["echo"]), &[], at(0))
        })
        .unwrap();
    assert!(updated.problem.unwrap().reason.contains("version 2"));
    assert!(updated.history.has_read("demo"));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn what_did_not_change_is_not_written() {
    let (home, file) = file();
    let path = home.path().join("state/catalog-history.json");
    file.update(at(0), |_| ()).unwrap();
    assert!(!path.exists());
}
