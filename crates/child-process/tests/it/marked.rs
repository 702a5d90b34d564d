//! What is found by a mark, what is ended, and what is left alone because nobody can prove whose it is.

use std::{fs, path::Path, process::Stdio, time::Duration};

use child_process::{Found, Identity, Mark, Program, mark::EndLimits};

use crate::world::{is_alone_within, lives, pids, shell, wait_until};

/// Short limits: what does not end when asked is killed soon.
pub(crate) const SHORT: EndLimits = EndLimits {
    grace: Duration::from_millis(300),
    deadline: Duration::from_secs(20),
};

/// A server with all that servers do to get away. Each process prints its id, seven in all, then `ready`:
/// - the program itself, a wrapper that waits,
/// - the server that it starts through another shell,
/// - a browser that leaves the session by a double fork,
/// - one that does not hear that it is asked to end,
/// - one that is stopped,
/// - one that cleared its environment, held by its parent,
/// - one that cleared its environment and lost its parent, held by its session.
pub(crate) const SERVER: &str = "
    echo $$
    sh -c 'echo $$; exec sleep 1001' &
    sh -c 'setsid sh -c \"echo \\$\\$; exec sleep 1002\" & exit'
    bash -c 'trap \"\" TERM; echo $BASHPID; while :; do sleep 1003; done' &
    sh -c 'echo $$; kill -STOP $$; sleep 1004' &
    env -i bash -c 'echo $$; sleep 1005 & wait' &
    (env -i bash -c 'echo $$; exec sleep 1006' &)
    wait";

/// How many processes of [`SERVER`] say who they are.
pub(crate) const SAID: usize = 7;

pub(crate) fn mark(name: &str) -> Mark {
    Mark::new(&format!("test-{name}-{:010}", std::process::id())).unwrap()
}

pub(crate) fn found(mark: &Mark) -> Vec<i32> {
    let found = mark.find().unwrap();
    found.iter().map(|found| found.identity.pid).collect()
}

/// A program that writes its output to a file.
pub(crate) fn shell_into(line: &str, file: &Path) -> Program {
    shell(&format!("exec >{}\n{line}", file.display()))
}

/// Waits until a file names so many processes, and returns them.
pub(crate) fn said(file: &Path, count: usize) -> Vec<i32> {
    let lines = || fs::read_to_string(file).unwrap_or_default();
    wait_until("every process said who it is", || {
        lines().ends_with('\n') && lines().lines().count() == count
    });
    pids(&lines())
}

#[tokio::test]
async fn everything_below_a_marked_program_is_found_and_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mark = mark("below");
    let file = dir.path().join("said");
    let running = shell_into(SERVER, &file)
        .mark(mark.clone())
        .start()
        .await
        .unwrap();
    let said = said(&file, SAID);
    let all = found(&mark);
    assert!(all.is_sorted() && all.contains(&running.id()), "{all:?}");
    for pid in &said {
        assert!(all.contains(pid), "{pid} of {said:?} is not in {all:?}");
    }
    let commands = |found: &[Found]| {
        let commands = found.iter().map(|found| found.command.clone());
        let mut sleeps: Vec<_> = commands.filter(|line| line.starts_with("sleep")).collect();
        sleeps.sort();
        sleeps
    };
    let sleeps = [1001, 1002, 1003, 1005, 1006].map(|number| format!("sleep {number}"));
    wait_until("all but the stopped one sleep", || {
        commands(&mark.find().unwrap()) == sleeps
    });

    let ended = mark.end(SHORT).unwrap();
    assert_eq!(ended.survivors, []);
    assert_eq!(commands(&ended.ended), sleeps);
    for pid in said {
        assert!(!lives(pid), "{pid} is left");
    }
    assert_eq!(mark.find().unwrap(), []);
    assert_eq!(running.end(Duration::ZERO).await, [0_i32; 0]);
}

