use std::sync::Arc;
use std::time::Duration;

use mcp_client::{Cause, Delivery, Failure, FailureKind, Label};
use mcp_wire::{Object, Outcome, Raw, RpcError};
use mcpx_store::StateDir;
use mcpx_store::log::index::{Dimension, Index, Query, Stats};
use mcpx_store::log::{Level, Log, LogOptions};
use untrusted_text::redact::Redactor;

use super::*;

#[allow(clippy::disallowed_methods, reason = "a test has the real time")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

struct Told {
    _home: testkit::TempHome,
    state: StateDir,
    log: Log,
    events: Arc<Events>,
    telling: Telling,
}

fn told() -> Told {
    let home = testkit::TempHome::new();
    let state = StateDir::open(home.path().join("state")).expect("a folder");
    let options = LogOptions {
        level: Level::Debug,
        redactor: Redactor::with_values(vec!["zebra-crossing-9".to_owned()]),
        ..LogOptions::default()
    };
    let log = Log::open(&state, options, Arc::new(now));
    let events = Arc::new(Events::new(100));
    let telling = Telling::new(log.clone(), Arc::clone(&events)).under("dmn-1".to_owned());
    Told {
        _home: home,
        state,
        log,
        events,
        telling,
    }
}

impl Told {
    fn index(&self) -> Index {
        assert!(self.log.flush(Duration::from_secs(10)));
        let mut index = Index::open(&self.state).expect("an index");
        index.refresh().expect("read");
        index
    }

    fn records(&self) -> Vec<Record> {
        let entries = self.index().query(&Query::default()).expect("records");
        entries.into_iter().map(|entry| entry.record).collect()
    }

    fn kinds(&self) -> Vec<String> {
        let kept = self.events.subscribe(Some(0)).replay;
        kept.into_iter()
            .map(|event| event.kind.to_owned())
            .collect()
    }

    fn ends(&self, ended: &Result<Done, CallError>) {
        let record = CallRecord {
            session: Some("s".to_owned()),
            server: Some("files".to_owned()),
            tool: Some("read".to_owned()),
            instance: Some("files#1".to_owned()),
            instance_trace: Some("srv-1".to_owned()),
        };
        let trace = Trace::of(&Call::tool(None, "t", Object::new()));
        self.telling
            .call_ended(record, &trace, Duration::from_millis(7), ended);
    }
}

fn done(is_error: bool) -> Done {
    let result = Object::new()
        .with("content", Raw::of(&Vec::<Raw>::new()))
        .with("isError", is_error);
    Done {
        outcome: Outcome::Complete(result),
        server: "files".to_owned(),
        tool: "read".to_owned(),
        instance: "files#1".to_owned(),
        trace: "cal-1".to_owned(),
        took: Duration::from_millis(7),
        findings: Vec::new(),
    }
}

fn failure(kind: FailureKind) -> CallError {
    CallError::Failed {
        failure: Box::new(Failure {
            server: Label {
                name: "files".to_owned(),
                resolved: "/bin/files".to_owned(),
            },
            kind,
            stderr: None,
        }),
        findings: Vec::new(),
        verify_with: None,
    }
}

fn no_answer(why: &str) -> CallError {
    failure(FailureKind::NoAnswer {
        delivery: Delivery::OutcomeUnknown,
        cause: Cause::Closed,
        why: why.to_owned(),
    })
}

#[test]
fn a_call_is_one_record_below_its_instance_and_is_error_is_a_failure() {
    let told = told();
    told.ends(&Ok(done(false)));
    told.ends(&Ok(done(true)));
    let records = told.records();
    assert_eq!(records.len(), 2);
    for (record, ok) in records.iter().zip([true, false]) {
        assert_eq!(record.event, "mcp.call");
        assert_eq!(record.ok, Some(ok));
        assert_eq!(record.duration_ms, Some(7.0));
        assert_eq!(record.session.as_deref(), Some("s"));
        assert_eq!(record.instance.as_deref(), Some("files#1"));
        assert_eq!(record.trace_parent.as_deref(), Some("srv-1"));
        assert!(
            record
                .trace
                .as_deref()
                .is_some_and(|trace| trace.starts_with("cal-"))
        );
    }
    assert_eq!(told.kinds(), ["call.ended", "call.ended"]);
}

#[test]
fn failures_of_one_kind_are_counted_together_whatever_their_words() {
    let told = told();
    told.ends(&Err(no_answer("pid 7 ended")));
    told.ends(&Err(no_answer("pid 8 ended")));
    told.ends(&Err(failure(FailureKind::Answered(RpcError::new(
        -32602,
        "a is missing",
    )))));
    told.ends(&Err(CallError::Exhausted {
        server: "files".to_owned(),
        why: "all 1".to_owned(),
    }));
    let stats = told
        .index()
        .stats(Dimension::Errors, &Query::default())
        .expect("statistics");
    let Stats::Errors(rows) = stats else {
        panic!("errors were asked for")
    };
    let counted: Vec<(&str, u64)> = rows
        .iter()
        .map(|row| (row.template.as_str(), row.count))
        .collect();
    assert_eq!(
        counted[0],
        ("{server}.{tool} has no answer: it closed the connection", 2)
    );
    assert_eq!(counted.len(), 3, "{counted:?}");
    let records = told.records();
    assert_eq!(records[0].attributes["delivery"], "outcome_unknown");
    assert_eq!(records[0].attributes["code"], "upstream");
}

#[test]
fn what_names_no_server_or_tool_is_no_call_in_the_statistics() {
    let told = told();
    let trace = Trace::of(&Call::tool(None, "t", Object::new()));
    let ended = Err(CallError::UnknownServer {
        spelled: "nope".to_owned(),
        near: Vec::new(),
        all: Vec::new(),
        unasked: Vec::new(),
    });
    told.telling
        .call_ended(CallRecord::default(), &trace, Duration::ZERO, &ended);
    let records = told.records();
    assert_eq!(records[0].event, "mcp.refused");
    assert_eq!(records[0].msg, "no server is called `nope`");
    let stats = told
        .index()
        .stats(Dimension::Calls, &Query::default())
        .expect("statistics");
    assert_eq!(stats, Stats::Calls(Vec::new()));
}

#[test]
fn a_secret_in_what_failed_is_not_in_the_log() {
    let told = told();
    told.ends(&Err(no_answer("401 for Bearer zebra-crossing-9")));
    told.telling
        .warned("files", "zebra-crossing-9 is odd".to_owned());
    assert_eq!(told.records().len(), 2);
    for file in std::fs::read_dir(told.state.logs_dir()).expect("a folder") {
        let path = file.expect("a file").path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            let text = std::fs::read_to_string(&path).expect("text");
            assert!(!text.contains("zebra-crossing-9"), "{text}");
        }
    }
}

#[test]
fn sessions_are_remembered_by_their_calls_and_the_oldest_forgotten_first() {
    let told = told();
    assert_eq!(told.telling.silent_for("a"), None);
    told.telling.heard(Some("a"));
    assert!(told.telling.silent_for("a").is_some());
    for at in 0..CALLERS {
        told.telling.heard(Some(&format!("s{at}")));
    }
    assert_eq!(told.telling.silent_for("a"), None);
    assert!(told.telling.silent_for("s9999").is_some());
}
