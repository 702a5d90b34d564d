//! The lists of hosts whose entries look like ours: Claude Code and Desktop, Cursor, VS Code, Windsurf, Gemini, Zed, Cline,
//! Copilot.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Foreign, Host, note_dropped, rewrite};
use crate::{
    Transport,
    error::quoted,
    files::{Entry, Node},
    server::{escaped, unread},
};

/// Keys that only say how the host itself treats a server; nothing is lost without them.
const OF_THE_HOST: &[&str] = &["dev", "gallery", "version", "source"];

/// Keys that are looked at by themselves.
const READ: &[&str] = &[
    "command",
    "url",
    "serverUrl",
    "httpUrl",
    "type",
    "transport",
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

/// Switches off the servers whose names stand in a list of the host.
pub(super) fn switch_off(servers: &mut [Foreign], names: Option<&Node>) {
    let Some(Value::Array(names)) = names.map(Node::to_json) else {
        return;
    };
    for server in servers {
        let is_named = names.iter().any(|name| *name == server.name.as_str());
        if let (true, Ok(entry)) = (is_named, &mut server.entry) {
            entry["mcpx"]["disabled"] = json!(true);
            server.notes.push(SWITCHED_OFF.to_owned());
        }
    }
}

/// What is said about a server that a host does not use.
pub(super) const SWITCHED_OFF: &str = "it is switched off there, and would be here";

fn server(entry: &Entry, host: Host, project: Option<&Path>) -> Foreign {
    let mut notes = Vec::new();
    let taken = match entry.value.without_nulls().to_json() {
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
    let mut ours = reached(written, host, notes)?;
    let is_program = ours.contains_key("command");
    let mut block = Map::new();
    let is = |key: &str, value: bool| written.get(key) == Some(&Value::Bool(value));
    if is("disabled", true) || is("enabled", false) {
        block.insert("disabled".to_owned(), json!(true));
        notes.push(SWITCHED_OFF.to_owned());
    }
    for key in ["disabled", "enabled"] {
        if written.get(key).is_some_and(|value| !value.is_boolean()) {
            notes.push(note_dropped(key));
        }
    }
    match written.get("description") {
        Some(description) if description.is_string() => {
            block.insert("description".to_owned(), description.clone());
        }
        Some(_) => notes.push(note_dropped("description")),
        None => {}
    }
    for (key, value) in written {
        match (key.as_str(), value) {
            (key, _) if READ.contains(&key) || OF_THE_HOST.contains(&key) => {}
            ("args" | "cwd", _) if is_program => drop(ours.insert(key.clone(), value.clone())),
            ("env", Value::Object(env)) if is_program => {
                drop(ours.insert(key.clone(), without_nulls("env", env, notes)));
            }
            ("headers", Value::Object(headers)) if !is_program => {
                drop(ours.insert(key.clone(), without_nulls("headers", headers, notes)));
            }
            ("env", _) if is_program => drop(ours.insert(key.clone(), value.clone())),
            ("headers", _) if !is_program => drop(ours.insert(key.clone(), value.clone())),
            ("disabledTools" | "excludeTools", Value::Array(_)) => {
                block.insert("excludeTools".to_owned(), value.clone());
            }
            // `*` is all of them.
            ("includeTools" | "tools", Value::Array(tools)) => {
                if *tools != [json!("*")] {
                    block.insert("tools".to_owned(), value.clone());
                }
            }
            ("oauth" | "auth", Value::Object(_)) if !is_program => {
                ours.insert("auth".to_owned(), oauth(value, notes));
            }
            ("envFile", _) => notes.push(
                "`envFile` is not read: put its variables into `env`, or into the daemon's environment".to_owned(),
            ),
            ("headersHelper", _) => notes.push(
                "`headersHelper` is not run: put the headers into `headers`, with variables".to_owned(),
            ),
            ("timeout", _) => match timeout(value, host) {
                Some(text) => drop(block.insert("callTimeout".to_owned(), json!(text))),
                None => notes.push(note_dropped(key)),
            },
            (key, _) => notes.push(note_dropped(key)),
        }
    }
    if !block.is_empty() {
        ours.insert("mcpx".to_owned(), Value::Object(block));
    }
    let mut ours = Value::Object(ours);
    match host {
        // They know no references.
        Host::ClaudeDesktop | Host::Zed => rewrite_launch(&mut ours, &escaped),
        Host::Gemini => rewrite_launch(&mut ours, &with_braces),
        _ => {}
    }
    settle(&mut ours, project, notes);
    Ok(ours)
}

/// How it is reached: a program or a URL, and nothing else yet.
fn reached(
    written: &Map<String, Value>,
    host: Host,
    notes: &mut Vec<String>,
) -> Result<Map<String, Value>, String> {
    let mut ours = Map::new();
    let url = ["url", "serverUrl", "httpUrl"]
        .iter()
        .find_map(|key| Some((*key, written.get(*key)?)));
    let kind = written.get("transport").or_else(|| written.get("type"));
    let word = kind.and_then(Value::as_str);
    match (written.get("command"), url) {
        // An older Zed has the program with its arguments in it.
        (Some(Value::Object(program)), None) if host == Host::Zed => {
            for (theirs, key) in [("path", "command"), ("args", "args"), ("env", "env")] {
                if let Some(value) = program.get(theirs).filter(|value| !value.is_null()) {
                    ours.insert(key.to_owned(), value.clone());
                }
            }
        }
        (Some(command), None) => {
            ours.insert("command".to_owned(), command.clone());
            if !matches!(word, None | Some("stdio" | "local")) || kind.is_some() && word.is_none() {
                notes.push(note_dropped("type"));
            }
        }
        (None, Some((key, url))) => {
            let address = url.as_str().unwrap_or_default();
            if address.starts_with("unix:") || address.starts_with("pipe:") {
                return Err(
                    "it is reached over a local socket, which a `url` of ours cannot be".to_owned(),
                );
            }
            ours.insert("url".to_owned(), url.clone());
            // These two mean the older transport when they say nothing.
            let is_older = matches!(host, Host::Gemini | Host::Cline) && key == "url";
            let transport = match (word, kind) {
                (Some(word), _) => Transport::from_word(word)
                    .ok_or_else(|| format!("it is of the kind {}", quoted(word)))?,
                (None, Some(_)) => return Err("its `type` is no text".to_owned()),
                (None, None) if is_older => Transport::Sse,
                (None, None) => Transport::Http,
            };
            if transport == Transport::Sse {
                ours.insert("transport".to_owned(), json!("sse"));
            }
        }
        (Some(_), Some(_)) => return Err("it has both a command and a URL".to_owned()),
        (None, None) if host == Host::Zed => {
            return Err("an extension of Zed starts it; write its command by hand".to_owned());
        }
        (None, None) => return Err("it has neither a command nor a URL".to_owned()),
    }
    Ok(ours)
}

/// The members of a block that are something. What is `null` takes a variable away there, which we cannot.
fn without_nulls(block: &str, members: &Map<String, Value>, notes: &mut Vec<String>) -> Value {
    let mut kept = members.clone();
    kept.retain(|name, value| {
        if value.is_null() {
            notes.push(note_dropped(&format!("{block}.{name}")));
        }
        !value.is_null()
    });
    Value::Object(kept)
}

/// How long a call may take, where the host says so: seconds in one, milliseconds in others.
fn timeout(value: &Value, host: Host) -> Option<String> {
    let number = value.as_u64()?;
    match host {
        Host::ClaudeCode | Host::Gemini | Host::Copilot => Some(format!("{number}ms")),
        Host::Cline => Some(format!("{number}s")),
        _ => None,
    }
}

/// Writes the texts anew that are expanded here.
fn rewrite_launch(entry: &mut Value, how: &dyn Fn(&str) -> String) {
    let Some(members) = entry.as_object_mut() else {
        return;
    };
    for (key, value) in members {
        if key != "mcpx" {
            rewrite(value, how);
        }
    }
}

/// `$NAME` as `${NAME}`.
fn with_braces(text: &str) -> String {
    let mut ours = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at + 1);
        ours.push_str(before);
        let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = from.find(|c| !is_in_name(c)).unwrap_or(from.len());
        let (name, after) = from.split_at(end);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            ours.push_str(name);
        } else {
            ours.push_str(&format!("{{{name}}}"));
        }
        rest = after;
    }
    ours.push_str(rest);
    ours
}

