//! What happened: records, chains, statistics, SQL.

use std::io::{BufRead as _, BufReader};

use crate::harness::Mcpx;

#[test]
fn a_call_is_in_the_log_in_every_format_and_in_the_statistics() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let (_, call) = mcpx.json(&["call", "demo.echo", "message=hi"]);
    let trace = call["traceId"].as_str().unwrap();
    let ran = mcpx.ok(&["log", "--event", "mcp.call"]);
    assert!(
        ran.stdout.contains("demo.echo answered") && ran.stdout.contains(trace),
        "{ran}"
    );
    assert_eq!(
        mcpx.ok(&["log", "--event", "mcp.call", "--format", "bare"])
            .stdout,
        "demo.echo answered\n"
    );
    let line = mcpx.ok(&["log", "--event=mcp.call", "--logging-format=json"]);
    assert_eq!(line.json()["event"], "mcp.call");
    assert!(
        mcpx.ok(&["log", "--format=logfmt"])
            .stdout
            .contains("level=info")
    );
    let chain = mcpx.ok(&["log", "--chain", trace]).stdout;
    let lines: Vec<&str> = chain.lines().collect();
    assert!(
        lines
            .iter()
            .any(|line| line.trim_start().starts_with("srv-")),
        "{chain}"
    );
    assert!(chain.contains(trace), "{chain}");
    let stats = mcpx.ok(&["stats"]).stdout;
    assert!(stats.starts_with("SERVER  TOOL  CALLS"), "{stats}");
    assert!(
        stats
            .lines()
            .any(|line| line.starts_with("demo    echo  1 ")),
        "{stats}"
    );
    let ran = mcpx.run(&["log", "--follow", "--reverse"]);
    assert_eq!(ran.code, 2, "{ran}");
}

#[test]
fn the_index_answers_sql_without_a_daemon_and_only_reads() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["call", "demo.echo", "message=hi"]);
    mcpx.ok(&["stop"]);
    let ran = mcpx.ok(&[
        "log",
        "sql",
        "select tool, count(*) as n from records where event = 'mcp.call' group by 1",
    ]);
    assert_eq!(ran.stdout, "tool  n\necho  1\n");
    let (_, table) = mcpx.json(&["log", "sql", "select 1 as one"]);
    assert_eq!(table["rows"][0][0], 1);
    assert!(
        mcpx.ok(&["log", "sql", "--schema"])
            .stdout
            .contains("CREATE TABLE")
    );
    for write in [
        "delete from records",
        "attach 'x' as y",
        "pragma journal_mode=delete",
    ] {
        let ran = mcpx.run(&["log", "sql", write]);
        assert_eq!(ran.code, 2, "{write}\n{ran}");
    }
    assert_eq!(mcpx.daemons(), Vec::<u64>::new());
}

#[test]
fn following_prints_what_comes() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["call", "demo.echo", "message=before"]);
    let mut child = mcpx
        .command(&[
            "log",
            "--follow",
            "--format=bare",
            "--event",
            "mcp.call",
            "--tool",
            "search",
        ])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    mcpx.ok(&["call", "demo.echo", "message=other"]);
    mcpx.ok(&["call", "demo.search", "query=x"]);
    assert_eq!(lines.next().unwrap().unwrap(), "demo.search answered");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn events_are_a_line_each() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["call", "demo.echo", "message=x"]);
    let mut child = mcpx
        .command(&["--json", "events", "--since", "0"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let event: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert!(event["kind"].is_string(), "{event}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_stream_ends_when_nobody_reads_it_any_more() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    mcpx.ok(&["call", "demo.echo", "message=x"]);
    for args in [
        &["events", "--since", "0"][..],
        &["log", "--follow", "--format=bare"],
    ] {
        let mut child = mcpx.command(args).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        lines.next().unwrap().unwrap();
        drop(lines);
        let deadline = std::time::Duration::from_secs(20);
        testkit::wait_until("the end of the stream", deadline, || {
            mcpx.ok(&["call", "demo.echo", "message=y"]);
            child.try_wait().unwrap().is_some()
        });
        assert!(child.wait().unwrap().success(), "{args:?}");
    }
}
