//! A guardian ends what its owner left, whatever happened to the owner, and nothing else.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use child_process::{
    Env, GuardCommand, GuardError, GuardLimits, Guardian, Mark, Program, mark::VARIABLE,
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::{
    marked::{SAID, SERVER, SHORT, found, mark, said, shell_into},
    world::{lives, wait_until},
};

const LIMITS: GuardLimits = GuardLimits {
    settle: Duration::from_millis(100),
    end: SHORT,
};

/// The example that is a guardian. Cargo builds examples with the tests of a package.
fn guardian() -> GuardCommand {
    let own = std::env::current_exe().unwrap();
    let program = own.ancestors().nth(2).unwrap().join("examples/guardian");
    assert!(
        program.exists(),
        "{} is missing: cargo build -p child-process --examples",
        program.display()
    );
    GuardCommand {
        program,
        args: Vec::new(),
    }
}

fn start(mark: &Mark) -> Guardian {
    Guardian::start(guardian(), mark.clone(), LIMITS).unwrap()
}

fn pid(guardian: &Guardian) -> i32 {
    guardian.id().try_into().unwrap()
}

fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Tells a test that it is the owner: where it writes, and its nonce.
const OWNER: &str = "CHILD_PROCESS_TEST_OWNER";

/// What an owner in a process of its own left: where its program wrote, its mark, the owner and its guardian.
struct Owner {
    process: std::process::Child,
    mark: Mark,
    guardian: i32,
    said: PathBuf,
}

/// Starts an owner whose program is a line of shell. It is a process of its own, which runs the test of this name again
/// up to where that calls [`be_owner`].
fn owner(test: &str, dir: &Path, mark: Mark) -> Owner {
    let process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(OWNER, dir)
        .env("NONCE", mark.as_str())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let file = dir.join("guardian");
    wait_until("the owner has a guardian", || file.exists());
    let guardian = fs::read_to_string(&file).unwrap().parse().unwrap();
    Owner {
        process,
        mark,
        guardian,
        said: dir.join("said"),
    }
}

/// Is the owner, until it is killed; false in the test itself.
async fn be_owner(program: impl FnOnce(&Path) -> Program) -> bool {
    let Some(dir) = std::env::var_os(OWNER).map(PathBuf::from) else {
        return false;
    };
    let mark = Mark::new(&std::env::var("NONCE").unwrap()).unwrap();
    let guardian = start(&mark);
    fs::write(dir.join("new"), guardian.id().to_string()).unwrap();
    fs::rename(dir.join("new"), dir.join("guardian")).unwrap();
    let mut running = program(&dir.join("said")).mark(mark).start().await.unwrap();
    running.wait().await.unwrap();
    std::future::pending().await
}

impl Owner {
    /// Kills the owner and waits until nothing is left of what was marked, nor of the guardian.
    fn kill(mut self, said: &[i32]) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        wait_until("nothing is left", || found(&self.mark).is_empty());
        for &pid in said {
            wait_until("each is gone", || !lives(pid));
        }
        wait_until("the guardian is gone", || !lives(self.guardian));
    }
}

