//! A record as a line of a file, and back.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use untrusted_text::redact::Redactor;

use super::{
    record::{Level, Record},
    redaction,
};

/// Version of the lines that are written, and the newest that is read.
const VERSION: u64 = 1;

/// Longest message, in bytes.
const MAX_MSG_BYTES: usize = 4_000;

/// Longest name, in bytes.
const MAX_NAME_BYTES: usize = 300;

/// A record that was read again. Serializes as its line does.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When it happened, to the microsecond.
    pub ts: Timestamp,
    /// What happened. All of it is text from outside.
    pub record: Record,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LineOut<'a> {
    v: u64,
    ts: String,
    level: Level,
    msg: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    template: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    event: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_parent: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    attributes: Cow<'a, Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineIn {
    v: u64,
    #[serde(with = "crate::time")]
    ts: Timestamp,
    level: Level,
    #[serde(default)]
    msg: String,
    #[serde(default)]
    template: String,
    #[serde(default)]
    event: String,
    server: Option<String>,
    tool: Option<String>,
    session: Option<String>,
    trace: Option<String>,
    trace_parent: Option<String>,
    duration_ms: Option<f64>,
    ok: Option<bool>,
    instance: Option<String>,
    #[serde(default)]
    attributes: Map<String, Value>,
}

/// Returns a time as it stands in a line: always of the same length, so that it sorts as text.
pub(super) fn time(ts: Timestamp) -> String {
    format!("{ts:.6}")
}

/// Appends the line of a record, with its line break and without secrets.
pub(super) fn append(out: &mut Vec<u8>, ts: Timestamp, record: Record, redactor: &Redactor) {
    let name = |text: Option<String>| -> Option<Cow<'static, str>> {
        text.map(|text| Cow::Owned(redaction::text(redactor, &text, MAX_NAME_BYTES).into_owned()))
    };
    let line = LineOut {
        v: VERSION,
        ts: time(ts),
        level: record.level,
        msg: redaction::text(redactor, &record.msg, MAX_MSG_BYTES),
        template: redaction::text(redactor, &record.template, MAX_NAME_BYTES),
        event: redaction::text(redactor, &record.event, MAX_NAME_BYTES),
        server: name(record.server),
        tool: name(record.tool),
        session: name(record.session),
        trace: name(record.trace),
        trace_parent: name(record.trace_parent),
        // Nanoseconds of a duration are noise.
        duration_ms: record
            .duration_ms
            .map(|ms| (ms * 1_000.0).round() / 1_000.0),
        ok: record.ok,
        instance: name(record.instance),
        attributes: Cow::Owned(redaction::attributes(redactor, record.attributes)),
    };
    let before = out.len();
    if serde_json::to_writer(&mut *out, &line).is_err() {
        // No type in it can fail; half a line would be one that is skipped.
        out.truncate(before);
        return;
    }
    out.push(b'\n');
}

/// Reads a line, with or without its line break.
pub(super) fn parse(line: &[u8]) -> Option<Entry> {
    let line: LineIn = serde_json::from_slice(line).ok()?;
    (line.v <= VERSION).then_some(Entry {
        ts: line.ts,
        record: Record {
            level: line.level,
            msg: line.msg,
            template: line.template.into(),
            event: line.event.into(),
            server: line.server,
            tool: line.tool,
            session: line.session,
            trace: line.trace,
            trace_parent: line.trace_parent,
            duration_ms: line.duration_ms,
            ok: line.ok,
            instance: line.instance,
            attributes: line.attributes,
        },
    })
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = &self.record;
        let name = |text: &'_ Option<String>| text.clone().map(Cow::Owned);
        LineOut {
            v: VERSION,
            ts: time(self.ts),
            level: record.level,
            msg: Cow::Borrowed(&record.msg),
            template: Cow::Borrowed(&record.template),
            event: Cow::Borrowed(&record.event),
            server: name(&record.server),
            tool: name(&record.tool),
            session: name(&record.session),
            trace: name(&record.trace),
            trace_parent: name(&record.trace_parent),
            duration_ms: record.duration_ms,
            ok: record.ok,
            instance: name(&record.instance),
            attributes: Cow::Borrowed(&record.attributes),
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = Record {
            template: "{n} things".into(),
            server: Some("files".to_owned()),
            tool: Some("read\n\u{2028}".to_owned()),
            session: Some("s1".to_owned()),
            trace: Some("cal-1".to_owned()),
            trace_parent: Some("srv-1".to_owned()),
            duration_ms: Some(1.25),
            ok: Some(false),
            instance: Some("files#1".to_owned()),
            ..Record::new(Level::Warn, "x.y", "3 things")
        }
        .with("pid", 7);
        let ts = Timestamp::from_microsecond(1_790_000_000_000_001).unwrap();
        let mut line = Vec::new();
        append(&mut line, ts, record.clone(), &Redactor::default());
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let entry = parse(&line).unwrap();
        assert_eq!(entry, Entry { ts, record });
        assert_eq!(
            serde_json::to_string(&entry).unwrap(),
            String::from_utf8(line).unwrap().trim_end()
        );
    }

    #[test]
    fn a_small_record_is_a_short_line() {
        let ts = Timestamp::from_second(1_790_000_000).unwrap();
        let mut line = Vec::new();
        let record = Record::new(Level::Info, "daemon.start", "started");
        append(&mut line, ts, record, &Redactor::default());
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "{\"v\":1,\"ts\":\"2026-09-21T14:13:20.000000Z\",\"level\":\"info\",\"msg\":\"started\",\"event\":\"daemon.start\"}\n"
        );
    }

    #[test]
    fn a_line_of_a_newer_version_is_none_of_ours() {
        let line = |v: u64| format!(r#"{{"v":{v},"ts":"2026-09-21T14:13:20Z","level":"info"}}"#);
        assert!(parse(line(1).as_bytes()).is_some());
        assert!(parse(line(2).as_bytes()).is_none());
    }
}
