//! The lists of hosts whose entries look like ours: Claude Code and Desktop, Cursor, VS Code, Windsurf.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Foreign, Host, note_dropped, note_references};
use crate::files::{Entry, Node};

/// Keys that only say how the host itself treats a server; nothing is lost without them.
const OF_THE_HOST: &[&str] = &[
    "type",
    "transport",
    "dev",
    "gallery",
    "version",
    "disabled",
    "enabled",
    "description",
];

/// Reads the servers of a list.
pub(super) fn read(list: Option<&Node>, host: Host, project: Option<&Path>) -> Vec<Foreign> {
    list.map(Node::entries)
        .unwrap_or_default()
        .iter()
        .map(|entry| server(entry, host, project))
        .collect()
}

fn server(entry: &Entry, host: Host, project: Option<&Path>) -> Foreign {
    let mut notes = Vec::new();
    let written = entry.value.to_json();
    if host == Host::ClaudeDesktop {
        note_references(&written.to_string(), &mut notes);
    }
    let taken = match written {
        Value::Object(written) => translated(&written, host, project, &mut notes),
        _ => Err("it is no object".to_owned()),
    };
    Foreign {
        name: entry.name.clone(),
        line: entry.line,
        entry: taken,
        notes,
    }
}

fn translated(
    written: &Map<String, Value>,
    host: Host,
    project: Option<&Path>,
    notes: &mut Vec<String>,
) -> Result<Value, String> {
    let mut ours = Map::new();
    let mut block = Map::new();
    let url = ["url", "serverUrl", "httpUrl"]
        .iter()
        .find_map(|key| written.get(*key))
        .filter(|url| !url.is_null());
    let command = written.get("command").filter(|command| !command.is_null());
    match (command, url) {
        (Some(command), None) => {
            ours.insert("command".to_owned(), command.clone());
            for key in ["args", "env", "cwd"] {
                if let Some(value) = written.get(key).filter(|value| !value.is_null()) {
                    ours.insert(key.to_owned(), value.clone());
                }
            }
        }
        (None, Some(url)) => {
            if url
                .as_str()
                .is_some_and(|url| url.starts_with("unix:") || url.starts_with("pipe:"))
            {
                return Err(
                    "it is reached over a local socket, which a `url` of ours cannot be".to_owned(),
                );
            }
            ours.insert("url".to_owned(), url.clone());
            let kind = written.get("transport").or_else(|| written.get("type"));
            match kind.and_then(Value::as_str) {
                Some("sse") => drop(ours.insert("transport".to_owned(), json!("sse"))),
                Some("ws" | "websocket") => return Err("it speaks over a WebSocket".to_owned()),
                _ => {}
            }
            if let Some(headers) = written.get("headers").filter(|headers| !headers.is_null()) {
                ours.insert("headers".to_owned(), headers.clone());
            }
        }
        (Some(_), Some(_)) => return Err("it has both a command and a URL".to_owned()),
        (None, None) => return Err("it has neither a command nor a URL".to_owned()),
    }
    let is_off = written.get("disabled") == Some(&Value::Bool(true))
        || written.get("enabled") == Some(&Value::Bool(false));
    if is_off {
        block.insert("disabled".to_owned(), json!(true));
        notes.push("it is switched off there, and would be here".to_owned());
    }
    if let Some(description) = written.get("description").filter(|text| text.is_string()) {
        block.insert("description".to_owned(), description.clone());
    }
    for (key, value) in written {
        if ours.contains_key(key) || matches!(key.as_str(), "url" | "serverUrl" | "httpUrl") {
            continue;
        }
        match key.as_str() {
            "disabledTools" if value.is_array() => {
                block.insert("excludeTools".to_owned(), value.clone());
            }
            "oauth" | "auth" if value.is_object() => {
                ours.insert("auth".to_owned(), oauth(value));
            }
            "envFile" => notes.push(
                "`envFile` is not read: put its variables into `env`, or into the daemon's environment".to_owned(),
            ),
            "headersHelper" => notes.push(
                "`headersHelper` is not run: put the headers into `headers`, with variables".to_owned(),
            ),
            "timeout" if host == Host::ClaudeCode => {
                if let Some(ms) = value.as_u64() {
                    block.insert("callTimeout".to_owned(), json!(format!("{ms}ms")));
                }
            }
            key if OF_THE_HOST.contains(&key) || value.is_null() => {}
            key => notes.push(note_dropped(key)),
        }
    }
    if !block.is_empty() {
        ours.insert("mcpx".to_owned(), Value::Object(block));
    }
    let mut ours = Value::Object(ours);
    settle(&mut ours, project, notes);
    Ok(ours)
}

/// What a client is called when it signs in: `clientId`, or Cursor's `CLIENT_ID`.
pub(super) fn oauth(written: &Value) -> Value {
    let mut auth = Map::from_iter([("type".to_owned(), json!("oauth"))]);
    for (theirs, ours) in [
        ("clientId", "clientId"),
        ("CLIENT_ID", "clientId"),
        ("client_id", "clientId"),
        ("clientSecret", "clientSecret"),
        ("CLIENT_SECRET", "clientSecret"),
    ] {
        if let Some(value) = written.get(theirs).filter(|value| value.is_string()) {
            auth.insert(ours.to_owned(), value.clone());
        }
    }
    let scopes = match written.get("scopes").or_else(|| written.get("scope")) {
        Some(Value::Array(scopes)) => scopes.clone(),
        Some(Value::String(scopes)) => scopes
            .split_whitespace()
            .map(|scope| json!(scope))
            .collect(),
        _ => Vec::new(),
    };
    if !scopes.is_empty() {
        auth.insert("scopes".to_owned(), Value::Array(scopes));
    }
    Value::Object(auth)
}

/// A project's server keeps its folder when it moves to another file, and inputs are said to be variables.
pub(super) fn settle(entry: &mut Value, project: Option<&Path>, notes: &mut Vec<String>) {
    if let Some(project) = project {
        let folder = project.to_string_lossy().into_owned();
        replace(entry, "${workspaceFolder}", &folder);
        let is_program = entry.get("command").is_some();
        if let (true, Some(members)) = (is_program, entry.as_object_mut()) {
            let cwd = match members.get("cwd").and_then(Value::as_str) {
                None => Some(folder),
                Some(cwd) if is_relative(cwd) => {
                    Some(project.join(cwd).to_string_lossy().into_owned())
                }
                Some(_) => None,
            };
            if let Some(cwd) = cwd {
                members.insert("cwd".to_owned(), Value::String(cwd));
            }
        }
    }
    let text = entry.to_string();
    let mut rest = text.as_str();
    let mut seen = Vec::new();
    while let Some(at) = rest.find("${input:") {
        rest = &rest[at + "${input:".len()..];
        let Some(end) = rest.find(['}', ':']) else {
            break;
        };
        let name = &rest[..end];
        if !seen.contains(&name) {
            seen.push(name);
            notes.push(format!(
                "nobody is asked for the input {}: set the variable `{}`",
                crate::error::quoted(name),
                crate::server::input_variable(name)
            ));
        }
    }
}

fn is_relative(path: &str) -> bool {
    !Path::new(path).is_absolute() && !path.starts_with('~') && !path.starts_with("${")
}

/// Replaces a text in every text of a value.
pub(super) fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        Value::Array(elements) => {
            for element in elements {
                replace(element, from, to);
            }
        }
        Value::Object(members) => {
            for member in members.values_mut() {
                replace(member, from, to);
            }
        }
        _ => {}
    }
}
