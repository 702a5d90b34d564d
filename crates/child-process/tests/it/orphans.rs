//! Processes that did everything to get away.

use std::time::Duration;

use child_process::{Exit, adopt_orphans};

use crate::world::{lives, pids, run, run_for, shell, wait_until};

#[tokio::test]
async fn an_orphan_without_session_or_environment_is_adopted_and_ended() {
    assert!(adopt_orphans());
    let line = "(env -i setsid bash -c 'echo $$; exec sleep 1000' &); sleep 0.2";
    let (ended, out, _) = run(shell(line)).await;
    assert_eq!((ended.exit, ended.left_behind), (Exit::Code(0), 1));
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
    assert!(adopt_orphans());
    let other = shell("setsid sleep 1000 & echo $!; sleep 1000")
        .start()
        .await
        .unwrap();
    let (ended, _, _) = run_for(shell("sleep 1000"), Duration::from_millis(100)).await;
    assert_eq!((ended.exit, ended.left_behind), (Exit::TimedOut, 0));
    assert!(lives(other.id()));
    assert_eq!(other.end(Duration::from_millis(300)).await, [0_i32; 0]);
}
