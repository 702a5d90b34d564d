use std::fs;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

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

#[test]
fn every_field_of_a_query_narrows() {
    let bench = Bench::new();
    let with = |record: Record, trace: &str| Record {
        trace: Some(trace.to_owned()),
        ..record
    };
    bench.put(
        "a.jsonl",
        &[
            (0, record("start 100%")),
            (1, with(call("files", "read", 1.0, true), "cal-1")),
            (2, with(call("files", "write", 2.0, false), "cal-2")),
            (
                3,
                Record {
                    level: Level::Warn,
                    ..record("odd_one").with("path", "/Tmp/x")
                },
            ),
            (
                4,
                Record {
                    event: "server.start".into(),
                    ..call("git", "none", 0.0, true)
                },
            ),
        ],
    );
    let index = bench.index();
    let some = |text: &str| Some(text.to_owned());
    let seconds = |query: Query| -> Vec<i64> {
        let entries = index.query(&query).unwrap();
        entries
            .iter()
            .map(|entry| entry.ts.as_second() - 1_790_000_000)
            .collect()
    };
    let all = Query::default;
    for (query, expected) in [
        (all(), vec![0, 1, 2, 3, 4]),
        (
            Query {
                since: Some(at(3)),
                ..all()
            },
            vec![3, 4],
        ),
        (
            Query {
                until: Some(at(2)),
                ..all()
            },
            vec![0, 1],
        ),
        (
            Query {
                level: Some(Level::Warn),
                ..all()
            },
            vec![2, 3],
        ),
        (
            Query {
                event: some("server.*"),
                ..all()
            },
            vec![4],
        ),
        (
            Query {
                event: some("mcp.call"),
                ..all()
            },
            vec![1, 2],
        ),
        (
            Query {
                server: some("files"),
                ..all()
            },
            vec![1, 2],
        ),
        (
            Query {
                tool: some("write"),
                ..all()
            },
            vec![2],
        ),
        (
            Query {
                session: some("s2"),
                ..all()
            },
            vec![],
        ),
        (
            Query {
                trace: some("cal-1"),
                ..all()
            },
            vec![1],
        ),
        (
            Query {
                ok: Some(false),
                ..all()
            },
            vec![2],
        ),
        (
            Query {
                grep: some("/tmp/"),
                ..all()
            },
            vec![3],
        ),
        (
            Query {
                grep: some("100%"),
                ..all()
            },
            vec![0],
        ),
        (
            Query {
                grep: some("d_o"),
                ..all()
            },
            vec![3],
        ),
        (
            Query {
                grep: some("' OR 1 --"),
                ..all()
            },
            vec![],
        ),
        (
            Query {
                limit: Some(2),
                ..all()
            },
            vec![3, 4],
        ),
        (
            Query {
                limit: Some(2),
                reverse: true,
                ..all()
            },
            vec![4, 3],
        ),
        (
            Query {
                limit: Some(0),
                ..all()
            },
            vec![],
        ),
    ] {
        assert_eq!(seconds(query.clone()), expected, "{query:?}");
    }
    let entries = index
        .query(&Query {
            tool: some("write"),
            ..all()
        })
        .unwrap();
    assert_eq!(
        entries[0].record,
        with(call("files", "write", 2.0, false), "cal-2")
    );
}

#[test]
fn a_chain_is_the_whole_tree_oldest_first() {
    let bench = Bench::new();
    let traced = |msg: &str, trace: &str, parent: Option<&str>| Record {
        trace: Some(trace.to_owned()),
        trace_parent: parent.map(str::to_owned),
        ..record(msg)
    };
    bench.put(
        "a.jsonl",
        &[
            (0, traced("daemon", "d", None)),
            (1, traced("call b", "b", Some("d"))),
            (2, traced("call a", "a", Some("d"))),
            (3, traced("below b", "b1", Some("b"))),
            (4, traced("a again", "a", Some("d"))),
            (5, traced("other", "x", None)),
            (6, traced("circle 1", "c1", Some("c2"))),
            (7, traced("circle 2", "c2", Some("c1"))),
            (8, traced("orphan", "o", Some("unseen"))),
        ],
    );
    let index = bench.index();
    let tree = |trace: &str| -> Vec<(usize, String, usize)> {
        let links = index.chain(trace).unwrap();
        links
            .into_iter()
            .map(|link| (link.depth, link.trace, link.records.len()))
            .collect()
    };
    let link = |depth, trace: &str, records| (depth, trace.to_owned(), records);
    let whole = [
        link(0, "d", 1),
        link(1, "b", 1),
        link(2, "b1", 1),
        link(1, "a", 2),
    ];
    for trace in ["d", "a", "b", "b1"] {
        assert_eq!(tree(trace), whole, "{trace}");
    }
    assert_eq!(tree("x"), [link(0, "x", 1)]);
    assert_eq!(tree("o"), [link(0, "unseen", 0), link(1, "o", 1)]);
    assert_eq!(tree("c1").len(), 2);
    assert_eq!(tree("nope"), []);
}

