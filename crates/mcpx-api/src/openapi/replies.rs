//! What operations answer, as schemas. The daemon's tests hold its answers against them.

use serde_json::{Map, Value, json};

use crate::{Code, Op};

/// The answers of an operation that did what was asked: status, what it is, the name of its schema.
pub(super) fn of(operation: Op) -> Vec<(u16, &'static str, &'static str)> {
    let one = |what, schema| vec![(200, what, schema)];
    match operation {
        Op::Health => one("The daemon answers.", "Health"),
        Op::Status => one("The daemon, its servers and what runs of them.", "Status"),
        Op::Events => one(
            "Server-sent events: `id` is the number, `event` the kind, `data` a JSON document `{seq, kind, server?, session?, data}`. \
             The event `gap` says that some were missed.",
            "Any",
        ),
        Op::Refresh => one("What was read, and what could not be.", "Refreshed"),
        Op::Reload => one("What changed by that.", "Reloaded"),
        Op::Restart => one(
            "What was ended and started; a server that failed is in it.",
            "Restarted",
        ),
        Op::Shutdown | Op::DaemonRestart | Op::TaskCancel | Op::LogRecord => {
            one("It is done, or begun.", "Ok")
        }
        Op::Protocol => one("The revisions, and that of each server.", "Protocol"),
        Op::Resolve => one(
            "The key of each server's scope for this caller.",
            "Resolved",
        ),
        Op::SessionRelease => one("How many instances ended.", "Released"),
        Op::Openapi => one("This document.", "Document"),
        Op::Namespaces => one("The servers.", "Namespaces"),
        Op::Tools => one("The tools.", "Tools"),
        Op::Search => one("What was found, the best first.", "FoundTools"),
        Op::Types => one("Declarations.", "Any"),
        Op::Catalog => one("The listing.", "Any"),
        Op::Client => one("The module.", "Any"),
        Op::Globals => one("Declarations.", "Any"),
        Op::Schema => one("The document in the format that was asked for.", "Document"),
        Op::History => one("The tools, and what changed of them.", "History"),
        Op::Resources | Op::ResourceTemplates | Op::Prompts => {
            one("What the servers have.", "OfServers")
        }
        Op::Call => vec![
            (200, "The answer of the server.", "CallAnswer"),
            (202, "The call goes on as a task.", "TaskAnswer"),
        ],
        Op::CallPath | Op::ResourceRead | Op::PromptGet | Op::Complete => {
            one("The answer of the server.", "CallAnswer")
        }
        Op::Batch => one("What became of each call, in their order.", "BatchAnswer"),
        Op::ResultRead => one("A piece of the result.", "Piece"),
        Op::TasksList => one("The tasks.", "Tasks"),
        Op::TaskGet => one("The task.", "TaskAnswer"),
        Op::TaskResult => one("The answer of the call.", "CallAnswer"),
        Op::ServersList => one("The servers as they are configured.", "Servers"),
        Op::ServersAdd | Op::ServersRemove => {
            one("What was written, and what changed by that.", "Written")
        }
        Op::SettingsList => one("The settings.", "Settings"),
        Op::SettingsGet => one("The setting.", "Setting"),
        Op::SettingsSet | Op::SettingsUnset => one(
            "The setting as it is now, and what became of the change.",
            "SettingChanged",
        ),
        Op::LogQuery => one("Records, or the chain of a span.", "Log"),
        Op::StatsQuery => one("The rows.", "Stats"),
        Op::ToolInvoke => vec![
            (200, "What the operation behind the tool answers.", "Any"),
            (202, "The call goes on as a task.", "TaskAnswer"),
        ],
    }
}

/// An object of these members, of which those without `?` are always there. Others may be there too.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let required: Vec<&str> = members
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !name.ends_with('?'))
        .collect();
    let properties: Map<String, Value> = members
        .into_iter()
        .map(|(name, schema)| (name.trim_end_matches('?').to_owned(), schema))
        .collect();
    if required.is_empty() {
        return json!({"type": "object", "properties": properties});
    }
    json!({"type": "object", "properties": properties, "required": required})
}

