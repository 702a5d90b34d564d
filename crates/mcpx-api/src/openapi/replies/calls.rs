//! What calls answer, and what they leave behind.

use serde_json::{Value, json};

use super::shape::{count, list, object, reference, text, texts, words};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "CallAnswer",
            object([
                (
                    "result?",
                    json!({"type": "object", "description": "What the server answered, as it answered it."}),
                ),
                (
                    "inputRequired?",
                    json!({"type": "object", "description": "What the server asks before it answers."}),
                ),
                (
                    "task?",
                    json!({"type": "object", "description": "The server's own task."}),
                ),
                ("server", text()),
                ("tool", text()),
                ("durationMs", count()),
                ("traceId", text()),
                ("instance", text()),
                ("diagnostics?", json!({"type": "array"})),
            ]),
        ),
        (
            "BatchAnswer",
            object([
                (
                    "results",
                    list(&object([
                        ("index", count()),
                        ("status", words(&["ok", "failed", "skipped"])),
                    ])),
                ),
                ("failed", count()),
            ]),
        ),
        (
            "Piece",
            object([
                ("text?", text()),
                ("base64?", text()),
                ("offset", count()),
                ("next?", count()),
                ("total", count()),
            ]),
        ),
        ("Task", task()),
        ("TaskAnswer", object([("task", reference("Task"))])),
        (
            "Tasks",
            object([("tasks", list(&reference("Task"))), ("broken", texts())]),
        ),
    ]
}

fn task() -> Value {
    object([
        ("id", text()),
        ("owner", text()),
        ("server", text()),
        ("tool", text()),
        (
            "state",
            words(&[
                "working",
                "input_required",
                "completed",
                "failed",
                "cancelled",
                "interrupted",
            ]),
        ),
        ("message?", text()),
        ("trace?", text()),
        ("created", text()),
        ("updated", text()),
        ("ttlMs?", count()),
    ])
}
