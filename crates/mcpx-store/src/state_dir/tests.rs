use std::time::Duration;

use super::*;

fn now() -> jiff::Timestamp {
    jiff::Timestamp::from_second(1_790_000_000).unwrap()
}

#[cfg(unix)]
#[test]
fn a_directory_is_made_for_its_owner_and_one_that_is_open_to_others_is_closed() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = testkit::TempHome::new();
    let root = home.path().join("a/b/state");
    let state = StateDir::open(&root).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&root), 0o700);
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
    StateDir::open(&root).unwrap();
    assert_eq!(mode(&root), 0o700);
    replace(&state.path("x/file.json"), &[b"1", b"2"]).unwrap();
    assert_eq!(mode(&state.path("x")), 0o700);
    assert_eq!(mode(&state.path("x/file.json")), 0o600);
    assert_eq!(read(&state.path("x/file.json"), 2).unwrap().unwrap(), b"12");
    // Nothing of the making is left.
    assert_eq!(entries(&root), [state.path("x")]);
    assert_eq!(entries(&state.path("x")), [state.path("x/file.json")]);
}

#[test]
fn a_directory_that_cannot_be_is_refused_with_what_to_do() {
    let home = testkit::TempHome::new();
    let file = home.write("file", "");
    for root in [file.clone(), file.join("below")] {
        let error = StateDir::open(&root).unwrap_err().to_string();
        assert!(error.contains("cannot create"), "{error}");
        assert!(error.contains(&file.display().to_string()), "{error}");
        assert!(
            error.contains("hint: a file lies where a folder"),
            "{error}"
        );
    }
}

#[test]
fn a_file_over_its_limit_is_not_read() {
    let home = testkit::TempHome::new();
    let path = home.write("file", "12345");
    assert_eq!(read(&path, 5).unwrap().unwrap().len(), 5);
    let error = read(&path, 4).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::TooLarge {
                bytes: 5,
                max: 4,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(read(&home.path().join("none"), 4).unwrap(), None);
}

#[test]
fn a_name_leads_nowhere_else() {
    for name in ["a", "daemon-0a.1_B", &"x".repeat(128)] {
        assert_eq!(checked_name("key", name).unwrap(), name);
    }
    for name in [
        "",
        ".",
        "..",
        "../a",
        "a/b",
        "a\\b",
        "a\0",
        "ä",
        "a b",
        ".tmp",
        &"x".repeat(129),
    ] {
        assert!(checked_name("key", name).is_err(), "{name:?}");
    }
}

#[test]
fn what_a_killed_process_left_half_written_is_swept_when_it_is_old() {
    let home = testkit::TempHome::new();
    let state = StateDir::open(home.path().join("state")).unwrap();
    private_dir(&state.path("logs")).unwrap();
    private_dir(&state.path("tasks/k1")).unwrap();
    for name in [
        ".a.json.0f.tmp",
        "tasks/k1/.b.tmp",
        "kept.tmp",
        "logs/.kept",
    ] {
        fs::write(state.path(name), "half").unwrap();
    }
    let written = jiff::Timestamp::try_from(
        fs::metadata(state.path("kept.tmp"))
            .unwrap()
            .modified()
            .unwrap(),
    )
    .unwrap();
    assert_eq!(state.sweep(written), 0);
    let later = written + KEEP_TEMPORARY + Duration::from_secs(60);
    assert_eq!(state.sweep(later), 2);
    assert!(state.path("kept.tmp").exists() && state.path("logs/.kept").exists());
}

#[test]
fn a_broken_file_is_set_aside_under_its_date() {
    let home = testkit::TempHome::new();
    let path = home.write("a.json", "x");
    let aside = set_aside(&path, now()).unwrap();
    assert_eq!(aside.file_name().unwrap(), "a.json.broken-20260921T141320Z");
    assert!(!path.exists() && aside.exists());
}

#[test]
fn a_file_that_is_appended_to_does_not_grow_without_end() {
    let home = testkit::TempHome::new();
    let state = StateDir::open(home.path().join("state")).unwrap();
    let append = |text: &str| {
        state
            .append("daemon.log", 8)
            .unwrap()
            .write_all(text.as_bytes())
    };
    append("one\n").unwrap();
    append("two\nthree\n").unwrap();
    assert_eq!(state.tail("daemon.log", 100), "one\ntwo\nthree\n");
    assert_eq!(state.tail("daemon.log", 8), "three\n");
    append("four\n").unwrap();
    assert_eq!(state.tail("daemon.log", 100), "four\n");
    assert_eq!(state.tail("daemon.log.old", 100), "one\ntwo\nthree\n");
    assert_eq!(state.tail("none", 100), "");
    assert!(state.append("../x", 8).is_err());
}
