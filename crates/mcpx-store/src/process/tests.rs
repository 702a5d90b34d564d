#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    reason = "the process here is the tests' own"
)]

use super::*;

#[test]
fn this_process_is_told_from_another_with_its_number() {
    let pid = std::process::id();
    let then = started(pid).unwrap();
    assert_eq!(is_alive(pid, Some(then)), Some(true));
    assert_eq!(is_alive(pid, Some(then + 1)), Some(false));
    assert_eq!(is_alive(pid, None), Some(true));
    assert_eq!(is_alive(0, None), None);
    assert_eq!(is_alive(u32::MAX, None), None);
}

#[test]
fn a_process_that_ended_and_was_not_waited_for_does_not_run() {
    let mut child = std::process::Command::new("sleep")
        .arg("1000")
        .spawn()
        .unwrap();
    let (pid, then) = (child.id(), started(child.id()));
    assert_eq!(is_alive(pid, then), Some(true));
    child.kill().unwrap();
    testkit::wait_until("it ended", std::time::Duration::from_secs(10), || {
        is_alive(pid, then) == Some(false)
    });
    assert_eq!(is_alive(pid, None), Some(false));
    assert!(started(pid).is_some(), "it still has its number");
    child.wait().unwrap();
}

#[test]
fn a_name_with_parentheses_does_not_move_the_fields() {
    let line = b"7 (a) b) (c) S 1 7 7 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
    assert_eq!(parse_started(line), Some(4711));
    assert_eq!(parse_started(b"7 (a"), None);
}
