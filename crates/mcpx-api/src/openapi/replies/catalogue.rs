//! What there is: namespaces, tools, how they changed.

use serde_json::{Value, json};

use super::shape::{
    count, flag, free, list, number, object, reference, sharing, state, text, texts, words,
};

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
        ("Tools", list(&reference("Tool"))),
        (
            "Tool",
            object([
                ("namespace", text()),
                ("server", text()),
                ("function", text()),
                ("name", text()),
                ("title?", text()),
                ("description?", text()),
                ("inputSchema?", free()),
                ("outputSchema?", free()),
                ("annotations?", free()),
                ("_meta?", free()),
            ]),
        ),
        ("FoundTools", list(&reference("FoundTool"))),
        (
            "FoundTool",
            object([
                ("function", text()),
                ("namespace", text()),
                ("server", text()),
                ("tool", text()),
                ("description?", text()),
                ("matched", words(&["exact", "prefix", "words"])),
                ("score", number()),
            ]),
        ),
        (
            "History",
            object([
                ("tools", texts()),
                (
                    "changes",
                    json!({"type": "object", "additionalProperties": list(&reference("Change"))}),
                ),
            ]),
        ),
        (
            "Change",
            object([
                ("when", text()),
                ("kind", text()),
                ("what", text()),
                ("field?", text()),
                ("from?", text()),
            ]),
        ),
        ("Resources", list(&reference("Resource"))),
        ("Resource", of_server("uri")),
        ("ResourceTemplates", list(&reference("ResourceTemplate"))),
        ("ResourceTemplate", of_server("uriTemplate")),
        ("Prompts", list(&reference("Prompt"))),
        ("Prompt", of_server("name")),
    ]
}

/// What a server lists, as it lists it: the member that names it, and more.
fn of_server(member: &'static str) -> Value {
    object([
        ("namespace", text()),
        ("server", text()),
        (member, text()),
        ("description?", text()),
    ])
}
