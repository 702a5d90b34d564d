//! What calls answer, and what they leave behind.

use serde_json::Value;

use super::shape::{any, count, flag, free, free_as, list, object, reference, text, texts, words};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "CallAnswer",
            object([
                ("result?", reference("Result")),
                (
                    "inputRequired?",
                    free_as("What the server asks before it answers."),
                ),
                ("task?", free_as("The server's own task.")),
                ("server", text()),
                ("tool", text()),
                ("durationMs", count()),
                ("traceId", text()),
                ("instance", text()),
                ("diagnostics?", list(&reference("Finding"))),
            ]),
        ),
        ("Result", result()),
        (
            "BatchAnswer",
            object([
                ("results", list(&reference("BatchResult"))),
                ("failed", count()),
            ]),
        ),
        (
            "BatchResult",
            object([
                ("index", count()),
                ("status", words(&["ok", "failed", "skipped"])),
                ("server?", text()),
                ("tool?", text()),
                ("result?", reference("Result")),
                ("error?", text()),
                ("code?", text()),
                ("hint?", text()),
                ("durationMs?", count()),
                ("traceId?", text()),
                ("diagnostics?", list(&reference("Finding"))),
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

/// A result as its server made it; a tool's has content, a prompt's messages, a resource's contents.
fn result() -> Value {
    let parts = list(&free());
    let mut result = object([
        ("content?", parts.clone()),
        ("structuredContent?", any()),
        ("isError?", flag()),
        ("contents?", parts.clone()),
        ("messages?", parts),
        ("completion?", free()),
        ("_meta?", free()),
    ]);
    result["additionalProperties"] = true.into();
    result["description"] = "What the server answered, as it answered it.".into();
    result
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
