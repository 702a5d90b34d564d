//! What operations answer, as schemas. The daemon's tests hold its answers against them.

mod calls;
mod catalogue;
mod daemon;
mod log;
mod servers;
mod shape;

use serde_json::{Map, Value, json};

use self::shape::{any, flag, free, object, reference, text, words};

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
        Op::Resources => one("What the servers have.", "Resources"),
        Op::ResourceTemplates => one("What the servers have.", "ResourceTemplates"),
        Op::Prompts => one("What the servers have.", "Prompts"),
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

/// The schemas of all answers and of the error, by name.
pub(super) fn schemas() -> Map<String, Value> {
    [
        general(),
        daemon::schemas(),
        catalogue::schemas(),
        calls::schemas(),
        servers::schemas(),
        log::schemas(),
    ]
    .into_iter()
    .flatten()
    .map(|(name, schema)| (name.to_owned(), schema))
    .collect()
}

/// What every family has.
fn general() -> Vec<(&'static str, Value)> {
    let codes: Vec<&str> = Code::all().map(Code::word).collect();
    vec![
        ("Any", any()),
        ("Document", free()),
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
                    json!({
                        "type": "array",
                        "items": reference("Finding"),
                        "description": "Why a call was wrong, from its schema and what that used to be."
                    }),
                ),
                (
                    "delivery?",
                    words(&["not_sent", "outcome_unknown", "answered"]),
                ),
                (
                    "verifyWith?",
                    json!({"type": "string", "description": "A tool that may show whether the call was done."}),
                ),
                ("server?", text()),
                ("traceId?", text()),
            ]),
        ),
        (
            "Finding",
            object([
                ("kind", text()),
                ("tool", text()),
                ("message", text()),
                ("fatal", flag()),
                ("field?", text()),
                ("changed?", reference("FindingChange")),
                ("fix?", text()),
            ]),
        ),
        (
            "FindingChange",
            object([("when", text()), ("kind", text()), ("what", text())]),
        ),
        ("Ok", object([("ok", flag())])),
    ]
}