#[tokio::test]
async fn what_can_end_when_asked_is_not_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (mark, file) = (mark("asked"), dir.path().join("said"));
    let line = "trap 'echo bye; exit' TERM; echo $$; while :; do sleep 1000 & wait; done";
    let mut running = shell_into(line, &file)
        .mark(mark.clone())
        .start()
        .await
        .unwrap();
    said(&file, 1);
    let limits = EndLimits {
        grace: Duration::from_secs(10),
        deadline: Duration::from_secs(30),
    };
    assert_eq!(mark.end(limits).unwrap().survivors, []);
    assert_eq!(running.wait().await.unwrap().code(), Some(0));
    assert!(fs::read_to_string(&file).unwrap().ends_with("bye\n"));
}

#[tokio::test]
async fn what_starts_others_while_it_is_ended_ends_with_them() {
    let dir = tempfile::tempdir().unwrap();
    let (mark, file) = (mark("others"), dir.path().join("said"));
    let line =
        "trap '' TERM; echo $$; for i in {1..100000}; do setsid sleep 1000 & sleep 0.01; done";
    let running = shell_into(line, &file)
        .mark(mark.clone())
        .start()
        .await
        .unwrap();
    wait_until("it starts others", || found(&mark).len() > 5);
    let ended = mark.end(SHORT).unwrap();
    assert_eq!(ended.survivors, []);
    assert!(ended.ended.len() > 5);
    assert_eq!(mark.find().unwrap(), []);
    drop(running);
}

/// As the tree does it: no owner can prove whose such a process is once its line is broken, so none may end it.
#[tokio::test]
async fn what_cleared_its_environment_and_left_its_session_and_lost_its_parent_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (mark, file) = (mark("cleared"), dir.path().join("said"));
    let line = "(env -i setsid bash -c 'echo $$; exec sleep 1000' &)";
    let mut running = shell_into(line, &file)
        .mark(mark.clone())
        .start()
        .await
        .unwrap();
    let [orphan] = said(&file, 1)[..] else {
        panic!("one")
    };
    running.wait().await.unwrap();
    wait_until("it lost its parent", || parent(orphan) != running.id());
    assert_eq!(mark.find().unwrap(), []);
    assert_eq!(mark.end(SHORT).unwrap().ended, []);
    assert!(lives(orphan));
    end_own(orphan);
}

#[tokio::test]
async fn two_owners_end_only_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (mark("one"), mark("two"));
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    // Below one's program run another owner's, and one that is to be nobody's.
    let line = format!(
        "echo $$; CHILD_PROCESS_OWNER={} sh -c 'echo $$; exec sleep 1000' &
         CHILD_PROCESS_OWNER= sh -c 'echo $$; exec sleep 1000' & wait",
        two.as_str()
    );
    let ones = shell_into(&line, &first)
        .mark(one.clone())
        .start()
        .await
        .unwrap();
    let twos = shell_into("echo $$; sleep 1000; :", &second)
        .mark(two.clone())
        .start()
        .await
        .unwrap();
    let below = said(&first, 3);
    said(&second, 1);
    wait_until("each has its own", || {
        found(&one) == [ones.id()] && found(&two).len() == 3
    });
    let ended = one.end(SHORT).unwrap();
    assert_eq!(ended.ended.len(), 1, "{ended:?}");
    let left = found(&two);
    assert_eq!(left.len(), 3);
    assert!(left.contains(&twos.id()));
    assert!(below.iter().filter(|&&pid| lives(pid)).count() == 2);
    assert_eq!(two.end(SHORT).unwrap().survivors, []);
    let nobodys = below.into_iter().filter(|&pid| lives(pid));
    for pid in nobodys {
        end_own(pid);
    }
}

