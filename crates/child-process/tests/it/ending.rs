//! Whatever a program starts, nothing of it is left, and nothing keeps a call from returning.

use std::{
    future::pending,
    time::{Duration, Instant},
};

use child_process::{Exit, Stdin};

use crate::world::{limits, lives, pids, run, run_for, shell, wait_until};

/// Checks how a line ends by itself, that it ends soon, and that every process it names is gone.
async fn check(line: &str, exit: Exit, left_behind: usize) {
    let begun = Instant::now();
    let (ended, out, _) = run(shell(line)).await;
    assert_eq!(
        (ended.exit, ended.left_behind.count),
        (exit, left_behind),
        "{line}: {ended:?}"
    );
    assert_eq!(ended.survivors, [0_i32; 0], "{line}");
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{line}: {:?}",
        begun.elapsed()
    );
    for pid in pids(&out) {
        assert!(!lives(pid), "{line}: {pid} is left");
    }
}

#[tokio::test]
async fn a_program_ends_with_its_code_or_signal() {
    check("exit 0", Exit::Code(0), 0).await;
    check("exit 42", Exit::Code(42), 0).await;
    check("kill -SEGV $$", Exit::Signal(11), 0).await;
    check("kill -9 $$", Exit::Signal(9), 0).await;
}

#[tokio::test]
async fn background_jobs_end_with_their_shell() {
    check("sleep 1000 & echo $!", Exit::Code(0), 1).await;
    check("sleep 1000 >/dev/null 2>&1 & echo $!", Exit::Code(0), 1).await;
    check("nohup sleep 1000 2>/dev/null & echo $!", Exit::Code(0), 1).await;
    check(
        "(sleep 1000 & echo $!; sleep 1000 & echo $!); exit 3",
        Exit::Code(3),
        2,
    )
    .await;
}

#[tokio::test]
async fn what_was_left_is_named() {
    let (ended, _, _) = run(shell(
        "sleep 1000 & setsid sleep 2000 & (sleep 3000 &) ; wait -n %3",
    ))
    .await;
    let mut names = ended.left_behind.names;
    names.sort();
    assert_eq!(names, ["sleep 1000", "sleep 2000", "sleep 3000"]);
    let (ended, _, _) = run(shell("for i in {1..20}; do sleep 1000 & done")).await;
    assert_eq!(
        (ended.left_behind.count, ended.left_behind.names.len()),
        (20, 8)
    );
}

#[tokio::test]
async fn zombies_keep_nothing_waiting_and_are_not_counted() {
    let line = "python3 -c 'import os, time\n\
                for i in range(50):\n  if os.fork() == 0: os._exit(0)\n\
                time.sleep(0.1)'";
    check(line, Exit::Code(0), 0).await;
}

#[tokio::test]
async fn what_left_the_session_ends_too() {
    check("setsid sleep 1000 & echo $!", Exit::Code(0), 1).await;
    check(
        "setsid -f bash -c 'echo $$; exec sleep 1000' >&1; sleep 0.2",
        Exit::Code(0),
        1,
    )
    .await;
    check(
        "(setsid bash -c 'echo $$; setsid sleep 1000 & echo $!; wait' &) ; sleep 0.3",
        Exit::Code(0),
        2,
    )
    .await;
}

#[tokio::test]
async fn what_ignores_being_asked_is_killed() {
    check(
        "trap '' TERM HUP INT; sleep 1000 & echo $!",
        Exit::Code(0),
        1,
    )
    .await;
    check(
        "bash -c 'kill -STOP $$' & echo $!; sleep 0.1",
        Exit::Code(0),
        1,
    )
    .await;
}

