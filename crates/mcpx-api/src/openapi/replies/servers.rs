//! What is configured, and what became of a change.

use serde_json::{Value, json};

use super::shape::{
    any, count, flag, free, list, object, reference, sharing, state, text, texts, words,
};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "Servers",
            object([
                ("servers", list(&reference("Server"))),
                ("untrusted", list(&reference("Untrusted"))),
                ("warnings", texts()),
            ]),
        ),
        ("Server", server()),
        (
            "Untrusted",
            object([
                ("file", text()),
                ("line", count()),
                ("kind", words(&["server", "setting"])),
                ("name", text()),
                ("text", text()),
                ("digest", text()),
            ]),
        ),
        (
            "Written",
            object([
                ("path", text()),
                ("backup?", text()),
                ("written", flag()),
                ("added", texts()),
                ("removed", texts()),
                ("changed", texts()),
                ("namespaces", texts()),
                ("note?", text()),
            ]),
        ),
        ("Setting", setting()),
        (
            "SettingShadowed",
            object([("value", any()), ("source", text())]),
        ),
        ("Settings", list(&reference("Setting"))),
        (
            "SettingChanged",
            json!({"allOf": [
                reference("Setting"),
                object([
                    ("applied", flag()),
                    ("restartRequired", flag()),
                    ("note?", text()),
                    ("file?", file()),
                ])
            ]}),
        ),
    ]
}

fn server() -> Value {
    object([
        ("name", text()),
        ("namespace", text()),
        ("file", text()),
        ("line", count()),
        ("project", flag()),
        ("state", state()),
        ("error?", text()),
        ("hint?", text()),
        ("command?", any()),
        ("args?", any()),
        ("env?", texts()),
        ("cwd?", any()),
        ("url?", any()),
        ("headers?", texts()),
        ("auth?", text()),
        ("protocol", text()),
        ("sharing", sharing()),
        ("scope", text()),
        ("max", count()),
        ("min", count()),
        ("profiles", texts()),
        ("pool", text()),
    ])
}

fn setting() -> Value {
    object([
        ("path", text()),
        ("kind", text()),
        ("value", any()),
        ("default", text()),
        ("source", text()),
        ("shadowed", list(&reference("SettingShadowed"))),
        ("env", text()),
        ("envAliases", texts()),
        ("flag", text()),
        ("flagAliases", texts()),
        ("enum?", texts()),
        ("enumAliases?", free()),
        ("scope", words(&["daemon", "client", "call"])),
        ("hot", flag()),
        ("plumbing", flag()),
        ("help", text()),
    ])
}

fn file() -> Value {
    object([("path", text()), ("backup?", text()), ("written", flag())])
}