/// What a client is called when it signs in: `clientId`, or Cursor's `CLIENT_ID`.
pub(super) fn oauth(written: &Value, notes: &mut Vec<String>) -> Value {
    let taken = [
        "clientId",
        "CLIENT_ID",
        "client_id",
        "clientSecret",
        "CLIENT_SECRET",
        "client_secret",
        "scopes",
        "scope",
        "enabled",
    ];
    let others = written.as_object().into_iter().flat_map(Map::keys);
    let others = others.filter(|key| !taken.contains(&key.as_str()));
    notes.extend(others.map(|key| note_dropped(&format!("oauth.{key}"))));
    let mut auth = Map::from_iter([("type".to_owned(), json!("oauth"))]);
    for (theirs, ours) in [
        ("clientId", "clientId"),
        ("CLIENT_ID", "clientId"),
        ("client_id", "clientId"),
        ("clientSecret", "clientSecret"),
        ("CLIENT_SECRET", "clientSecret"),
        ("client_secret", "clientSecret"),
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
        let name = project.file_name().unwrap_or_default().to_string_lossy();
        rewrite(entry, &|text| {
            text.replace("${workspaceFolder}", &folder)
                .replace("${workspaceFolderBasename}", &name)
        });
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
    if project.is_none() && entry.to_string().contains("${workspaceFolder") {
        notes.push(
            "`${workspaceFolder}` is the project there, and here the folder of the file that it is written into".to_owned(),
        );
    }
    note_unread(entry, notes);
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
                quoted(name),
                crate::server::input_variable(name)
            ));
        }
    }
}

fn is_relative(path: &str) -> bool {
    !Path::new(path).is_absolute() && !path.starts_with('~') && !path.starts_with("${")
}

/// Says what looks like a reference and is known to the host alone.
fn note_unread(entry: &Value, notes: &mut Vec<String>) {
    let mut values = vec![entry];
    while let Some(value) = values.pop() {
        match value {
            Value::String(text) => notes.extend(unread(text).into_iter().map(|reference| {
                format!(
                    "{} is known there alone, and stays as it is",
                    quoted(reference)
                )
            })),
            Value::Array(elements) => values.extend(elements),
            Value::Object(members) => values.extend(members.values()),
            _ => {}
        }
    }
}
