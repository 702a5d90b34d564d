#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    reason = "the files and processes here are the tests' own"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use child_process::{Env, Program};
use testkit::wait_until;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that started a browser, which left its session by a double fork and does not hear that it should end.
const SERVER: &str =
    "sh -c 'trap \"\" TERM; setsid sh -c \"while :; do sleep 1; done\" & exit' & sleep 1000; :";

/// The example that is a daemon. Cargo builds examples with the tests of a package.
fn owner() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.ancestors().nth(2).unwrap().join("examples/child_owner");
    assert!(
        program.exists(),
        "{} is missing: cargo build -p mcpx-daemon --examples",
        program.display()
    );
    program
}

fn guard() -> GuardCommand {
    GuardCommand {
        program: owner(),
        args: vec![super::super::guard::WORD.into()],
    }
}

fn nonce() -> String {
    mcpx_store::daemons::nonce().unwrap()
}

async fn begin(state: &Path) -> Begun {
    let state = StateDir::open(state).unwrap();
    let begun = Children::begin(state, nonce(), guard(), NOW).await.unwrap();
    assert!(begun.unguarded.is_none(), "{:?}", begun.unguarded);
    begun
}

/// A daemon in a process of its own, with a server.
struct Daemon {
    process: std::process::Child,
    mark: Mark,
    guardian: u32,
}

fn daemon(state: &Path) -> Daemon {
    let nonce = nonce();
    let said = state.with_extension(&nonce);
    let process = Command::new(owner())
        .args([state, Path::new(&nonce), &said, Path::new(SERVER)])
        .spawn()
        .unwrap();
    let mark = Mark::new(&nonce).unwrap();
    let mut daemon = Daemon {
        process,
        mark: mark.clone(),
        guardian: 0,
    };
    wait_until("the daemon has begun", PATIENCE, || said.exists());
    daemon.guardian = fs::read_to_string(&said).unwrap().parse().unwrap();
    wait_until("the browser runs", PATIENCE, || {
        let found = mark.find().unwrap();
        found.iter().any(|one| one.command == "sleep 1000")
            && found.iter().any(|one| one.command == "sleep 1")
            && !found
                .iter()
                .any(|one| one.command.starts_with("sh -c trap"))
    });
    daemon
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Daemon {
    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

fn files(state: &Path) -> usize {
    fs::read_dir(state.join("children")).unwrap().count()
}

#[tokio::test]
async fn a_killed_daemon_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut daemon = daemon(&dir.path().join("state"));
    daemon.kill();
    wait_until("nothing is left", PATIENCE, || {
        daemon.mark.find().unwrap().is_empty()
    });
    let guardian = i32::try_from(daemon.guardian).unwrap();
    wait_until("the guardian is gone", PATIENCE, || {
        Identity::of(guardian).is_none_or(|one| one.lives() == Some(false))
    });
}

#[tokio::test]
async fn what_a_daemon_and_its_killed_guardian_left_ends_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let (mut dead, mut living) = (daemon(&state), daemon(&state));
    kill(dead.guardian);
    dead.kill();
    let left: Vec<Identity> = dead
        .mark
        .find()
        .unwrap()
        .iter()
        .map(|one| one.identity)
        .collect();
    assert!(!left.is_empty(), "the browser is left");
    let others = living.mark.find().unwrap();

    let begun = begin(&state).await;
    let [leftover] = begun.leftovers.as_slice() else {
        panic!("{:?}", begun.leftovers)
    };
    assert_eq!(leftover.nonce, dead.mark.as_str());
    assert_eq!((leftover.survivors.len(), &leftover.problem), (0, &None));
    assert!(left.iter().all(|one| one.lives() == Some(false)));
    // The other daemon, its server and its browser go on.
    assert!(others.iter().any(|one| one.identity.lives() == Some(true)));
    assert!(living.mark.find().unwrap().len() >= 3);
    assert_eq!(files(&state), 2);
    assert_eq!(begun.children.end().await, []);

    living.kill();
    wait_until("nothing is left", PATIENCE, || {
        living.mark.find().unwrap().is_empty()
    });
    assert_eq!(begin(&state).await.leftovers, []);
}

#[tokio::test]
async fn a_recorded_process_id_that_means_another_process_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(dir.path().join("state")).unwrap();
    let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
    let old = nonce();
    let mut file = children::Children::open(&state, &old).unwrap();
    file.started(Child {
        pid: other.id(),
        process_started: Identity::of(other.id().try_into().unwrap()).map(|one| one.started),
        nonce: old,
        server: "fs".to_owned(),
        command: "sleep".to_owned(),
        at: NOW,
    })
    .unwrap();
    // Its daemon is gone: nobody holds the lock.
    drop(file);
    let begun = begin(state.root()).await;
    assert_eq!(begun.leftovers, []);
    assert_eq!(other.try_wait().unwrap(), None);
    assert_eq!(files(state.root()), 1);
    begun.children.end().await;
    other.kill().unwrap();
    other.wait().unwrap();
}

#[tokio::test]
async fn an_orderly_end_leaves_neither_a_process_nor_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let begun = begin(dir.path()).await;
    let children = begun.children;
    let guardian = children.guardian().unwrap();
    let env = Env::empty().set("PATH", "/usr/bin:/bin");
    let program = Program::new("/bin/sh").args(["-c", SERVER]).env(env);
    let running = program.mark(children.mark()).start().await.unwrap();
    assert!(!children.find().await.unwrap().is_empty());
    let mark = children.mark();
    assert_eq!(children.end().await, []);
    assert_eq!(mark.find().unwrap(), []);
    assert_eq!(Identity::of(guardian.try_into().unwrap()), None);
    assert_eq!(files(dir.path()), 0);
    running.end(Duration::ZERO).await;
}

#[tokio::test]
async fn a_guardian_that_was_killed_is_replaced_at_the_next_tick() {
    let dir = tempfile::tempdir().unwrap();
    let children = begin(dir.path()).await.children;
    let first = children.guardian().unwrap();
    assert!(!children.watch().await.unwrap());
    kill(first);
    wait_until("it is gone", PATIENCE, || {
        Identity::of(first.try_into().unwrap()).is_some_and(|one| one.lives() == Some(false))
    });
    assert!(children.watch().await.unwrap());
    assert_ne!(children.guardian().unwrap(), first);
    children.end().await;
}

#[tokio::test]
async fn a_daemon_without_a_guardian_says_so_and_begins() {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(dir.path()).unwrap();
    let none = GuardCommand {
        program: "/bin/true".into(),
        args: Vec::new(),
    };
    let begun = Children::begin(state, nonce(), none, NOW).await.unwrap();
    assert!(matches!(begun.unguarded, Some(GuardError::Silent { .. })));
    assert_eq!(begun.children.guardian(), None);
    assert!(!begun.children.watch().await.unwrap());
    assert_eq!(begun.children.end().await, []);
}
