use super::*;

fn child(pid: u32) -> Child {
    Child {
        pid,
        process_started: Some(u64::from(pid) * 10),
        nonce: format!("n{pid}"),
        server: "files".to_owned(),
        command: "/usr/bin/files-server".to_owned(),
        at: Timestamp::from_second(1_790_000_000).unwrap(),
    }
}

fn state() -> (testkit::TempHome, StateDir) {
    let home = testkit::TempHome::new();
    let state = StateDir::open(home.path().join("state")).unwrap();
    (home, state)
}

fn pids(children: &[Child]) -> Vec<u32> {
    children.iter().map(|child| child.pid).collect()
}

#[test]
fn what_a_living_daemon_started_is_not_left() {
    let (_home, state) = state();
    let mut children = Children::open(&state, "d1").unwrap();
    children.started(child(11)).unwrap();
    assert!(left(&state).is_empty());
    assert_eq!(children.running().count(), 1);
}

#[test]
fn what_a_killed_daemon_did_not_end_is_found_by_the_next_one_alone() {
    let (_home, state) = state();
    let mut children = Children::open(&state, "d1").unwrap();
    for pid in [11, 12, 13] {
        children.started(child(pid)).unwrap();
    }
    children.ended(12).unwrap();
    // A killed process gives its locks back and cleans nothing up.
    drop(children);
    let mut next = Children::open(&state, "d2").unwrap();
    next.started(child(21)).unwrap();
    let found = left(&state);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].children, [child(11), child(13)]);
    // While one looks after it, no other does.
    assert!(left(&state).is_empty());
    for one in found {
        one.forget().unwrap();
    }
    assert!(left(&state).is_empty());
    assert_eq!(pids(&next.running().cloned().collect::<Vec<_>>()), [21]);
}

#[test]
fn a_daemon_that_ended_everything_leaves_nothing() {
    let (_home, state) = state();
    let mut children = Children::open(&state, "d1").unwrap();
    children.started(child(11)).unwrap();
    children.ended(11).unwrap();
    children.close().unwrap();
    assert!(entries(&state.path("children")).is_empty());
    let mut children = Children::open(&state, "d2").unwrap();
    children.started(child(11)).unwrap();
    children.close().unwrap();
    assert_eq!(left(&state).len(), 1);
}

#[test]
fn a_torn_last_line_costs_itself_and_is_told() {
    let (_home, state) = state();
    let mut children = Children::open(&state, "d1").unwrap();
    children.started(child(11)).unwrap();
    drop(children);
    let path = state.path("children/d1.jsonl");
    let mut text = fs::read(&path).unwrap();
    text.extend_from_slice(b"{\"started\":{\"pid\":12,");
    fs::write(&path, text).unwrap();
    let found = left(&state);
    assert_eq!(pids(&found[0].children), [11]);
    assert!(
        found[0]
            .problem
            .as_ref()
            .unwrap()
            .reason
            .contains("1 of its lines")
    );
}

#[test]
fn a_long_life_does_not_make_a_long_file() {
    let (_home, state) = state();
    let mut children = Children::open(&state, "d1").unwrap();
    children.started(child(1)).unwrap();
    let mut longest = 0;
    for pid in 0..12_000 {
        children.started(child(100_000 + pid)).unwrap();
        children.ended(100_000 + pid).unwrap();
        longest = longest.max(children.lines);
    }
    assert!(longest <= LINES_BEFORE_REWRITE + 1, "{longest}");
    // The new file is locked as the old one was.
    assert!(left(&state).is_empty());
    drop(children);
    assert_eq!(pids(&left(&state)[0].children), [1]);
}