#[test]
fn percentiles_are_exact_and_the_most_time_comes_first() {
    let bench = Bench::new();
    let mut records: Vec<_> = (1..=200)
        .rev()
        .map(|n| {
            (
                n,
                call(
                    "files",
                    "read",
                    f64::from(i32::try_from(n).unwrap()),
                    n % 10 != 0,
                ),
            )
        })
        .collect();
    records.push((300, call("git", "log", 50_000.0, true)));
    bench.put("a.jsonl", &records);
    let Stats::Calls(calls) = bench
        .index()
        .stats(Dimension::Calls, &Query::default())
        .unwrap()
    else {
        panic!("calls")
    };
    assert_eq!(
        calls[1],
        CallStats {
            server: "files".to_owned(),
            tool: "read".to_owned(),
            calls: 200,
            failed: 20,
            total_ms: 20_100.0,
            p50_ms: 100.0,
            p95_ms: 190.0,
            p99_ms: 198.0,
            max_ms: 200.0,
            last: line::time(at(200)),
        }
    );
    assert_eq!(
        (calls[0].tool.as_str(), calls[0].p50_ms, calls.len()),
        ("log", 50_000.0, 2)
    );
}

#[test]
fn each_dimension_adds_up() {
    let bench = Bench::new();
    let of = |event: &'static str, second| {
        let mut record = Record::new(Level::Info, event, event).with("reason", "idle");
        record.server = Some("files".to_owned());
        record.instance = Some("files#1".to_owned());
        (second, record)
    };
    bench.put(
        "a.jsonl",
        &[
            of(event::SERVER_START, 0),
            (1, call("files", "read", 10.0, true)),
            (2, call("files", "read", 30.0, false)),
            (3, call("files", "write", 20.0, false)),
            of(event::SERVER_WARNING, 4),
            of(event::SERVER_STOP, 5),
            (6, Record::new(Level::Error, "", "disk on fire")),
        ],
    );
    let index = bench.index();
    let stats = |dimension| {
        let stats = index.stats(dimension, &Query::default()).unwrap();
        serde_json::to_value(stats).unwrap()
    };
    let time = |second| line::time(at(second));
    assert_eq!(
        stats(Dimension::Servers),
        json!([{"server": "files", "calls": 3, "failed": 2, "tools": 2, "totalMs": 60.0, "starts": 1, "stops": 1,
            "warnings": 1, "last": time(5)}])
    );
    assert_eq!(
        stats(Dimension::Instances),
        json!([{"instance": "files#1", "server": "files", "started": time(0), "stopped": time(5), "reason": "idle",
            "calls": 3, "failed": 2, "totalMs": 60.0}])
    );
    assert_eq!(
        stats(Dimension::Sessions),
        json!([{"session": "s1", "calls": 3, "failed": 2, "servers": 1, "totalMs": 60.0, "first": time(1), "last": time(3)}])
    );
    let errors = stats(Dimension::Errors);
    assert_eq!(errors.as_array().unwrap().len(), 3);
    assert_eq!(errors[0]["template"], "disk on fire");
    assert_eq!(errors[0]["event"], Value::Null);
    let slowest = stats(Dimension::Slowest);
    assert_eq!(slowest[0]["durationMs"], 30.0);
    assert_eq!(slowest.as_array().unwrap().len(), 3);
    let volume = stats(Dimension::Volume);
    let share: f64 = volume
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["share"].as_f64())
        .sum();
    assert!((share - 1.0).abs() < 1e-9);
    assert_eq!(volume[0]["event"], "mcp.call");
    let query = Query {
        tool: Some("write".to_owned()),
        ..Query::default()
    };
    assert!(
        matches!(index.stats(Dimension::Calls, &query).unwrap(), Stats::Calls(calls) if calls.len() == 1)
    );
}

