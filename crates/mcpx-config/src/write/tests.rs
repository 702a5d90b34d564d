#![expect(
    clippy::disallowed_methods,
    reason = "the files are those of a temporary folder"
)]

mod properties;

use std::fs;

use serde_json::json;

use super::*;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn draft(text: &str) -> (tempfile::TempDir, Draft) {
    let folder = folder();
    let path = folder.path().join("c.json");
    fs::write(&path, text).unwrap();
    let draft = Draft::open(&path).unwrap();
    (folder, draft)
}

fn put(text: &str, name: &str, entry: &serde_json::Value) -> String {
    let (_folder, mut draft) = draft(text);
    draft.put_server(name, entry).unwrap();
    draft.text()
}

fn remove(text: &str, name: &str) -> String {
    let (_folder, mut draft) = draft(text);
    assert!(draft.remove_server(name).unwrap());
    draft.text()
}

fn entry() -> serde_json::Value {
    json!({"command": "x", "args": ["a", "b"]})
}

const FILE: &str = "// head
{
    \"mcpServers\": {
        // first
        \"a\": {\"command\": \"x\"}, // behind a
        /* second */ \"b\": {
            \"command\": \"y\" // why
        }
        // tail
    },
    \"other\": [1,2]
}
// foot
";

#[test]
fn a_server_is_added_behind_the_others_in_the_style_of_the_file() {
    assert_eq!(
        put(FILE, "c", &entry()),
        FILE.replace(
            "        }\n        // tail\n",
            "        },\n        // tail\n        \"c\": {\n            \"command\": \"x\",\n            \"args\": [\"a\", \"b\"]\n        }\n"
        )
    );
}

#[test]
fn a_server_is_replaced_and_nothing_around_it_changes() {
    assert_eq!(
        put(FILE, "b", &json!({"command": "z"})),
        FILE.replace(
            "{\n            \"command\": \"y\" // why\n        }",
            "{\n            \"command\": \"z\"\n        }"
        )
    );
    assert_eq!(put(FILE, "a", &json!({"command": "x"})), FILE);
}

#[test]
fn a_server_is_removed_with_its_comma() {
    assert_eq!(
        remove(FILE, "a"),
        FILE.replace(
            "        \"a\": {\"command\": \"x\"}, // behind a\n",
            "        // behind a\n"
        )
    );
    let without_b = remove(FILE, "b");
    assert!(
        without_b.contains("\"a\": {\"command\": \"x\"} // behind a\n"),
        "{without_b}"
    );
    assert!(without_b.contains("/* second */"));
    assert_eq!(
        remove(r#"{"mcpServers": {"a": {"command": "x"}}}"#, "a"),
        r#"{"mcpServers": {}}"#
    );
    assert_eq!(
        remove(
            "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n  \"b\": {\"command\": \"y\"},\n}}",
            "b"
        ),
        "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n}}"
    );
}

#[test]
fn empty_and_missing_objects_are_filled() {
    let inner = "  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\",\n      \"args\": [\"a\", \"b\"]\n    }\n  }\n";
    let whole = format!("{{\n{inner}}}");
    assert_eq!(put("{}", "a", &entry()), whole);
    assert_eq!(put("{\n}\n", "a", &entry()), format!("{whole}\n"));
    assert_eq!(put("", "a", &entry()), format!("{whole}\n"));
    assert_eq!(
        put("// only a comment", "a", &entry()),
        format!("// only a comment\n{whole}\n")
    );
    assert_eq!(
        put("{\n  // nothing yet\n}\n", "a", &entry()),
        format!("{{\n  // nothing yet\n{inner}}}\n")
    );
    assert_eq!(
        put("{\"a\": 1}", "s", &json!({"command": "x"})),
        r#"{"a": 1, "mcpServers": {"s": {"command": "x"}}}"#
    );
    assert_eq!(
        put("{\"a\": 1,}", "s", &json!({"command": "x"})),
        r#"{"a": 1, "mcpServers": {"s": {"command": "x"}}}"#
    );
}

#[test]
fn line_ends_tabs_trailing_commas_and_a_mark_stay() {
    let text =
        "\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"x\"},\r\n\t},\r\n}\r\n";
    assert_eq!(
        put(text, "b", &entry()),
        "\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"x\"},\r\n\t\t\"b\": {\r\n\t\t\t\"command\": \"x\",\r\n\t\t\t\"args\": [\"a\", \"b\"]\r\n\t\t},\r\n\t},\r\n}\r\n"
    );
}

#[test]
fn a_setting_is_written_typed_and_taken_out() {
    let (_folder, mut draft) = draft("{\n  \"pool\": {\n    \"min\": 1\n  }\n}\n");
    draft.set_setting("pool.max", "8").unwrap();
    draft.set_setting("pool.idleTimeout", "90s").unwrap();
    draft.set_setting("catalog.bias", "a,b").unwrap();
    draft.set_setting("output.json", "yes").unwrap();
    assert_eq!(
        draft.text(),
        "{\n  \"pool\": {\n    \"min\": 1,\n    \"max\": 8,\n    \"idleTimeout\": \"1m30s\"\n  },\n  \"catalog\": {\n    \"bias\": [\"a\", \"b\"]\n  },\n  \"output\": {\n    \"json\": true\n  }\n}\n"
    );
    assert!(draft.unset_setting("pool.min").unwrap());
    assert!(!draft.unset_setting("pool.min").unwrap());
    assert!(
        draft
            .text()
            .starts_with("{\n  \"pool\": {\n    \"max\": 8,\n")
    );
    for (path, text) in [
        ("pool.max", "many"),
        ("pool.mxa", "1"),
        ("paths.configFile", "x"),
    ] {
        assert!(draft.set_setting(path, text).is_err(), "{path}");
    }
}

#[test]
fn a_second_server_of_one_namespace_is_refused() {
    let text = r#"{"mcpServers": {
        "a-b": {"command": "x"},
        "off": {"command": "y", "disabled": true, "mcpx": {"namespace": "z"}}
    }}"#;
    let (_folder, mut draft) = draft(text);
    let error = draft.put_server("a_b", &entry()).unwrap_err().to_string();
    assert!(
        error.contains(
            "c.json: the new server `a_b` would have the namespace `a_b`, and `a-b` has it"
        ),
        "{error}"
    );
    draft.put_server("a-b", &entry()).unwrap();
    draft.put_server("z", &entry()).unwrap();
    let mut named = entry();
    named["mcpx"] = json!({"namespace": "c"});
    draft.put_server("a_b", &named).unwrap();
}