#[tokio::test]
async fn a_deadline_ends_the_whole_tree() {
    for line in [
        "echo $$; sleep 1000 & echo $!; wait",
        "trap '' TERM; echo $$; while :; do sleep 0.01; done",
        "echo $$; setsid sleep 1000 & echo $!; wait",
        "echo $$; kill -STOP $$",
        "echo $$; env -i setsid sleep 1000 & echo $!; wait",
    ] {
        let (ended, out, _) = run_for(shell(line), Duration::from_millis(300)).await;
        assert_eq!(
            (ended.exit, ended.survivors.as_slice()),
            (Exit::TimedOut, [].as_slice()),
            "{line}"
        );
        assert!(
            ended.elapsed < Duration::from_secs(3),
            "{line}: {:?}",
            ended.elapsed
        );
        for pid in pids(&out) {
            assert!(!lives(pid), "{line}: {pid} is left");
        }
    }
}

#[tokio::test]
async fn a_flood_of_output_does_not_hide_a_deadline() {
    let mut bytes = 0_u64;
    let begun = Instant::now();
    let ended = shell("yes")
        .run(
            limits(Duration::from_millis(200)),
            pending(),
            &mut |_, chunk| bytes += chunk.len() as u64,
        )
        .await
        .unwrap();
    assert_eq!(ended.exit, Exit::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert!(bytes > 0);
}

#[tokio::test]
async fn a_cancelled_program_ends_with_its_tree() {
    let (started, starts) = tokio::sync::oneshot::channel();
    let mut started = Some(started);
    let mut out = Vec::new();
    let mut sink = |_: child_process::Pipe, bytes: &[u8]| {
        out.extend_from_slice(bytes);
        if out.ends_with(b"\n")
            && let Some(started) = started.take()
        {
            started.send(()).unwrap();
        }
    };
    let cancel = async {
        starts.await.unwrap();
    };
    let ended = shell("sleep 1000 & echo $$ $!; wait")
        .run(limits(Duration::from_secs(20)), cancel, &mut sink)
        .await
        .unwrap();
    assert_eq!(ended.exit, Exit::Cancelled);
    for pid in pids(std::str::from_utf8(&out).unwrap()) {
        assert!(!lives(pid), "{pid} is left");
    }
}

#[tokio::test]
async fn a_dropped_run_kills_its_tree() {
    let (say, mut said) = tokio::sync::mpsc::unbounded_channel::<Vec<u8>>();
    let task = tokio::spawn(async move {
        let mut sink = |_: child_process::Pipe, bytes: &[u8]| {
            let _gone = say.send(bytes.to_vec());
        };
        let line = "trap '' TERM; setsid sleep 1000 & echo $$ $!; wait";
        shell(line)
            .run(limits(Duration::from_secs(20)), pending(), &mut sink)
            .await
            .unwrap();
    });
    let text = String::from_utf8(said.recv().await.unwrap()).unwrap();
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    for pid in pids(&text) {
        wait_until("the tree is gone", || !lives(pid));
    }
}

#[tokio::test]
async fn a_running_program_is_ended_by_its_owner() {
    let mut running = shell("sleep 1000 & cat; wait")
        .stdin(Stdin::Pipe)
        .start()
        .await
        .unwrap();
    let id = running.id();
    assert!(running.stdin.is_some() && running.stdout.is_some() && lives(id));
    assert!(
        tokio::time::timeout(Duration::from_millis(20), running.wait())
            .await
            .is_err()
    );
    assert_eq!(running.end(Duration::from_millis(300)).await, [0_i32; 0]);
    assert!(!lives(id));
}

#[tokio::test]
async fn a_fork_bomb_that_leaves_the_session_is_ended() {
    // Bounded by itself, so that a failure here does not take the machine with it.
    let line = "f() { for i in 1 2 3; do setsid bash -c 'sleep 1000 & sleep 1000 & wait' & done; }; f; f; wait";
    let (ended, _, _) = run_for(shell(line), Duration::from_millis(400)).await;
    assert_eq!(
        (ended.exit, ended.survivors.as_slice()),
        (Exit::TimedOut, [].as_slice())
    );
}
