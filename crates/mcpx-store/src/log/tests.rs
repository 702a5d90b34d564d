use std::{fs, path::PathBuf, sync::atomic::AtomicI64};

use jiff::Timestamp;
use testkit::{TempHome, wait_until};

use super::*;
use crate::state_dir::entries;

const WAIT: Duration = Duration::from_secs(30);

struct Bench {
    home: TempHome,
    state: StateDir,
    /// Microseconds; each look at the clock moves it on by one.
    now: Arc<AtomicI64>,
}

impl Bench {
    fn new() -> Self {
        let home = TempHome::new();
        Self {
            state: StateDir::open(home.path().join("state")).unwrap(),
            home,
            now: Arc::new(AtomicI64::new(1_790_000_000_000_000)),
        }
    }

    fn clock(&self) -> Clock {
        let now = Arc::clone(&self.now);
        Arc::new(move || Timestamp::from_microsecond(now.fetch_add(1, Ordering::Relaxed)).unwrap())
    }

    fn open(&self, options: LogOptions) -> Log {
        Log::open(&self.state, options, self.clock())
    }

    fn files(&self) -> Vec<PathBuf> {
        entries(&self.state.logs_dir())
            .into_iter()
            .filter(|path| is_log_file(path))
            .collect()
    }

    fn entries(&self) -> Vec<Entry> {
        Cursor::at_start().read(&self.state).entries
    }

    fn messages(&self) -> Vec<String> {
        self.entries()
            .into_iter()
            .map(|entry| entry.record.msg)
            .collect()
    }
}

fn record(msg: impl Into<String>) -> Record {
    Record::new(Level::Info, "test", msg)
}

#[test]
fn records_are_written_in_order_for_their_owner_alone() {
    let bench = Bench::new();
    let log = bench.open(LogOptions::default());
    for n in 0..500 {
        log.write(record(n.to_string()));
    }
    log.write(Record::new(Level::Debug, "test", "below the level"));
    assert!(log.flush(WAIT));
    let expected: Vec<String> = (0..500).map(|n| n.to_string()).collect();
    assert_eq!(bench.messages(), expected);
    assert_eq!(
        log.health(),
        LogHealth {
            written: 500,
            ..LogHealth::default()
        }
    );
    #[cfg(unix)]
    for (path, mode) in [
        (bench.state.logs_dir(), 0o700),
        (bench.files()[0].clone(), 0o600),
    ] {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            fs::metadata(path).unwrap().permissions().mode() & 0o777,
            mode
        );
    }
    log.set_level(Level::Debug);
    log.write(Record::new(Level::Debug, "test", "taken now"));
    drop(log);
    assert_eq!(bench.messages().last().unwrap(), "taken now");
}

#[test]
fn files_follow_each_other_by_bytes_lines_and_age_and_old_ones_go() {
    let bytes = LogOptions {
        max_bytes: 1_000,
        ..LogOptions::default()
    };
    let lines = LogOptions {
        max_lines: 8,
        ..LogOptions::default()
    };
    for options in [bytes, lines] {
        let bench = Bench::new();
        let log = bench.open(LogOptions { keep: 3, ..options });
        for n in 0..100 {
            log.write(record(n.to_string()));
            assert!(log.flush(WAIT));
        }
        let files = bench.files();
        assert_eq!(files.len(), 3);
        for file in files {
            assert!(fs::metadata(&file).unwrap().len() <= 1_000);
            assert!(fs::read_to_string(&file).unwrap().lines().count() <= 12);
        }
        assert_eq!(bench.messages().last().unwrap(), "99");
    }
    let bench = Bench::new();
    let log = bench.open(LogOptions::default());
    log.write(record("one"));
    assert!(log.flush(WAIT));
    bench
        .now
        .fetch_add(25 * 3_600 * 1_000_000, Ordering::Relaxed);
    log.write(record("two"));
    assert!(log.flush(WAIT));
    assert_eq!((bench.files().len(), bench.messages().len()), (2, 2));
}

#[test]
fn a_next_daemon_goes_on_with_the_file_and_one_at_the_same_time_has_its_own() {
    let bench = Bench::new();
    let first = bench.open(LogOptions::default());
    first.write(record("first"));
    assert!(first.flush(WAIT));
    let second = bench.open(LogOptions::default());
    second.write(record("second"));
    assert!(second.flush(WAIT));
    assert_eq!(bench.files().len(), 2);
    drop((first, second));
    let third = bench.open(LogOptions::default());
    third.write(record("third"));
    drop(third);
    assert_eq!(bench.files().len(), 2);
    assert_eq!(bench.messages(), ["first", "second", "third"]);
}

