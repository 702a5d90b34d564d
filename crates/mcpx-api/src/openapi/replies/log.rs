//! What happened.

use serde_json::{Value, json};

use super::shape::{count, flag, free, list, number, object, reference, text};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "Log",
            json!({"anyOf": [reference("LogRecords"), reference("LogChain")]}),
        ),
        (
            "LogRecords",
            object([
                ("records", list(&reference("LogRecord"))),
                ("cursor", text()),
                ("more", flag()),
            ]),
        ),
        (
            "LogChain",
            object([("trace", text()), ("chain", list(&reference("LogLink")))]),
        ),
        (
            "LogLink",
            object([
                ("depth", count()),
                ("trace", text()),
                ("parent?", text()),
                ("records", list(&reference("LogRecord"))),
            ]),
        ),
        ("LogRecord", record()),
        ("Stats", object([("by", text()), ("rows", list(&free()))])),
    ]
}

fn record() -> Value {
    object([
        ("ts", text()),
        ("level", text()),
        ("msg", text()),
        ("template?", text()),
        ("event?", text()),
        ("server?", text()),
        ("tool?", text()),
        ("session?", text()),
        ("trace?", text()),
        ("traceParent?", text()),
        ("durationMs?", number()),
        ("ok?", flag()),
        ("instance?", text()),
        ("attributes?", free()),
    ])
}