#[test]
fn sql_reads_and_nothing_else() {
    let bench = Bench::new();
    let records: Vec<_> = (0..20)
        .map(|n| (n, call("files", "read", 1.0, true)))
        .collect();
    bench.put("a.jsonl", &records);
    let mut index = bench.index();
    let limits = SqlLimits {
        rows: 10,
        time: Duration::from_secs(20),
    };
    for text in [
        "SELECT tool, count(*) AS n FROM records GROUP BY tool",
        " -- a remark\n/* and one */ select 'read' AS tool, 20 AS n;",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20) SELECT 'read' AS tool, max(x) AS n FROM c",
    ] {
        let table = index.sql(text, limits).unwrap();
        assert_eq!(table.columns, ["tool", "n"], "{text}");
        assert_eq!(
            (table.rows, table.cut),
            (vec![vec![json!("read"), json!(20)]], false)
        );
    }
    assert!(
        !index
            .sql("EXPLAIN QUERY PLAN SELECT * FROM records", limits)
            .unwrap()
            .rows
            .is_empty()
    );
    let many = index.sql("SELECT * FROM records", limits).unwrap();
    assert_eq!((many.rows.len(), many.cut), (10, true));
    assert_eq!(
        index.sql("SELECT x'00ff', NULL, 1.5", limits).unwrap().rows[0],
        [json!("(2 bytes)"), json!(null), json!(1.5)]
    );
    let other = bench.state.path("other.db");
    for text in [
        "DELETE FROM records",
        "INSERT INTO records DEFAULT VALUES",
        "UPDATE records SET msg = ''",
        "DROP TABLE records",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        &format!("ATTACH '{}' AS o", other.display()),
        &format!("VACUUM INTO '{}'", other.display()),
        "PRAGMA user_version = 0",
        "PRAGMA journal_mode = DELETE",
        "SELECT 1; DELETE FROM records",
        "SELECT 1; SELECT 2",
        "WITH x AS (SELECT 1) DELETE FROM records",
        "WITH x AS (SELECT 1) INSERT INTO records SELECT * FROM records",
        "EXPLAIN DELETE FROM records",
        "SELECT load_extension('x')",
        "SELECT * FROM pragma_table_info('records')",
        "BEGIN",
        "",
        "-- only a remark",
    ] {
        assert!(
            matches!(index.sql(text, limits), Err(SqlError::Refused(_))),
            "{text}: {:?}",
            index.sql(text, limits)
        );
    }
    for text in [
        "SELECT",
        "SELECT nope FROM records",
        "SELECT randomblob(2000000000)",
        "SELECT 'a\0b",
    ] {
        assert!(
            matches!(index.sql(text, limits), Err(SqlError::Failed(_))),
            "{text}: {:?}",
            index.sql(text, limits)
        );
    }
    assert!(!other.exists());
    assert_eq!(index.query(&Query::default()).unwrap().len(), 20);
}

#[test]
fn a_query_without_end_is_ended() {
    let bench = Bench::new();
    let mut index = bench.index();
    let limits = SqlLimits {
        rows: 10,
        time: Duration::from_millis(50),
    };
    let endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
    assert!(matches!(
        index.sql(endless, limits),
        Err(SqlError::TooLong(_))
    ));
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

    #[test]
    fn any_text_as_sql_changes_nothing(text in ".{0,40}", word in "(SELECT|WITH|EXPLAIN|DELETE FROM) (records|\\*|1|x)?") {
        let bench = Bench::new();
        bench.put("a.jsonl", &[(0, record("one"))]);
        let mut index = bench.index();
        drop(index.sql(&format!("{word} {text}"), SqlLimits::default()));
        prop_assert_eq!(index.query(&Query::default()).unwrap().len(), 1);
    }
}