#[test]
fn the_file_of_another_daemon_is_not_removed_however_old_it_is() {
    let bench = Bench::new();
    let idle = bench.open(LogOptions::default());
    idle.write(record("idle"));
    assert!(idle.flush(WAIT));
    let busy = bench.open(LogOptions {
        max_lines: 1,
        keep: 2,
        ..LogOptions::default()
    });
    for n in 0..10 {
        busy.write(record(n.to_string()));
        assert!(busy.flush(WAIT));
    }
    assert_eq!(bench.messages(), ["idle", "8", "9"]);
}

#[test]
fn a_torn_last_line_does_not_spoil_the_next_one() {
    let bench = Bench::new();
    let log = bench.open(LogOptions::default());
    log.write(record("before"));
    drop(log);
    let path = bench.files().remove(0);
    let mut text = fs::read(&path).unwrap();
    text.extend_from_slice(b"{\"v\":1,\"ts\":\"20");
    fs::write(&path, text).unwrap();
    let log = bench.open(LogOptions::default());
    log.write(record("after"));
    drop(log);
    let news = Cursor::at_start().read(&bench.state);
    let messages: Vec<_> = news
        .entries
        .iter()
        .map(|entry| entry.record.msg.as_str())
        .collect();
    assert_eq!((messages, news.skipped), (vec!["before", "after"], 1));
}

#[test]
fn a_disk_that_takes_nothing_is_counted_and_told_once_when_it_does_again() {
    let bench = Bench::new();
    // A file where the folder should be refuses root too.
    let blocker = bench.home.write("state/logs", "");
    let log = bench.open(LogOptions::default());
    for n in 0..5 {
        log.write(record(n.to_string()));
        assert!(log.flush(WAIT));
    }
    let health = log.health();
    assert_eq!((health.written, health.lost_disk), (0, 5));
    assert!(health.failing.is_some());
    fs::remove_file(blocker).unwrap();
    for n in 5..8 {
        log.write(record(n.to_string()));
        assert!(log.flush(WAIT));
    }
    let told = "5 records were lost: 5 because the disk took none, 0 because too many waited";
    assert_eq!(bench.messages(), [told, "5", "6", "7"]);
    assert_eq!(log.health().failing, None);
}