#[cfg(unix)]
#[test]
fn a_read_only_file_stays_as_it_is() {
    let (folder, mut draft) = draft(FILE);
    let path = folder.path().join("c.json");
    let mut mode = fs::metadata(&path).unwrap().permissions();
    mode.set_readonly(true);
    fs::set_permissions(&path, mode).unwrap();
    draft.put_server("c", &entry()).unwrap();
    let error = draft.save().unwrap_err().to_string();
    assert!(
        error.ends_with("cannot be written: it is read-only"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), FILE);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_entry_that_would_not_load_is_refused() {
    let (_folder, mut draft) = draft("{}");
    let error = draft
        .put_server("a", &json!({"args": []}))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the new server `a`: nothing that says how it is reached"),
        "{error}"
    );
    assert!(
        draft
            .put_server("a", &json!({"command": "x", "mcpx": {"maxx": 1}}))
            .is_err()
    );
    assert!(!draft.is_changed());
}

#[test]
fn a_file_that_does_not_parse_is_not_touched() {
    let folder = folder();
    let path = folder.path().join("c.json");
    for text in ["{", "[]", "{\"a\": 1, \"a\": 2}"] {
        fs::write(&path, text).unwrap();
        assert!(Draft::open(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::write(&path, "{\"mcpServers\": []}").unwrap();
    assert!(
        Draft::open(&path)
            .unwrap()
            .put_server("a", &entry())
            .is_err()
    );
}

#[test]
fn saving_keeps_the_old_content_and_makes_what_is_missing() {
    let folder = folder();
    let path = folder.path().join("sub/c.json");
    let mut draft = Draft::open(&path).unwrap();
    draft.put_server("a", &entry()).unwrap();
    let saved = draft.save().unwrap();
    assert_eq!((saved.backup, saved.is_changed), (None, true));
    let first = fs::read_to_string(&path).unwrap();

    let mut draft = Draft::open(&path).unwrap();
    assert_eq!(draft.servers().unwrap(), [("a".to_owned(), entry())]);
    draft.put_server("a", &entry()).unwrap();
    assert!(!draft.save().unwrap().is_changed);
    draft.remove_server("a").unwrap();
    let saved = draft.save().unwrap();
    assert_eq!(fs::read_to_string(saved.backup.unwrap()).unwrap(), first);
    let names: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_file_that_was_changed_meanwhile_is_not_overwritten() {
    let (folder, mut draft) = draft("{}");
    let path = folder.path().join("c.json");
    draft.put_server("a", &entry()).unwrap();
    fs::write(&path, "{ }").unwrap();
    assert!(matches!(draft.save(), Err(WriteError::Changed { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{ }");
    fs::remove_file(&path).unwrap();
    assert!(matches!(draft.save(), Err(WriteError::Changed { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn of_many_that_change_one_file_at_once_none_is_lost() {
    let folder = folder();
    let path = folder.path().join("c.json");
    fs::write(&path, "{}").unwrap();
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            let path = &path;
            scope.spawn(move || {
                loop {
                    let mut draft = Draft::open(path).unwrap();
                    draft.put_server(name, &entry()).unwrap();
                    match draft.save() {
                        Ok(saved) => return assert!(saved.is_changed),
                        Err(WriteError::Changed { .. }) => std::thread::yield_now(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(Draft::open(&path).unwrap().servers().unwrap().len(), 8);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn the_mode_stays_a_link_stays_and_a_new_file_is_the_persons_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let (real, link) = (
        folder.path().join("real.json"),
        folder.path().join("link.json"),
    );
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real.json", &link).unwrap();
    let mut draft = Draft::open(&link).unwrap();
    draft.put_server("a", &entry()).unwrap();
    let backup = draft.save().unwrap().backup.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!((mode(&real), mode(&backup)), (0o640, 0o640));

    let new = folder.path().join("new.json");
    init(&new, false).unwrap();
    assert_eq!(mode(&new), 0o600);
}

#[test]
fn the_configuration_to_begin_with_loads_and_is_not_written_over() {
    let folder = folder();
    let path = folder.path().join("c.json");
    init(&path, false).unwrap();
    assert!(matches!(init(&path, false), Err(WriteError::Exists { .. })));
    assert!(init(&path, true).unwrap().backup.is_some());
    let surroundings = Surroundings {
        cwd: folder.path().to_owned(),
        env: [("HOME".to_owned(), "/h".to_owned())].into_iter().collect(),
        home: None,
        exe: PathBuf::new(),
    };
    let choice = crate::Choice {
        config_file: Some(path),
        ..crate::Choice::default()
    };
    let config = crate::load(&surroundings, &choice, &crate::Trust::none()).unwrap();
    assert!(config.servers.values().all(crate::Server::is_ready));
    assert!(config.unknown_keys.is_empty() && config.warnings.is_empty());
}
