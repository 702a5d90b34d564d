//! What the log adds up to.

use super::*;

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
            (
                7,
                Record {
                    template: "{n} fires".into(),
                    ..Record::new(Level::Error, "", "7 fires")
                },
            ),
            (
                8,
                Record {
                    template: "{n} fires".into(),
                    ..Record::new(Level::Error, "", "3 fires")
                },
            ),
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
    assert_eq!(errors.as_array().unwrap().len(), 4);
    assert_eq!(
        errors[0],
        json!({"template": "{n} fires", "event": null, "server": null, "tool": null, "count": 2, "first": time(7),
            "last": time(8), "example": "3 fires"})
    );
    assert_eq!(errors[1]["template"], "disk on fire");
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
