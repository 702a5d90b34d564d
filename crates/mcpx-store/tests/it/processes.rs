//! One state directory, several processes, some of them killed.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use mcpx_store::{
    StateDir,
    children::{self, Children},
    history::HistoryFile,
    log::{Cursor, Level, Log, LogOptions, Record},
};
use testkit::{TempHome, wait_until};

const WAIT: Duration = Duration::from_secs(60);

/// Tells a copy of this program what it is.
const ROLE: &str = "MCPX_STORE_TEST_ROLE";
const STATE: &str = "MCPX_STORE_TEST_STATE";
const NAME: &str = "MCPX_STORE_TEST_NAME";

fn now() -> Timestamp {
    Timestamp::from_second(1_790_000_000).unwrap()
}

/// A copy of this program, which is killed at the latest when the test ends.
struct Copy(Child);

impl Drop for Copy {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn start(role: &str, name: &str, state: &Path) -> Copy {
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "processes::a_copy_of_this_program_does_as_it_is_told",
        ])
        .env(ROLE, role)
        .env(NAME, name)
        .env(STATE, state)
        .stdout(Stdio::null())
        .spawn();
    Copy(child.unwrap())
}

fn record(msg: String) -> Record {
    Record::new(Level::Info, "test", msg)
}

/// Not a test by itself: the other ones start it.
#[test]
fn a_copy_of_this_program_does_as_it_is_told() {
    let (Ok(role), Ok(name), Ok(state)) = (
        std::env::var(ROLE),
        std::env::var(NAME),
        std::env::var(STATE),
    ) else {
        return;
    };
    let state = StateDir::open(state).unwrap();
    match role.as_str() {
        "observe" => {
            for n in 0..20 {
                let server = format!("{name}-{n}");
                HistoryFile::new(&state)
                    .update(now(), |history| history.observe(&server, &[], &[], now()))
                    .unwrap();
            }
        }
        "hold" => {
            let mut children = Children::open(&state, &name).unwrap();
            let child = children::Child {
                pid: 7,
                process_started: None,
                nonce: name.clone(),
                server: "files".to_owned(),
                command: "files".to_owned(),
                at: now(),
            };
            children.started(child).unwrap();
            let log = Log::open(&state, LogOptions::default(), Arc::new(now));
            let deadline = Instant::now() + WAIT;
            for n in (0_u64..).take_while(|_| Instant::now() < deadline) {
                log.write(record(format!("{name} {n}")));
                if n % 100 == 0 {
                    assert!(log.flush(WAIT));
                }
            }
        }
        other => panic!("no role `{other}`"),
    }
}

#[test]
fn processes_that_change_one_history_lose_nothing_of_each_other() {
    let home = TempHome::new();
    let path = home.path().join("state");
    let copies: Vec<Copy> = ["a", "b", "c"]
        .iter()
        .map(|name| start("observe", name, &path))
        .collect();
    for mut copy in copies {
        assert!(copy.0.wait().unwrap().success());
    }
    let (history, problem) = HistoryFile::new(&StateDir::at(path)).load();
    assert_eq!(problem, None);
    for server in ["a", "b", "c"]
        .iter()
        .flat_map(|name| (0..20).map(move |n| format!("{name}-{n}")))
    {
        assert!(history.has_read(&server), "{server}");
    }
}

#[test]
fn a_killed_process_leaves_its_children_to_be_found_and_a_log_that_can_be_read() {
    let home = TempHome::new();
    let state = StateDir::open(home.path().join("state")).unwrap();
    let copies = [
        start("hold", "a", state.root()),
        start("hold", "b", state.root()),
    ];
    let mut cursor = Cursor::at_start();
    let mut seen = Vec::new();
    wait_until("both to write", WAIT, || {
        seen.extend(cursor.read(&state).entries);
        ["a 500", "b 500"]
            .iter()
            .all(|msg| seen.iter().any(|entry| entry.record.msg == *msg))
    });
    // They live, so nothing is left.
    assert!(children::left(&state).is_empty());
    drop(copies);
    let left = children::left(&state);
    let mut nonces: Vec<_> = left
        .iter()
        .map(|left| left.children[0].nonce.as_str())
        .collect();
    nonces.sort_unstable();
    assert_eq!(nonces, ["a", "b"]);
    assert!(left.iter().all(|left| left.problem.is_none()));
    // The next one goes on with a file of theirs, whose last line may be torn.
    let log = Log::open(&state, LogOptions::default(), Arc::new(now));
    log.write(record("next".to_owned()));
    assert!(log.flush(WAIT));
    let news = Cursor::at_start().read(&state);
    assert!(news.skipped <= 1, "{}", news.skipped);
    for name in ["a", "b"] {
        let numbers: Vec<u64> = news
            .entries
            .iter()
            .filter_map(|entry| entry.record.msg.strip_prefix(name)?.trim().parse().ok())
            .collect();
        assert!(numbers.is_sorted() && numbers.first() == Some(&0), "{name}");
    }
    assert!(news.entries.iter().any(|entry| entry.record.msg == "next"));
}