fn list(of: &Value) -> Value {
    json!({"type": "array", "items": of})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The schemas of all answers and of the error, by name.
pub(super) fn schemas() -> Map<String, Value> {
    let text = json!({"type": "string"});
    let flag = json!({"type": "boolean"});
    let count = json!({"type": "integer", "minimum": 0});
    let any = json!({});
    let texts = list(&text);
    let words = |words: &[&str]| json!({"type": "string", "enum": words});
    let codes: Vec<&str> = Code::all().map(Code::word).collect();
    let state = words(&[
        "ready",
        "unread",
        "error",
        "untrusted",
        "unavailable",
        "disabled",
    ]);
    let sharing = words(&["shared", "exclusive"]);
    let why = |name: &'static str| list(&object([("key", text.clone()), (name, text.clone())]));
    let instance = object([
        ("id", text.clone()),
        ("pid?", json!({"type": "integer"})),
        ("holders", count.clone()),
        ("key", text.clone()),
        ("calls", count.clone()),
        ("uptimeSec", count.clone()),
        ("idleSec", count.clone()),
        ("protocol", text.clone()),
        ("trace", text.clone()),
    ]);
    let server_status = object([
        ("name", text.clone()),
        ("namespace", text.clone()),
        ("pool", text.clone()),
        ("sharing", sharing.clone()),
        ("scope", text.clone()),
        ("max", count.clone()),
        ("min", count.clone()),
        ("waiting", count.clone()),
        ("tools?", count.clone()),
        ("schemaAgeSec?", count.clone()),
        ("state", state.clone()),
        ("healthy?", flag.clone()),
        ("lastError?", text.clone()),
        ("reached", text.clone()),
        (
            "timeoutsMs",
            object([
                ("start", count.clone()),
                ("call", count.clone()),
                ("idle", count.clone()),
                ("queue", count.clone()),
            ]),
        ),
        ("instances", list(&instance)),
    ]);
    let task = object([
        ("id", text.clone()),
        ("owner", text.clone()),
        ("server", text.clone()),
        ("tool", text.clone()),
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
        ("message?", text.clone()),
        ("trace?", text.clone()),
        ("created", text.clone()),
        ("updated", text.clone()),
        ("ttlMs?", count.clone()),
    ]);
    let setting = object([
        ("path", text.clone()),
        ("kind", text.clone()),
        ("value", any.clone()),
        ("default", text.clone()),
        ("source", text.clone()),
        (
            "shadowed",
            list(&object([("value", any.clone()), ("source", text.clone())])),
        ),
        ("env", text.clone()),
        ("envAliases", texts.clone()),
        ("flag", text.clone()),
        ("flagAliases", texts.clone()),
        ("enum?", texts.clone()),
        ("enumAliases?", json!({"type": "object"})),
        ("scope", words(&["daemon", "client", "call"])),
        ("hot", flag.clone()),
        ("plumbing", flag.clone()),
        ("help", text.clone()),
    ]);
    let file = object([
        ("path", text.clone()),
        ("backup?", text.clone()),
        ("written", flag.clone()),
    ]);
    let of_server = object([("namespace", text.clone()), ("server", text.clone())]);
    let record = object([
        ("ts", text.clone()),
        ("level", text.clone()),
        ("msg", text.clone()),
    ]);
    let all = [
        ("Any", any.clone()),
        ("Document", json!({"type": "object"})),
        (
            "Error",
            object([
                (
                    "error",
                    json!({"type": "string", "description": "What was received and what was expected."}),
                ),
                ("code", words(&codes)),
                (
                    "hint?",
                    json!({"type": "string", "description": "What to do."}),
                ),
                (
                    "diagnostics?",
                    json!({"type": "array", "description": "Why a call was wrong, from its schema and what that used to be."}),
                ),
                (
                    "delivery?",
                    words(&["not_sent", "outcome_unknown", "answered"]),
                ),
                ("server?", text.clone()),
            ]),
        ),
        ("Ok", object([("ok", flag.clone())])),
        (
            "Health",
            object([
                ("status", words(&["ok", "stopping"])),
                ("version", text.clone()),
                ("pid", count.clone()),
                ("uptimeSec", count.clone()),
                ("endpoint?", text.clone()),
            ]),
        ),
        ("Instance", instance),
        ("ServerStatus", server_status),
        (
            "Status",
            object([
                ("version", text.clone()),
                ("pid", count.clone()),
                ("uptimeSec", count.clone()),
                ("endpoint?", text.clone()),
                ("socket?", text.clone()),
                ("config", texts.clone()),
                ("configError?", text.clone()),
                ("configNote?", text.clone()),
                (
                    "log?",
                    object([
                        ("written", count.clone()),
                        ("lost", count.clone()),
                        ("failing?", text.clone()),
                    ]),
                ),
                ("clients", count.clone()),
                ("servers", list(&reference("ServerStatus"))),
            ]),
        ),
        (
            "Refreshed",
            object([
                ("namespaces", texts.clone()),
                ("added", texts.clone()),
                ("removed", texts.clone()),
                ("changed", texts.clone()),
                (
                    "errors",
                    list(&object([("server", text.clone()), ("error", text.clone())])),
                ),
            ]),
        ),
        (
            "Reloaded",
            object([
                ("status", text.clone()),
                ("added", texts.clone()),
                ("removed", texts.clone()),
                ("changed", texts.clone()),
                ("kept", texts.clone()),
                ("namespaces", texts.clone()),
            ]),
        ),
        (
            "Restarted",
            object([
                ("lazy", flag.clone()),
                (
                    "servers",
                    list(&object([
                        ("server", text.clone()),
                        ("stopped", count.clone()),
                        ("started", texts.clone()),
                        ("failed", why("error")),
                        ("skipped", why("why")),
                        ("note?", text.clone()),
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
                        ("revision", text.clone()),
                        ("era", words(&["modern", "legacy"])),
                    ])),
                ),
                (
                    "servers",
                    list(&object([
                        ("server", text.clone()),
                        ("first", text.clone()),
                        ("revision?", text.clone()),
                        ("confirmed", flag.clone()),
                    ])),
                ),
            ]),
        ),
        (
            "Resolved",
            object([
                ("daemon", text.clone()),
                ("socket", text.clone()),
                (
                    "servers",
                    list(&object([
                        ("server", text.clone()),
                        ("scope", text.clone()),
                        ("key", text.clone()),
                        ("fix?", text.clone()),
                    ])),
                ),
            ]),
        ),
        ("Released", object([("released", count.clone())])),
        (
            "Namespace",
            object([
                ("namespace", text.clone()),
                ("server", text.clone()),
                ("tools?", count.clone()),
                ("resources?", count.clone()),
                ("description?", text.clone()),
                ("live", count.clone()),
                ("sharing", sharing.clone()),
                ("scope", text.clone()),
                ("state", state.clone()),
                ("error?", text.clone()),
                ("hint?", text.clone()),
                ("cached", flag.clone()),
                ("requiresSecrets?", texts.clone()),
            ]),
        ),
        ("Namespaces", list(&reference("Namespace"))),
        (
            "Tools",
            list(&object([
                ("namespace", text.clone()),
                ("server", text.clone()),
                ("function", text.clone()),
                ("name", text.clone()),
            ])),
        ),
        (
            "FoundTools",
            list(&object([
                ("function", text.clone()),
                ("namespace", text.clone()),
                ("server", text.clone()),
                ("tool", text.clone()),
                ("description?", text.clone()),
                ("matched", words(&["exact", "prefix", "words"])),
                ("score", json!({"type": "number"})),
            ])),
        ),
        (
            "History",
            object([
                ("tools", texts.clone()),
                (
                    "changes",
                    json!({"type": "object", "additionalProperties": list(&object([
                        ("when", text.clone()),
                        ("kind", text.clone()),
                        ("what", text.clone()),
                        ("field?", text.clone()),
                        ("from?", text.clone()),
                    ]))}),
                ),
            ]),
        ),
        ("OfServers", list(&of_server)),
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
                ("server", text.clone()),
                ("tool", text.clone()),
                ("durationMs", count.clone()),
                ("traceId", text.clone()),
                ("instance", text.clone()),
                ("diagnostics?", json!({"type": "array"})),
            ]),
        ),
        (
            "BatchAnswer",
            object([
                (
                    "results",
                    list(&object([
                        ("index", count.clone()),
                        ("status", words(&["ok", "failed", "skipped"])),
                    ])),
                ),
                ("failed", count.clone()),
            ]),
        ),
        (
            "Piece",
            object([
                ("text?", text.clone()),
                ("base64?", text.clone()),
                ("offset", count.clone()),
                ("next?", count.clone()),
                ("total", count.clone()),
            ]),
        ),
        ("Task", task),
        ("TaskAnswer", object([("task", reference("Task"))])),
        (
            "Tasks",
            object([
                ("tasks", list(&reference("Task"))),
                ("broken", texts.clone()),
            ]),
        ),
        (
            "Servers",
            object([
                (
                    "servers",
                    list(&object([
                        ("name", text.clone()),
                        ("namespace", text.clone()),
                        ("file", text.clone()),
                        ("line", count.clone()),
                        ("project", flag.clone()),
                        ("state", state),
                        ("error?", text.clone()),
                        ("hint?", text.clone()),
                        ("command?", any.clone()),
                        ("args?", any.clone()),
                        ("env?", texts.clone()),
                        ("cwd?", any.clone()),
                        ("url?", any),
                        ("headers?", texts.clone()),
                        ("auth?", text.clone()),
                        ("protocol", text.clone()),
                        ("sharing", sharing),
                        ("scope", text.clone()),
                        ("max", count.clone()),
                        ("min", count.clone()),
                        ("profiles", texts.clone()),
                        ("pool", text.clone()),
                    ])),
                ),
                (
                    "untrusted",
                    list(&object([
                        ("file", text.clone()),
                        ("line", count.clone()),
                        ("kind", words(&["server", "setting"])),
                        ("name", text.clone()),
                        ("text", text.clone()),
                        ("digest", text.clone()),
                    ])),
                ),
                ("warnings", texts.clone()),
            ]),
        ),
        (
            "Written",
            object([
                ("path", text.clone()),
                ("backup?", text.clone()),
                ("written", flag.clone()),
                ("added", texts.clone()),
                ("removed", texts.clone()),
                ("changed", texts.clone()),
                ("namespaces", texts),
                ("note?", text.clone()),
            ]),
        ),
        ("Setting", setting),
        ("Settings", list(&reference("Setting"))),
        (
            "SettingChanged",
            json!({"allOf": [
                reference("Setting"),
                object([
                    ("applied", flag.clone()),
                    ("restartRequired", flag.clone()),
                    ("note?", text.clone()),
                    ("file?", file),
                ])
            ]}),
        ),
        (
            "Log",
            json!({"anyOf": [
                object([("records", list(&record)), ("cursor", text.clone()), ("more", flag)]),
                object([("trace", text.clone()), ("chain", list(&object([
                    ("depth", count),
                    ("trace", text.clone()),
                    ("parent?", text.clone()),
                    ("records", list(&record)),
                ])))])
            ]}),
        ),
        (
            "Stats",
            object([("by", text), ("rows", list(&json!({"type": "object"})))]),
        ),
    ];
    all.into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}
