//! Processes that did everything to get away.

use std::{fs, path::Path, time::Duration};

use child_process::{Exit, adopt_orphans};

use crate::world::{is_alone, lives, pids, run, run_for, shell, wait_until};

#[tokio::test]
async fn an_orphan_without_session_or_environment_is_adopted_and_ended() {
    if !is_alone("orphans::an_orphan_without_session_or_environment_is_adopted_and_ended") {
        return;
    }
    assert!(adopt_orphans());
    let line = "(env -i setsid bash -c 'echo $$; exec sleep 1000' &); sleep 0.2";
    let (ended, out, _) = run(shell(line)).await;
    assert_eq!((ended.exit, ended.left_behind.count), (Exit::Code(0), 1));
    let [orphan] = pids(&out)[..] else {
        panic!("{out}")
    };
    wait_until("the orphan is gone and reaped", || {
        !std::path::Path::new(&format!("/proc/{orphan}")).exists()
    });
    assert!(!lives(orphan));
}

#[tokio::test]
async fn an_orphan_of_another_tree_is_left_to_it() {
    if !is_alone("orphans::an_orphan_of_another_tree_is_left_to_it") {
        return;
    }
    assert!(adopt_orphans());
    let other = shell("setsid sleep 1000 & echo $!; sleep 1000")
        .start()
        .await
        .unwrap();
    let (ended, _, _) = run_for(shell("sleep 1000"), Duration::from_millis(100)).await;
    assert_eq!((ended.exit, ended.left_behind.count), (Exit::TimedOut, 0));
    assert!(lives(other.id()));
    assert_eq!(other.end(Duration::from_millis(300)).await, [0_i32; 0]);
}

/// Tells the test below that it is the process to be killed; its value is the file to write process ids to.
const VICTIM: &str = "CHILD_PROCESS_TEST_VICTIM";

#[tokio::test]
async fn a_killed_owner_takes_its_children_along() {
    if let Some(file) = std::env::var_os(VICTIM) {
        let file = Path::new(&file).display();
        run(shell(&format!(
            "echo $$ > {file}.new; mv {file}.new {file}; exec sleep 1000"
        )))
        .await;
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pids");
    let test = "orphans::a_killed_owner_takes_its_children_along";
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(VICTIM, &file)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the child runs", || file.exists());
    let [child] = pids(&fs::read_to_string(&file).unwrap())[..] else {
        panic!("one child")
    };
    assert!(lives(child));
    victim.kill().unwrap();
    victim.wait().unwrap();
    wait_until("the child is gone", || !lives(child));
}
