//! A record of the log as text, in one of six formats. All of a record is text from outside; what comes out is safe.

use mcp_wire::{Object, Raw};
use untrusted_text::terminal::one_line;

use crate::printer::escape_json;
use crate::render::scalar;

/// Longest single value, in characters.
const VALUE: usize = 4_000;

/// How records are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A line for people, with everything.
    Text,
    /// `key=value` pairs.
    Logfmt,
    /// The record as it is in the file.
    Json,
    /// The same over several lines.
    JsonPretty,
    /// Time, level and message.
    Compact,
    /// The message alone.
    Bare,
}

/// Members that a line says in its own way.
const SAID: &[&str] = &[
    "v",
    "ts",
    "level",
    "msg",
    "template",
    "event",
    "server",
    "tool",
    "durationMs",
    "ok",
    "attributes",
];

impl Format {
    /// The format of a word of `logging.format`.
    pub(super) fn of(word: &str) -> Self {
        match word {
            "logfmt" => Self::Logfmt,
            "json" => Self::Json,
            "json-pretty" => Self::JsonPretty,
            "compact" => Self::Compact,
            "bare" => Self::Bare,
            _ => Self::Text,
        }
    }

    /// A record without a line break at its end.
    pub(super) fn lines(self, record: &Object) -> String {
        let text = |name: &str| one_line(&record.get(name).map(scalar).unwrap_or_default(), VALUE);
        match self {
            Self::Json => escape_json(Raw::from(record.clone()).as_str()),
            Self::JsonPretty => escape_json(&super::super::from_table::pretty(&Raw::from(
                record.clone(),
            ))),
            Self::Bare => text("msg"),
            Self::Compact => {
                let ts = text("ts");
                // Of a time that has one, the clock alone.
                let clock = ts.get(11..19).unwrap_or(&ts);
                let level = text("level")
                    .chars()
                    .next()
                    .unwrap_or('-')
                    .to_ascii_uppercase();
                format!("{clock} {level} {}", text("msg"))
            }
            Self::Logfmt => {
                let mut pairs = Vec::new();
                let whole = record.without(&["v", "attributes"]);
                let attributes = record.object("attributes").unwrap_or_default();
                for (name, value) in whole.iter().chain(attributes.iter()) {
                    push_pairs(&mut pairs, name, value);
                }
                pairs.join(" ")
            }
            Self::Text => {
                let seconds = text("ts");
                let seconds = seconds
                    .get(..19)
                    .map_or(seconds.clone(), |head| format!("{head}Z"));
                let mut line = format!(
                    "{seconds} {:5} {}",
                    text("level").to_uppercase(),
                    text("msg")
                );
                if let Some(took) = record.get("durationMs").and_then(Raw::number) {
                    line.push_str(&format!(" ({took:.1} ms)"));
                }
                let event = text("event");
                if !event.is_empty() {
                    line.push_str(&format!(" [{event}]"));
                }
                let attributes = record.object("attributes").unwrap_or_default();
                let rest = record.without(SAID);
                let mut pairs = vec![line];
                for (name, value) in rest.iter().chain(attributes.iter()) {
                    push_pairs(&mut pairs, name, value);
                }
                pairs.join(" ")
            }
        }
    }
}

/// `name=value`; of an object a pair for each member, `host.os=linux`. What is empty is not said.
fn push_pairs(pairs: &mut Vec<String>, name: &str, value: &Raw) {
    match value.object() {
        Ok(object) => {
            for (inner, value) in object.iter() {
                push_pairs(pairs, &format!("{name}.{inner}"), value);
            }
        }
        Err(_) if value.is_null() || value.as_str() == "[]" => {}
        Err(_) => pairs.push(pair(name, value)),
    }
}

/// `name=value`, quoted when it would not be one word.
fn pair(name: &str, value: &Raw) -> String {
    let name: String = one_line(name, 80)
        .chars()
        .map(|char| {
            if char.is_whitespace() || char == '=' || char == '"' {
                '_'
            } else {
                char
            }
        })
        .collect();
    let value = one_line(&scalar(value), VALUE);
    let is_word = !value.is_empty() && !value.contains([' ', '"', '=', '\\']);
    if is_word {
        format!("{name}={value}")
    } else {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        format!("{name}=\"{value}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_in_each_format() {
        let json = r#"{"v":1,"ts":"2026-12-01T01:02:03.456789Z","level":"info","msg":"demo.echo answered","event":"mcp.call","server":"demo","tool":"echo","trace":"cal-1","durationMs":3.25,"ok":true,"attributes":{"note":"a \"b\"\u001b[2J"}}"#;
        let record = Raw::parse(json).unwrap().object().unwrap();
        #[track_caller]
        fn check(format: Format, record: &Object, expect: &str) {
            assert_eq!(format.lines(record), expect);
        }
        check(Format::Bare, &record, "demo.echo answered");
        check(Format::Compact, &record, "01:02:03 I demo.echo answered");
        check(
            Format::Text,
            &record,
            r#"2026-12-01T01:02:03Z INFO  demo.echo answered (3.2 ms) [mcp.call] trace=cal-1 note="a \"b\"""#,
        );
        check(
            Format::Logfmt,
            &record,
            r#"ts=2026-12-01T01:02:03.456789Z level=info msg="demo.echo answered" event=mcp.call server=demo tool=echo trace=cal-1 durationMs=3.25 ok=true note="a \"b\"""#,
        );
        let json = r#"{"ts":"2026-12-01T01:02:03Z","level":"info","msg":"m","host":{"os":"linux","name":null},"files":[]}"#;
        let record = Raw::parse(json).unwrap().object().unwrap();
        check(
            Format::Text,
            &record,
            "2026-12-01T01:02:03Z INFO  m host.os=linux",
        );
        assert!(Format::JsonPretty.lines(&record).contains("\n  \"ts\""));
        assert_eq!(Format::of("compact"), Format::Compact);
    }
}