#[tokio::test]
async fn a_killed_owner_leaves_nothing() {
    // Without those that only a parent or a session that the kernel kills with the owner could prove.
    let server = |file: &Path| shell_into(&SERVER.replace("env -i ", ""), file);
    if be_owner(server).await {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let owner = owner(
        "guard::a_killed_owner_leaves_nothing",
        dir.path(),
        mark("killed"),
    );
    let said = said(&owner.said, SAID);
    let all = found(&owner.mark);
    assert!(said.iter().all(|pid| all.contains(pid)));
    assert!(!all.contains(&owner.guardian));
    owner.kill(&said);
}

/// As `npx` does: a script that starts the server, waits for it, and passes nothing on.
const WRAPPER: &str = "#!/bin/sh\n\"$@\" &\nwait\n";

#[tokio::test]
async fn a_killed_owner_leaves_no_server_behind_a_wrapper() {
    let wrapped = |file: &Path| {
        let wrapper = file.with_file_name("npx");
        fs::write(&wrapper, WRAPPER).unwrap();
        Program::new("/bin/sh")
            .arg(wrapper)
            .args(["sh", "-c"])
            .arg(format!(
                "trap '' TERM; echo $$ > {}; while :; do sleep 1; done",
                file.display()
            ))
            .env(Env::empty().set("PATH", "/usr/bin:/bin"))
    };
    if be_owner(wrapped).await {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let owner = owner(
        "guard::a_killed_owner_leaves_no_server_behind_a_wrapper",
        dir.path(),
        mark("wrapper"),
    );
    let said = said(&owner.said, 1);
    assert!(found(&owner.mark).len() >= 2);
    owner.kill(&said);
}

#[tokio::test]
async fn of_two_owners_the_one_that_lives_keeps_its_own() {
    if be_owner(|file| shell_into("echo $$; sleep 1000; :", file)).await {
        return;
    }
    let test = "guard::of_two_owners_the_one_that_lives_keeps_its_own";
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let one = owner(test, one.path(), mark("killed-of-two"));
    let two = owner(test, two.path(), mark("lives-of-two"));
    let ones = said(&one.said, 1);
    let twos = said(&two.said, 1);
    one.kill(&ones);
    assert!(lives(twos[0]) && lives(two.guardian));
    assert!(found(&two.mark).contains(&twos[0]));
    two.kill(&twos);
}

#[tokio::test]
async fn a_guardian_holds_nothing_of_its_owner_and_hears_no_signal_to_it() {
    if be_owner(|file| shell_into("echo $$; sleep 1000; :", file)).await {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let owner = owner(
        "guard::a_guardian_holds_nothing_of_its_owner_and_hears_no_signal_to_it",
        dir.path(),
        mark("holds"),
    );
    let said = said(&owner.said, 1);
    let proc = PathBuf::from(format!("/proc/{}", owner.guardian));
    let environ = fs::read(proc.join("environ")).unwrap();
    assert!(!String::from_utf8_lossy(&environ).contains(VARIABLE));
    assert_eq!(fs::read_link(proc.join("cwd")).unwrap(), Path::new("/"));
    let descriptors = fs::read_dir(proc.join("fd")).unwrap().count();
    assert_eq!(descriptors, 3);
    let command = fs::read_to_string(proc.join("cmdline")).unwrap();
    assert!(!command.contains(owner.mark.as_str()), "{command}");
    let stat = fs::read_to_string(proc.join("stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let own = owner.guardian.to_string();
    assert_eq!([fields[2], fields[3]], [own.as_str(), own.as_str()]);

    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        send(owner.guardian, signal);
    }
    assert!(lives(owner.guardian) && lives(said[0]));
    // What a terminal or a service manager sends reaches the owner's whole group.
    let group = Pid::from_raw(owner.process.id().try_into().unwrap()).unwrap();
    kill_process_group(group, Signal::TERM).unwrap();
    owner.kill(&said);
}

#[tokio::test]
async fn a_guardian_that_is_sent_home_ends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (mark, file) = (mark("home"), dir.path().join("said"));
    let guardian = start(&mark);
    let running = shell_into("echo $$; exec sleep 1000", &file)
        .mark(mark.clone())
        .start()
        .await
        .unwrap();
    said(&file, 1);
    let pid = pid(&guardian);
    guardian.disarm();
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(found(&mark), [running.id()]);
    running.end(Duration::ZERO).await;
}

#[tokio::test]
async fn what_ends_by_itself_is_not_asked_to() {
    let dir = tempfile::tempdir().unwrap();
    let (mark, file) = (mark("settle"), dir.path().join("said"));
    let limits = GuardLimits {
        settle: Duration::from_secs(20),
        end: SHORT,
    };
    let guardian = Guardian::start(guardian(), mark.clone(), limits).unwrap();
    let line = "trap 'echo asked' TERM; echo $$; read line; echo ended";
    let mut running = shell_into(line, &file)
        .stdin(child_process::Stdin::Pipe)
        .mark(mark.clone())
        .start()
        .await
        .unwrap();
    said(&file, 1);
    let pid = pid(&guardian);
    drop(guardian);
    drop(running.stdin.take());
    running.wait().await.unwrap();
    wait_until("the guardian is gone", || !lives(pid));
    let said = fs::read_to_string(&file).unwrap();
    assert_eq!(said.lines().skip(1).collect::<Vec<_>>(), ["ended"]);
}

#[tokio::test]
async fn a_guardian_that_was_killed_is_replaced() {
    let mark = mark("renew");
    let mut guardian = start(&mark);
    let first = pid(&guardian);
    assert!(!guardian.renew().unwrap());
    send(first, Signal::KILL);
    wait_until("it is gone", || !lives(first));
    assert!(guardian.renew().unwrap());
    assert!(lives(pid(&guardian)) && pid(&guardian) != first);
    guardian.disarm();
}

#[tokio::test]
async fn a_guardian_is_no_orphan_of_a_tree_that_ends() {
    if !crate::world::is_alone("guard::a_guardian_is_no_orphan_of_a_tree_that_ends") {
        return;
    }
    assert!(child_process::adopt_orphans());
    let guardian = start(&mark("orphan"));
    let (ended, _, _) = crate::world::run(crate::world::shell("true")).await;
    assert_eq!(ended.left_behind.count, 0);
    assert!(lives(pid(&guardian)));
    guardian.disarm();
}

#[test]
fn a_program_that_is_no_guardian_is_refused() {
    let mark = mark("none");
    let start = |program: &str| {
        let command = GuardCommand {
            program: program.into(),
            args: Vec::new(),
        };
        Guardian::start(command, mark.clone(), LIMITS)
    };
    assert!(matches!(start("/bin/true"), Err(GuardError::Silent { .. })));
    let error = start("/nonexistent/guardian").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start `/nonexistent/guardian` as a guardian"
    );
}

#[test]
fn a_guardian_that_is_told_nothing_ends() {
    let status = Command::new(guardian().program)
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_guardian_that_waits_keeps_no_page_of_a_file_that_it_only_read() {
    let guardian = start(&mark("guard-lean"));
    let status = format!("/proc/{}/status", guardian.id());
    let of_files = || {
        let text = fs::read_to_string(&status).unwrap();
        let line = text.lines().find(|line| line.starts_with("RssFile:"));
        let count = line.unwrap().split_ascii_whitespace().nth(1).unwrap();
        count.parse::<usize>().unwrap()
    };
    // What it waits in, and what stands beside that.
    wait_until("it let go", || of_files() < 1_500);
    guardian.disarm();
}
