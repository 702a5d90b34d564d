//! What happened.

use serde_json::{Value, json};

use super::shape::{count, flag, list, object, text};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "Log",
            json!({"anyOf": [
                object([("records", list(&record())), ("cursor", text()), ("more", flag())]),
                object([("trace", text()), ("chain", list(&object([
                    ("depth", count()),
                    ("trace", text()),
                    ("parent?", text()),
                    ("records", list(&record())),
                ])))])
            ]}),
        ),
        (
            "Stats",
            object([("by", text()), ("rows", list(&json!({"type": "object"})))]),
        ),
    ]
}

fn record() -> Value {
    object([("ts", text()), ("level", text()), ("msg", text())])
}
