//! The JSON Schema of a configuration file, for editors: the settings from their declarations, the servers by hand.

use serde_json::{Map, Value, json};

use super::registry::{Kind, SETTINGS, Setting};
use crate::{
    Transport,
    server::{Protocol, Scope, Sharing},
};

/// The schema, draft 2020-12.
#[must_use]
pub fn schema() -> Value {
    let mut properties = Map::new();
    for setting in SETTINGS.iter().filter(|setting| setting.in_file) {
        let path: Vec<&str> = setting.path.split('.').collect();
        put(&mut properties, &path, of_setting(setting));
    }
    if let Some(pool) = properties
        .get_mut("pool")
        .and_then(|pool| pool.get_mut("properties"))
    {
        for (key, value) in pool_defaults() {
            pool[key] = value;
        }
    }
    properties.insert(
        "mcpServers".to_owned(),
        json!({
            "description": "The servers, by name.",
            "type": "object",
            "additionalProperties": server(),
        }),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of mcpx",
        "type": "object",
        "properties": properties,
    })
}

fn put(properties: &mut Map<String, Value>, path: &[&str], schema: Value) {
    match path {
        [] => {}
        [name] => drop(properties.insert((*name).to_owned(), schema)),
        [name, rest @ ..] => {
            let section = properties
                .entry(*name)
                .or_insert_with(|| json!({"type": "object", "properties": {}}));
            if let Some(inner) = section.get_mut("properties").and_then(Value::as_object_mut) {
                put(inner, rest, schema);
            }
        }
    }
}

fn of_setting(setting: &Setting) -> Value {
    let mut schema = match setting.kind {
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Int => {
            let mut schema = json!({"type": "integer", "minimum": setting.least});
            if setting.most < u64::MAX {
                schema["maximum"] = json!(setting.most);
            }
            schema
        }
        Kind::Duration => duration(),
        Kind::Bytes => json!({"type": ["integer", "string"]}),
        Kind::Text => text(),
        Kind::Enum => {
            let words: Vec<&str> = setting
                .choices
                .iter()
                .copied()
                .chain(setting.choice_aliases.iter().map(|(alias, _)| *alias))
                .collect();
            json!({ "enum": words })
        }
        Kind::List | Kind::Paths => texts(),
        Kind::Json => json!({"type": "object"}),
    };
    schema["description"] = json!(setting.help);
    schema
}

fn text() -> Value {
    json!({"type": "string"})
}

fn texts() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

fn duration() -> Value {
    json!({"type": "string", "examples": ["1m30s", "250ms", "0"]})
}

fn pool_defaults() -> Vec<(&'static str, Value)> {
    vec![
        ("tools", texts()),
        ("extraIncludeTools", texts()),
        ("excludeTools", texts()),
        ("default", json!({"type": "boolean"})),
        ("profiles", texts()),
        ("prelude", text()),
        ("requiresSecrets", texts()),
    ]
}

fn server() -> Value {
    let transports: Vec<&str> = Transport::WORDS.iter().map(|(word, _)| *word).collect();
    let scalars = json!({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}});
    json!({
        "type": "object",
        "properties": {
            "command": text(),
            "args": {"type": "array", "items": {"type": ["string", "number", "boolean"]}},
            "env": scalars,
            "cwd": text(),
            "url": text(),
            "transport": {"enum": transports},
            "type": text(),
            "headers": scalars,
            "auth": {
                "type": "object",
                "properties": {
                    "type": {"enum": ["bearer", "basic", "header", "query", "env", "oauth"]},
                    "token": text(), "username": text(), "password": text(), "name": text(),
                    "value": text(), "env": scalars, "clientId": text(), "clientSecret": text(),
                    "scopes": texts(),
                },
                "required": ["type"],
                "additionalProperties": false,
            },
            "protocol": {"anyOf": [{"enum": Protocol::ALL.map(Protocol::word)}, text()]},
            "aliasOf": text(),
            "disabled": {"type": "boolean"},
            "enabled": {"type": "boolean"},
            "mcpx": block(),
        },
        "anyOf": [
            {"required": ["command"]},
            {"required": ["url"]},
            {"required": ["aliasOf"]},
            {"required": ["disabled"]},
            {"required": ["enabled"]},
            {"required": ["mcpx"], "properties": {"mcpx": {"required": ["disabled"]}}},
        ],
    })
}

fn block() -> Value {
    let mut properties = Map::from_iter([
        (
            "sharing".to_owned(),
            json!({"enum": [Sharing::Shared.word(), Sharing::Exclusive.word()]}),
        ),
        (
            "scope".to_owned(),
            json!({"enum": Scope::ALL.map(Scope::word)}),
        ),
        ("max".to_owned(), json!({"type": "integer", "minimum": 1})),
        ("min".to_owned(), json!({"type": "integer", "minimum": 0})),
        ("default".to_owned(), json!({"type": "boolean"})),
        ("disabled".to_owned(), json!({"type": "boolean"})),
        (
            "logging".to_owned(),
            json!({"type": "object", "properties": {"level": {"enum": ["debug", "info", "warn", "error"]}}, "additionalProperties": false}),
        ),
        (
            "preconditions".to_owned(),
            json!({"type": "object", "additionalProperties": {
                "type": "object",
                "properties": {"requiresSecret": text(), "requiresServer": text(), "requiresSecrets": texts(), "requiresServers": texts()},
                "additionalProperties": false,
            }}),
        ),
    ]);
    for key in ["idleTimeout", "callTimeout", "startTimeout"] {
        properties.insert(key.to_owned(), duration());
    }
    for key in ["namespace", "description", "prelude"] {
        properties.insert(key.to_owned(), text());
    }
    for key in [
        "profiles",
        "tools",
        "extraIncludeTools",
        "excludeTools",
        "requiresSecrets",
        "requiresServers",
    ] {
        properties.insert(key.to_owned(), texts());
    }
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::BLOCK_KEYS;

    #[test]
    fn every_setting_of_a_file_is_in_the_schema() {
        let schema = schema();
        for setting in SETTINGS {
            let pointer: String = setting
                .path
                .split('.')
                .map(|name| format!("/properties/{name}"))
                .collect();
            assert_eq!(
                schema.pointer(&pointer).is_some(),
                setting.in_file,
                "{}",
                setting.path
            );
        }
        assert_eq!(
            schema["properties"]["daemon"]["properties"]["port"]["maximum"],
            65_535
        );
    }

    #[test]
    fn the_block_has_the_keys_that_are_read_and_no_others() {
        let block = block();
        let mut keys: Vec<&str> = block["properties"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        keys.sort_unstable();
        let mut read = BLOCK_KEYS.to_vec();
        read.sort_unstable();
        assert_eq!(keys, read);
        for (key, _) in pool_defaults() {
            assert!(crate::server::is_pool_key(key), "{key}");
        }
    }
}
