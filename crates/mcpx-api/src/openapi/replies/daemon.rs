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
                ("log?", reference("LogStatus")),
                ("clients", count()),
                (
                    "saving",
                    object([
                        ("clients", count()),
                        ("servers", count()),
                        ("instances", count()),
                        ("calls", count()),
                        ("apart", count()),
                    ]),
                ),
                ("servers", list(&reference("ServerStatus"))),
            ]),
        ),
        (
            "LogStatus",
            object([
                ("written", count()),
                ("lost", count()),
                ("failing?", text()),
            ]),
        ),
        (
            "Refreshed",
            object([
                ("namespaces", texts()),
                ("added", texts()),
                ("removed", texts()),
                ("changed", texts()),
                ("errors", list(&reference("ServerError"))),
            ]),
        ),
        (
            "ServerError",
            object([("server", text()), ("error", text())]),
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
                ("servers", list(&reference("ServerRestarted"))),
            ]),
        ),
        (
            "ServerRestarted",
            object([
                ("server", text()),
                ("stopped", count()),
                ("started", texts()),
                ("failed", list(&reference("KeyError"))),
                ("skipped", list(&reference("KeySkipped"))),
                ("note?", text()),
            ]),
        ),
        ("KeyError", object([("key", text()), ("error", text())])),
        ("KeySkipped", object([("key", text()), ("why", text())])),
        (
            "Protocol",
            object([
                ("spoken", list(&reference("Revision"))),
                ("servers", list(&reference("ServerProtocol"))),
            ]),
        ),
        (
            "Revision",
            object([("revision", text()), ("era", words(&["modern", "legacy"]))]),
        ),
        (
            "ServerProtocol",
            object([
                ("server", text()),
                ("first", text()),
                ("revision?", text()),
                ("confirmed", flag()),
            ]),
        ),
        (
            "Resolved",
            object([
                ("daemon", text()),
                ("socket", text()),
                ("servers", list(&reference("ServerKey"))),
            ]),
        ),
        (
            "ServerKey",
            object([
                ("server", text()),
                ("scope", text()),
                ("key", text()),
                ("fix?", text()),
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
        ("sharesWith?", texts()),
        ("waiting", count()),
        ("tools?", count()),
        ("schemaAgeSec?", count()),
        ("state", state()),
        ("healthy?", flag()),
        ("lastError?", text()),
        ("leftOut?", texts()),
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
        (
            "sizesFrom",
            object([
                ("start", text()),
                ("call", text()),
                ("idle", text()),
                ("queue", text()),
                ("max", text()),
                ("min", text()),
            ]),
        ),
        ("instances", list(&reference("Instance"))),
    ])
}
