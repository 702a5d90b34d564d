//! The list of opencode: `mcp` with the servers in it, or in its `servers` since the second version.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Foreign, json_hosts, note_dropped};
use crate::{
    files::{Entry, Kind, Node},
    server::escaped,
};

/// Reads the servers of a file.
pub(super) fn read(root: &Node, project: Option<&Path>) -> Vec<Foreign> {
    let Some(mcp) = root.get("mcp") else {
        return Vec::new();
    };
    // A server named `servers` has a `type`; the list of the second version has not.
    let list = mcp
        .get("servers")
        .filter(|servers| {
            !matches!(
                servers.get("type").map(|kind| &kind.kind),
                Some(Kind::Text(_))
            )
        })
        .unwrap_or(mcp);
    list.entries()
        .iter()
        .map(|entry| server(entry, project))
        .collect()
}

fn server(entry: &Entry, project: Option<&Path>) -> Foreign {
    let mut notes = Vec::new();
    let written = entry.value.to_json();
    let taken = match written {
        Value::Object(written) => translated(&written, project, &mut notes),
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
    project: Option<&Path>,
    notes: &mut Vec<String>,
) -> Result<Value, String> {
    let mut ours = Map::new();
    let mut block = Map::new();
    match written.get("type").and_then(Value::as_str) {
        Some("local") => {
            let Some([command, args @ ..]) = written
                .get("command")
                .and_then(Value::as_array)
                .map(Vec::as_slice)
            else {
                return Err("its `command` is no list with a program".to_owned());
            };
            ours.insert("command".to_owned(), command.clone());
            if !args.is_empty() {
                ours.insert("args".to_owned(), Value::Array(args.to_vec()));
            }
            if let Some(environment) = written.get("environment") {
                ours.insert("env".to_owned(), environment.clone());
            }
            if let Some(cwd) = written.get("cwd") {
                ours.insert("cwd".to_owned(), cwd.clone());
            }
        }
        Some("remote") => {
            let Some(url) = written.get("url") else {
                return Err("it has no `url`".to_owned());
            };
            ours.insert("url".to_owned(), url.clone());
            if let Some(headers) = written.get("headers") {
                ours.insert("headers".to_owned(), headers.clone());
            }
            match written.get("oauth") {
                Some(oauth) if oauth.is_object() => {
                    ours.insert("auth".to_owned(), json_hosts::oauth(oauth, notes));
                }
                None | Some(Value::Bool(false) | Value::Null) => {}
                Some(_) => notes.push(note_dropped("oauth")),
            }
        }
        _ => return Err("its `type` is neither `local` nor `remote`".to_owned()),
    }
    let is_off = written.get("enabled") == Some(&Value::Bool(false))
        || written.get("disabled") == Some(&Value::Bool(true));
    if is_off {
        block.insert("disabled".to_owned(), json!(true));
        notes.push(json_hosts::SWITCHED_OFF.to_owned());
    }
    match written.get("timeout") {
        None | Some(Value::Null) => {}
        Some(timeout) => match timeout.as_u64() {
            Some(ms) => drop(block.insert("startTimeout".to_owned(), json!(format!("{ms}ms")))),
            None => notes.push(note_dropped("timeout")),
        },
    }
    let is_local = ours.contains_key("command");
    let known = ["type", "enabled", "disabled", "timeout"];
    let known_of_kind: &[&str] = if is_local {
        &["command", "environment", "cwd"]
    } else {
        &["url", "headers", "oauth"]
    };
    for key in written
        .keys()
        .filter(|key| !known.contains(&key.as_str()) && !known_of_kind.contains(&key.as_str()))
    {
        notes.push(note_dropped(key));
    }
    if !block.is_empty() {
        ours.insert("mcpx".to_owned(), Value::Object(block));
    }
    let mut ours = Value::Object(ours);
    references(&mut ours)?;
    json_hosts::settle(&mut ours, project, notes);
    Ok(ours)
}

/// `{env:NAME}` is `${NAME}` with us; `{file:…}` puts in a file, which we do not.
fn references(value: &mut Value) -> Result<(), String> {
    match value {
        Value::String(text) => {
            if text.contains("{file:") {
                return Err("it puts in a file by `{file:…}`; use a variable".to_owned());
            }
            // It knows no `${…}`.
            let text_there = escaped(text);
            let mut rest = text_there.as_str();
            let mut ours = String::new();
            while let Some(at) = rest.find("{env:") {
                let (before, from) = rest.split_at(at);
                let Some(end) = from.find('}') else {
                    break;
                };
                ours.push_str(before);
                ours.push_str(&format!("${{{}}}", &from["{env:".len()..end]));
                rest = &from[end + 1..];
            }
            ours.push_str(rest);
            *text = ours;
        }
        Value::Array(elements) => elements.iter_mut().try_for_each(references)?,
        Value::Object(members) => members.values_mut().try_for_each(references)?,
        _ => {}
    }
    Ok(())
}