#[tokio::test]
async fn a_mark_goes_through_an_allowlist_but_not_over_another() {
    let (outer, inner) = (mark("outer"), mark("inner"));
    let from = [
        (child_process::mark::VARIABLE.into(), outer.as_str().into()),
        ("SECRET".into(), "x".into()),
    ];
    let env = child_process::Env::allowlisted(&from.into());
    let printed = |program: Program| async {
        crate::world::run(program.env(env.clone()))
            .await
            .1
            .contains(&format!("CHILD_PROCESS_OWNER={}\n", outer.as_str()))
    };
    assert!(printed(Program::new("/usr/bin/env")).await);
    assert!(!printed(Program::new("/usr/bin/env").mark(inner)).await);
}

#[tokio::test]
async fn what_is_to_live_on_is_nobodys() {
    let dir = tempfile::tempdir().unwrap();
    let mark = mark("lives-on");
    let env = [
        (child_process::mark::VARIABLE.into(), mark.as_str().into()),
        ("PATH".into(), "/usr/bin:/bin".into()),
    ];
    let detached = child_process::Detached {
        program: "sleep".into(),
        args: vec!["1000".into()],
        env: env.into(),
        cwd: dir.path().to_owned(),
    };
    let pid = detached.start(&dir.path().join("output")).unwrap();
    let pid = i32::try_from(pid).unwrap();
    assert_eq!(mark.end(SHORT).unwrap().ended, []);
    assert!(lives(pid));
    end_own(pid);
}

const IN_A_NAMESPACE: &[&str] = &["unshare", "--pid", "--fork", "--mount-proc"];

/// The id of a process that was recorded belongs to another one by now. Where ids can be chosen: in a namespace.
#[tokio::test]
async fn a_recorded_id_that_was_given_again_is_not_touched() {
    let can = std::process::Command::new("unshare")
        .args(&IN_A_NAMESPACE[1..])
        .args(["sh", "-c", "echo 100 > /proc/sys/kernel/ns_last_pid"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("not tested: process ids cannot be chosen here");
        return;
    }
    if !is_alone_within(
        "marked::a_recorded_id_that_was_given_again_is_not_touched",
        IN_A_NAMESPACE,
    ) {
        return;
    }
    let mark = mark("again");
    let running = shell("exec sleep 1000")
        .mark(mark.clone())
        .start()
        .await
        .unwrap();
    let recorded = Identity::of(running.id()).unwrap();
    // What is just being started shows no environment for a moment.
    wait_until("it is found", || found(&mark) == [recorded.pid]);
    running.end(Duration::ZERO).await;
    let mut other = given(recorded);
    let now = Identity::of(recorded.pid).unwrap();
    assert_ne!(now, recorded);
    assert_eq!((recorded.lives(), now.lives()), (Some(false), Some(true)));
    assert_eq!(mark.end(SHORT).unwrap().ended, []);
    assert!(lives(recorded.pid));
    other.kill().unwrap();
    other.wait().unwrap();
}

/// Starts a process of nobody's that is given the id of another one, in a later tick than that one. Only who chooses ids
/// can have one given twice in a tick: otherwise all the others come first.
fn given(id: Identity) -> std::process::Child {
    let mut other = None;
    for _ in 0..1000 {
        fs::write("/proc/sys/kernel/ns_last_pid", (id.pid - 1).to_string()).unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        if pid == id.pid && Identity::of(pid) != Some(id) {
            other = Some(child);
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    other.unwrap()
}

fn parent(pid: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit(')').next().unwrap();
    rest.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Ends a process that only this test knows.
fn end_own(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_process_that_looks_for_its_owners_others_does_not_find_itself() {
    let mark = mark("itself");
    let test = "marked::a_process_that_looks_for_its_owners_others_does_not_find_itself";
    if let Some(nonce) = std::env::var_os(child_process::mark::VARIABLE) {
        let mark = Mark::new(nonce.to_str().unwrap()).unwrap();
        assert_eq!(mark.end(SHORT).unwrap(), Default::default());
        return;
    }
    let program = Program::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .mark(mark);
    let (ended, out, _) = crate::world::run(program).await;
    assert_eq!(ended.exit, child_process::Exit::Code(0), "{out}");
    assert!(out.contains("1 passed"), "{out}");
}