#[test]
fn a_folder_that_somebody_cleared_is_filled_again() {
    let bench = Bench::new();
    let log = bench.open(LogOptions::default());
    log.write(record("gone"));
    assert!(log.flush(WAIT));
    fs::remove_dir_all(bench.state.logs_dir()).unwrap();
    log.write(record("there"));
    assert!(log.flush(WAIT));
    assert_eq!(bench.messages(), ["there"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_records_and_nothing_else() {
    let bench = Bench::new();
    fs::create_dir_all(bench.state.logs_dir()).unwrap();
    let shared = Arc::clone(&bench.open(LogOptions::default()).inner.shared);
    let mut writer = writer::Writer::new(&bench.state.logs_dir(), LogOptions::default(), shared);
    // The one file on Linux whose disk is always full.
    let full = fs::OpenOptions::new()
        .append(true)
        .open("/dev/full")
        .unwrap();
    writer.use_file(PathBuf::from("/dev/full"), full, (bench.clock())());
    let queue = Queue::new(8);
    for n in 0..3 {
        let message = Box::new(((bench.clock())(), record(n.to_string())));
        queue.put(Message::Record(message)).unwrap();
    }
    queue.close();
    let shared = writer.shared();
    writer.run(&queue);
    assert_eq!(shared.lost_disk.load(Ordering::Relaxed), 3);
    assert!(shared.failing.lock().unwrap().is_some());
}

#[test]
fn what_does_not_fit_the_queue_is_counted_and_told() {
    let bench = Bench::new();
    let log = bench.open(LogOptions {
        queue: 1,
        ..LogOptions::default()
    });
    let sent = 200;
    {
        // The writer needs it, so it stands still.
        let _redactor = log.inner.shared.redactor.write().unwrap();
        for n in 0..sent {
            log.write(record(n.to_string()));
        }
    }
    assert!(log.flush(WAIT));
    wait_until("every record is accounted for", WAIT, || {
        let health = log.health();
        health.written + health.lost_queue == sent
    });
    log.write(record("last"));
    assert!(log.flush(WAIT));
    let lost = log.health().lost_queue;
    assert!(lost >= sent - 2, "{lost}");
    let told: u64 = bench
        .entries()
        .iter()
        .filter(|entry| entry.record.event == event::LOG_LOST)
        .filter_map(|entry| entry.record.attributes["lost"].as_u64())
        .sum();
    assert_eq!(told, lost);
}

#[test]
fn no_secret_reaches_the_disk() {
    const SENTINEL: &str = "sentinel-9f8e7d6c";
    let bench = Bench::new();
    let log = bench.open(LogOptions::default());
    log.set_redactor(Redactor::with_values(vec![SENTINEL.to_owned()]));
    let some = || Some(format!("a {SENTINEL} b"));
    log.write(Record {
        template: SENTINEL.into(),
        event: SENTINEL.into(),
        server: some(),
        tool: some(),
        session: some(),
        trace: some(),
        trace_parent: some(),
        instance: some(),
        ..record(format!("failed with {SENTINEL}"))
            .with("url", format!("https://x.test/?key={SENTINEL}"))
            .with(SENTINEL, 1)
    });
    log.write(record("by name").with("apiToken", "other-sentinel"));
    log.write(record(
        "by shape: Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345",
    ));
    drop(log);
    index::Index::open(&bench.state).unwrap().refresh().unwrap();
    let mut bytes = 0;
    let mut folders = vec![bench.state.root().to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let content = fs::read(&path).unwrap();
            bytes += content.len();
            let text = String::from_utf8_lossy(&content);
            for secret in [SENTINEL, "other-sentinel", "abcdefghijklmnopqrstuvwxyz"] {
                assert!(!text.contains(secret), "{} holds {secret}", path.display());
            }
        }
    }
    assert!(bytes > 500 && bench.messages().len() == 3);
}

#[test]
fn a_result_that_is_an_error_is_a_failure() {
    let took = Duration::from_micros(1_500);
    let of = |ended| Record::of_call("files", "read", ended, took);
    assert_eq!(of(Ended::Answered).ok, Some(true));
    assert_eq!(of(Ended::AnsweredWithError).ok, Some(false));
    assert_eq!(of(Ended::AnsweredWithError).level, Level::Warn);
    let failed = of(Ended::Failed("it hung up"));
    assert_eq!((failed.ok, failed.level), (Some(false), Level::Error));
    assert_eq!(failed.msg, "files.read failed: it hung up");
    assert_eq!(failed.duration_ms, Some(1.5));
}

#[test]
fn a_cursor_reads_what_came_since_through_new_files() {
    let bench = Bench::new();
    let log = bench.open(LogOptions {
        max_lines: 2,
        ..LogOptions::default()
    });
    let write = |from: u32, to: u32| {
        for n in from..to {
            log.write(record(n.to_string()));
            assert!(log.flush(WAIT));
        }
    };
    write(0, 3);
    let mut cursor = Cursor::at_end(&bench.state);
    assert_eq!(cursor.read(&bench.state), News::default());
    write(3, 9);
    // It can be stored in between.
    let text = serde_json::to_string(&cursor).unwrap();
    let mut cursor: Cursor = serde_json::from_str(&text).unwrap();
    let messages: Vec<_> = cursor
        .read(&bench.state)
        .entries
        .into_iter()
        .map(|entry| entry.record.msg)
        .collect();
    assert_eq!(messages, ["3", "4", "5", "6", "7", "8"]);
    assert_eq!(cursor.read(&bench.state), News::default());
}

#[test]
fn a_line_that_is_still_written_waits_for_its_end() {
    let bench = Bench::new();
    fs::create_dir_all(bench.state.logs_dir()).unwrap();
    let path = bench.state.logs_dir().join("x.jsonl");
    let line = "{\"v\":1,\"ts\":\"2026-09-21T14:13:20Z\",\"level\":\"info\",\"msg\":\"a\"}\n";
    let mut cursor = Cursor::at_start();
    fs::write(&path, format!("{line}{}", &line[..20])).unwrap();
    assert_eq!(cursor.read(&bench.state).entries.len(), 1);
    assert_eq!(cursor.read(&bench.state), News::default());
    fs::write(&path, format!("{line}{line}")).unwrap();
    assert_eq!(cursor.read(&bench.state).entries.len(), 1);
}
