//! What there is: namespaces, tools, how they changed.

use serde_json::{Value, json};

use super::shape::{count, flag, list, object, reference, sharing, state, text, texts, words};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "Namespace",
            object([
                ("namespace", text()),
                ("server", text()),
                ("tools?", count()),
                ("resources?", count()),
                ("description?", text()),
                ("live", count()),
                ("sharing", sharing()),
                ("scope", text()),
                ("state", state()),
                ("error?", text()),
                ("hint?", text()),
                ("cached", flag()),
                ("requiresSecrets?", texts()),
            ]),
        ),
        ("Namespaces", list(&reference("Namespace"))),
        (
            "Tools",
            list(&object([
                ("namespace", text()),
                ("server", text()),
                ("function", text()),
                ("name", text()),
            ])),
        ),
        (
            "FoundTools",
            list(&object([
                ("function", text()),
                ("namespace", text()),
                ("server", text()),
                ("tool", text()),
                ("description?", text()),
                ("matched", words(&["exact", "prefix", "words"])),
                ("score", json!({"type": "number"})),
            ])),
        ),
        (
            "History",
            object([
                ("tools", texts()),
                (
                    "changes",
                    json!({"type": "object", "additionalProperties": list(&object([
                        ("when", text()),
                        ("kind", text()),
                        ("what", text()),
                        ("field?", text()),
                        ("from?", text()),
                    ]))}),
                ),
            ]),
        ),
        ("OfServers", list(&of_server())),
    ]
}

fn of_server() -> Value {
    object([("namespace", text()), ("server", text())])
}
