//! What the daemon answers about itself.

use serde_json::{Value, json};

use super::shape::{count, flag, list, object, reference, sharing, state, text, texts, words};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "Health",
            object([
                ("status", words(&["ok", "stopping"])),
                ("version", text()),
                ("pid", count()),
                ("uptimeSec", count()),
                ("endpoint?", text()),
            ]),
        ),
        ("Instance", instance()),
        ("ServerStatus", server_status()),
        (
            "Status",
            object([
                ("version", text()),
                ("pid", count()),
                ("uptimeSec", count()),
                ("endpoint?", text()),
                ("socket?", text()),
                ("config", texts()),
                ("configError?", text()),
                ("configNote?", text()),
                (
                    "log?",
                    object([
                        ("written", count()),
                        ("lost", count()),
                        ("failing?", text()),
                    ]),
                ),
                ("clients", count()),
                ("servers", list(&reference("ServerStatus"))),
            ]),
        ),
        (
            "Refreshed",
            object([
                ("namespaces", texts()),
                ("added", texts()),
                ("removed", texts()),
                ("changed", texts()),
                (
                    "errors",
                    list(&object([("server", text()), ("error", text())])),
                ),
            ]),
        ),
        (
            "Reloaded",
            object([
                ("status", text()),
                ("added", texts()),
                ("removed", texts()),
                ("changed", texts()),
                ("kept", texts()),
                ("namespaces", texts()),
            ]),
        ),
        (
            "Restarted",
            object([
                ("lazy", flag()),
                (
                    "servers",
                    list(&object([
                        ("server", text()),
                        ("stopped", count()),
                        ("started", texts()),
                        ("failed", why("error")),
                        ("skipped", why("why")),
                        ("note?", text()),
                    ])),
                ),
            ]),
        ),
        (
            "Protocol",
            object([
                (
                    "spoken",
                    list(&object([
                        ("revision", text()),
                        ("era", words(&["modern", "legacy"])),
                    ])),
                ),
                (
                    "servers",
                    list(&object([
                        ("server", text()),
                        ("first", text()),
                        ("revision?", text()),
                        ("confirmed", flag()),
                    ])),
                ),
            ]),
        ),
        (
            "Resolved",
            object([
                ("daemon", text()),
                ("socket", text()),
                (
                    "servers",
                    list(&object([
                        ("server", text()),
                        ("scope", text()),
                        ("key", text()),
                        ("fix?", text()),
                    ])),
                ),
            ]),
        ),
        ("Released", object([("released", count())])),
    ]
}

fn instance() -> Value {
    object([
        ("id", text()),
        ("pid?", json!({"type": "integer"})),
        ("holders", count()),
        ("key", text()),
        ("calls", count()),
        ("uptimeSec", count()),
        ("idleSec", count()),
        ("protocol", text()),
        ("trace", text()),
    ])
}

fn server_status() -> Value {
    object([
        ("name", text()),
        ("namespace", text()),
        ("pool", text()),
        ("sharing", sharing()),
        ("scope", text()),
        ("max", count()),
        ("min", count()),
        ("waiting", count()),
        ("tools?", count()),
        ("schemaAgeSec?", count()),
        ("state", state()),
        ("healthy?", flag()),
        ("lastError?", text()),
        ("reached", text()),
        (
            "timeoutsMs",
            object([
                ("start", count()),
                ("call", count()),
                ("idle", count()),
                ("queue", count()),
            ]),
        ),
        ("instances", list(&instance())),
    ])
}

/// What was ended or started, and one more word about it.
fn why(name: &'static str) -> Value {
    list(&object([("key", text()), (name, text())]))
}
