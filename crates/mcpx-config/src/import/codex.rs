//! The list of Codex: tables `mcp_servers.NAME` of a TOML file.

use std::path::Path;

use serde_json::{Map, Value, json};
use toml::Table;

use super::{Foreign, json_hosts, note_dropped, rewrite};
use crate::{ConfigError, Place, server::escaped};

/// Reads the servers of a file.
pub(super) fn read(
    text: &str,
    file: &Path,
    project: Option<&Path>,
) -> Result<Vec<Foreign>, ConfigError> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root: Table = body.parse().map_err(|error: toml::de::Error| {
        let line = error
            .span()
            .and_then(|span| body.get(..span.start))
            .map_or(0, |before| before.matches('\n').count() + 1);
        ConfigError::new(
            Place::File {
                path: file.to_owned(),
                line: u32::try_from(line).unwrap_or(0),
                column: 0,
            },
            error.message().to_owned(),
            "TOML",
        )
    })?;
    let Some(servers) = root.get("mcp_servers").and_then(toml::Value::as_table) else {
        return Ok(Vec::new());
    };
    Ok(servers
        .iter()
        .map(|(name, written)| {
            let mut notes = Vec::new();
            let entry = match written.as_table() {
                Some(written) => translated(written, project, &mut notes),
                None => Err("it is no table".to_owned()),
            };
            Foreign {
                name: name.clone(),
                line: line_of(body, name),
                entry,
                notes,
            }
        })
        .collect())
}

/// The line of the table's head; 0 when it is written in another way.
fn line_of(text: &str, name: &str) -> u32 {
    let heads = [
        format!("[mcp_servers.{name}]"),
        format!("[mcp_servers.\"{name}\"]"),
    ];
    text.lines()
        .position(|line| heads.iter().any(|head| line.trim_start().starts_with(head)))
        .and_then(|at| u32::try_from(at + 1).ok())
        .unwrap_or(0)
}

fn translated(
    written: &Table,
    project: Option<&Path>,
    notes: &mut Vec<String>,
) -> Result<Value, String> {
    let mut ours = Map::new();
    let mut block = Map::new();
    let mut env = Map::new();
    let mut headers = Map::new();
    if written.contains_key("command") == written.contains_key("url") {
        return Err("it has not exactly one of `command` and `url`".to_owned());
    }
    for (key, value) in written {
        let json = literal(value);
        match (key.as_str(), value) {
            ("command" | "args" | "cwd" | "url", _) => {
                ours.insert(key.clone(), json);
            }
            ("env", toml::Value::Table(table)) => {
                env.extend(
                    table
                        .iter()
                        .map(|(name, value)| (name.clone(), literal(value))),
                );
            }
            ("env_vars", toml::Value::Array(names)) => {
                for name in names.iter().filter_map(forwarded) {
                    env.entry(name)
                        .or_insert_with(|| json!(format!("${{{name}:-}}")));
                }
            }
            ("http_headers", toml::Value::Table(table)) => {
                headers.extend(
                    table
                        .iter()
                        .map(|(name, value)| (name.clone(), literal(value))),
                );
            }
            ("env_http_headers", toml::Value::Table(table)) => {
                for (name, variable) in table {
                    if let Some(variable) = variable.as_str() {
                        headers.insert(name.clone(), json!(format!("${{{variable}}}")));
                    }
                }
            }
            ("bearer_token_env_var", toml::Value::String(variable)) => {
                ours.insert(
                    "auth".to_owned(),
                    json!({"type": "bearer", "token": format!("${{{variable}}}")}),
                );
            }
            ("bearer_token", toml::Value::String(token)) => {
                let token = escaped(token);
                ours.insert("auth".to_owned(), json!({"type": "bearer", "token": token}));
            }
            ("oauth", toml::Value::Table(_)) if !ours.contains_key("auth") => {
                ours.insert("auth".to_owned(), json_hosts::oauth(&json, notes));
            }
            ("enabled", toml::Value::Boolean(false)) => {
                block.insert("disabled".to_owned(), json!(true));
                notes.push(json_hosts::SWITCHED_OFF.to_owned());
            }
            ("enabled_tools", toml::Value::Array(_)) => {
                block.insert("tools".to_owned(), json);
            }
            ("disabled_tools", toml::Value::Array(_)) => {
                block.insert("excludeTools".to_owned(), json);
            }
            ("startup_timeout_sec", _) if is_time(value) => {
                insert_seconds(&mut block, "startTimeout", value, 1.0);
            }
            ("startup_timeout_ms", _) if is_time(value) => {
                insert_seconds(&mut block, "startTimeout", value, 1000.0);
            }
            ("tool_timeout_sec", _) if is_time(value) => {
                insert_seconds(&mut block, "callTimeout", value, 1.0);
            }
            ("enabled" | "required", toml::Value::Boolean(_)) => {}
            _ => notes.push(note_dropped(key)),
        }
    }
    for (key, map) in [("env", env), ("headers", headers)] {
        if !map.is_empty() {
            ours.insert(key.to_owned(), Value::Object(map));
        }
    }
    if !block.is_empty() {
        ours.insert("mcpx".to_owned(), Value::Object(block));
    }
    let mut ours = Value::Object(ours);
    json_hosts::settle(&mut ours, project, notes);
    Ok(ours)
}

/// The name of a variable that is passed on: a text, or a table with a `name`.
fn forwarded(value: &toml::Value) -> Option<&str> {
    value
        .as_str()
        .or_else(|| value.get("name").and_then(toml::Value::as_str))
}

fn number(value: &toml::Value) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "times that people write are small"
    )]
    value
        .as_float()
        .or_else(|| value.as_integer().map(|whole| whole as f64))
}

fn is_time(value: &toml::Value) -> bool {
    number(value).is_some_and(|number| std::time::Duration::try_from_secs_f64(number).is_ok())
}

/// A time in seconds, or in parts of one, as the text of a duration.
fn insert_seconds(block: &mut Map<String, Value>, key: &str, value: &toml::Value, parts: f64) {
    if let Some(duration) =
        number(value).and_then(|number| std::time::Duration::try_from_secs_f64(number / parts).ok())
    {
        block.insert(
            key.to_owned(),
            json!(crate::settings::duration_text(duration)),
        );
    }
}

/// A value whose `${…}` Codex leaves as it is, and we then too.
fn literal(value: &toml::Value) -> Value {
    let mut json = to_json(value);
    rewrite(&mut json, &escaped);
    json
}

fn to_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => json!(text),
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(switch) => json!(switch),
        toml::Value::Datetime(time) => json!(time.to_string()),
        toml::Value::Array(elements) => elements.iter().map(to_json).collect(),
        toml::Value::Table(table) => Value::Object(
            table
                .iter()
                .map(|(name, value)| (name.clone(), to_json(value)))
                .collect(),
        ),
    }
}
