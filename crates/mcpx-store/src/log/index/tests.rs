mod query;
mod sql;
mod stats;

use std::fs;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::log::{Level, Record, event, line};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

struct Bench {
    _home: testkit::TempHome,
    state: StateDir,
}

impl Bench {
    fn new() -> Self {
        let home = testkit::TempHome::new();
        let state = StateDir::open(home.path().join("state")).unwrap();
        fs::create_dir_all(state.logs_dir()).unwrap();
        Self { _home: home, state }
    }

    fn add(&self, file: &str, bytes: &[u8]) {
        let path = self.state.logs_dir().join(file);
        let mut all = fs::read(&path).unwrap_or_default();
        all.extend_from_slice(bytes);
        fs::write(path, all).unwrap();
    }

    fn put(&self, file: &str, records: &[(i64, Record)]) {
        let mut bytes = Vec::new();
        for (second, record) in records {
            line::append(&mut bytes, at(*second), record.clone(), &Default::default());
        }
        self.add(file, &bytes);
    }

    fn index(&self) -> Index {
        let mut index = Index::open(&self.state).unwrap();
        index.refresh().unwrap();
        index
    }
}

fn record(msg: &str) -> Record {
    Record::new(Level::Info, "test.note", msg)
}

fn call(server: &str, tool: &str, ms: f64, ok: bool) -> Record {
    Record {
        level: if ok { Level::Info } else { Level::Error },
        server: Some(server.to_owned()),
        tool: Some(tool.to_owned()),
        session: Some("s1".to_owned()),
        instance: Some(format!("{server}#1")),
        duration_ms: Some(ms),
        ok: Some(ok),
        template: "{tool} ended".into(),
        ..Record::new(Level::Info, event::CALL, format!("{tool} ended"))
    }
}

fn messages(index: &Index, query: &Query) -> Vec<String> {
    let entries = index.query(query).unwrap();
    entries.into_iter().map(|entry| entry.record.msg).collect()
}

#[test]
fn a_refresh_reads_only_what_was_gained_and_counts_what_is_torn() {
    let bench = Bench::new();
    bench.put("a.jsonl", &[(0, record("one")), (1, record("two"))]);
    bench.add("a.jsonl", b"not a record\n{\"v\":1,\"ts\":");
    let mut index = Index::open(&bench.state).unwrap();
    let first = index.refresh().unwrap();
    let expected = Refreshed {
        files: 1,
        unreadable: 0,
        added: 2,
        skipped: 1,
        unfinished: 1,
    };
    assert_eq!(first, expected);
    assert_eq!(
        index.refresh().unwrap(),
        Refreshed {
            added: 0,
            ..expected
        }
    );
    bench.add("a.jsonl", b"\n");
    bench.put("a.jsonl", &[(2, record("three"))]);
    bench.put("b.jsonl", &[(3, record("four"))]);
    let second = index.refresh().unwrap();
    assert_eq!(
        second,
        Refreshed {
            files: 2,
            unreadable: 0,
            added: 2,
            skipped: 2,
            unfinished: 0
        }
    );
    assert_eq!(
        messages(&index, &Query::default()),
        ["one", "two", "three", "four"]
    );
}

#[test]
fn a_file_that_is_gone_or_became_another_is_forgotten() {
    let bench = Bench::new();
    bench.put("a.jsonl", &[(0, record("a1")), (1, record("a2"))]);
    bench.put("b.jsonl", &[(2, record("b1"))]);
    let mut index = bench.index();
    fs::remove_file(bench.state.logs_dir().join("b.jsonl")).unwrap();
    fs::write(bench.state.logs_dir().join("a.jsonl"), "").unwrap();
    bench.put("a.jsonl", &[(5, record("new"))]);
    index.refresh().unwrap();
    assert_eq!(messages(&index, &Query::default()), ["new"]);
}

#[test]
fn an_index_that_is_missing_broken_or_of_another_version_is_made_anew() {
    let bench = Bench::new();
    bench.put("a.jsonl", &[(0, record("one"))]);
    let path = bench.index().path().to_owned();
    fs::write(
        &path,
        "this is no database, whatever its name says".repeat(100),
    )
    .unwrap();
    assert_eq!(messages(&bench.index(), &Query::default()), ["one"]);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("DROP TABLE records; CREATE TABLE other (x); PRAGMA user_version = 99")
        .unwrap();
    drop(db);
    assert_eq!(messages(&bench.index(), &Query::default()), ["one"]);
    fs::remove_file(&path).unwrap();
    assert_eq!(messages(&bench.index(), &Query::default()), ["one"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

#[test]
fn where_nothing_can_be_written_the_index_is_in_memory() {
    let bench = Bench::new();
    bench.put("a.jsonl", &[(0, record("one"))]);
    // A folder in its place refuses root too.
    fs::create_dir(bench.state.logs_dir().join("index.db")).unwrap();
    let mut index = bench.index();
    assert_eq!(messages(&index, &Query::default()), ["one"]);
    let table = index
        .sql("SELECT count(*) AS n FROM records", SqlLimits::default())
        .unwrap();
    assert_eq!(table.rows, [[json!(1)]]);
    assert!(
        index
            .sql("DELETE FROM records", SqlLimits::default())
            .is_err()
    );
    // The query's fetters are off again.
    index.refresh().unwrap();
}

#[test]
fn two_processes_refresh_one_index_at_once() {
    let bench = Bench::new();
    for file in 0..4 {
        let records: Vec<_> = (0..50)
            .map(|n| (n, record(&format!("{file}-{n}"))))
            .collect();
        bench.put(&format!("{file}.jsonl"), &records);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(bench.index().query(&Query::default()).unwrap().len(), 200));
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_in_a_log_are_indexed_or_counted(
        junk in prop::collection::vec(prop_oneof![
            any::<Vec<u8>>(),
            Just(b"\n".to_vec()),
            Just(b"{\"v\":1,\"ts\":\"2026-09-21T14:13:20Z\",\"level\":\"info\",\"attributes\":{\"a\":[]}}\n".to_vec()),
            Just(b"{\"v\":1,\"ts\":\"-009999-01-01T00:00:00Z\",\"level\":\"warn\",\"durationMs\":1e308,\"msg\":\"\\u0000\"}\n".to_vec()),
        ], 0..20),
    ) {
        let bench = Bench::new();
        bench.add("a.jsonl", &junk.concat());
        let mut index = Index::open(&bench.state).unwrap();
        index.refresh().unwrap();
        index.query(&Query { grep: Some("a".to_owned()), ..Query::default() }).unwrap();
        for (_, dimension) in Dimension::ALL {
            index.stats(dimension, &Query::default()).unwrap();
        }
    }
}
