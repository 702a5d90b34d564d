//! Which records a query and a chain find.

use super::*;

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
