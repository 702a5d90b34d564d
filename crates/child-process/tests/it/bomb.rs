//! Programs that fork without end are killed at their limit. Each test is a process of its own, with a deadline of its
//! own, and a small limit: where the limit does not hold, the deadline does.

use std::{fs, future::pending, time::Duration};

use child_process::{Ended, Exit, adopt_orphans};

use crate::world::{is_alone, is_alone_within, shell};

/// Runs a bomb under a small limit.
async fn explode(line: &str) -> Ended {
    let _turn = turn();
    shell(line)
        .max_processes(200)
        .run(
            crate::world::limits(Duration::from_secs(10)),
            pending(),
            &mut |_, _| {},
        )
        .await
        .unwrap()
}

/// Waits until no other test of this user runs a bomb: where the limit is the user's, each would count for all.
fn turn() -> fs::File {
    let user = rustix::process::geteuid().as_raw();
    let path = std::env::temp_dir().join(format!("child-process-bombs.{user}.lock"));
    let file = fs::File::create(path).unwrap();
    file.lock().unwrap();
    file
}

async fn check(line: &str) {
    let ended = explode(line).await;
    assert_eq!(
        (ended.exit, ended.survivors.as_slice()),
        (Exit::TooMany, [].as_slice()),
        "{line}"
    );
    assert!(ended.elapsed < Duration::from_secs(9), "{line}: {ended:?}");
}

#[tokio::test]
async fn a_fork_bomb_is_killed_at_its_limit() {
    if !is_alone("bomb::a_fork_bomb_is_killed_at_its_limit") {
        return;
    }
    assert!(adopt_orphans());
    check_usual_bombs().await;
}

/// Takes the control groups out of sight, in a namespace of its own, and becomes the program that follows.
const WITHOUT_GROUPS: &[&str] = &[
    "unshare",
    "--mount",
    "--propagation=private",
    "sh",
    "-c",
    "umount -l /sys/fs/cgroup && exec \"$@\"",
    "sh",
];

#[tokio::test]
async fn a_fork_bomb_of_root_without_control_groups_is_killed_at_its_limit() {
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    if !rustix::process::geteuid().is_root() || !mounts().contains(" /sys/fs/cgroup ") {
        eprintln!("not tested: only root without control groups is watched");
        return;
    }
    if !is_alone_within(
        "bomb::a_fork_bomb_of_root_without_control_groups_is_killed_at_its_limit",
        WITHOUT_GROUPS,
    ) {
        return;
    }
    assert!(adopt_orphans());
    assert!(!mounts().contains(" - cgroup"), "{}", mounts());
    check_usual_bombs().await;
    check(LEAVES_ITS_SESSION).await;
    let ended = explode("for i in {1..120}; do sleep 0.3 & done; wait").await;
    assert_eq!(ended.exit, Exit::Code(0));
}

async fn check_usual_bombs() {
    check(":(){ :|:& };:; wait; sleep 9").await;
    check("python3 -c 'import os\nwhile True: os.fork()'").await;
    check("perl -e 'fork while 1'").await;
}

const LEAVES_ITS_SESSION: &str =
    "python3 -c 'import os, time\nwhile True:\n  if os.fork() == 0: os.setsid()'";

#[tokio::test]
async fn a_fork_bomb_that_leaves_its_session_is_killed_at_its_limit() {
    if !is_alone("bomb::a_fork_bomb_that_leaves_its_session_is_killed_at_its_limit") {
        return;
    }
    assert!(adopt_orphans());
    check(LEAVES_ITS_SESSION).await;
}

#[tokio::test]
async fn threads_count() {
    if !is_alone("bomb::threads_count") {
        return;
    }
    check(
        "python3 -c 'import threading, time\n\
         for i in range(400): threading.Thread(target=time.sleep, args=(9,)).start()'",
    )
    .await;
}

#[tokio::test]
async fn many_processes_below_the_limit_are_left_alone() {
    if !is_alone("bomb::many_processes_below_the_limit_are_left_alone") {
        return;
    }
    let ended = explode("for i in {1..120}; do sleep 0.3 & done; wait").await;
    assert_eq!(ended.exit, Exit::Code(0));
}
