//! Reads the arguments of a call, and says what is wrong with them so that a model can mend it.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{ToolError, ToolSpec};

/// Reads a call's arguments into `T`. Unknown fields are passed over, but named when a required one is missing. A number,
/// switch, list or object that was sent as text is read from the text, and a `null` counts as not given.
///
/// # Errors
///
/// [`ToolError::BadInput`] names the field, what was received and what the schema expects.
pub fn parse_input<T: DeserializeOwned>(spec: &ToolSpec, input: &Value) -> Result<T, ToolError> {
    let strict = match serde_path_to_error::deserialize(input) {
        Ok(parsed) => return Ok(parsed),
        Err(error) => error,
    };
    if let Some(parsed) = unwrapped(spec, input).and_then(|input| T::deserialize(input).ok()) {
        return Ok(parsed);
    }
    let path = strict.path().to_string();
    let problem = match input {
        Value::Object(fields) => missing(spec, fields).unwrap_or_else(|| {
            let place = if path == "." {
                String::new()
            } else {
                format!("`{path}`: ")
            };
            format!("{place}{}", cut(&strict.inner().to_string()))
        }),
        other => format!("received {}", kind(other)),
    };
    Err(ToolError::BadInput {
        tool: spec.name.to_owned(),
        problem: format!("{problem}; expected {}", signature(&spec.input_schema)),
    })
}

/// Returns the arguments with nulls dropped and with texts read as what the schema asks for, if that changes anything.
fn unwrapped(spec: &ToolSpec, input: &Value) -> Option<Value> {
    let fields = input.as_object()?;
    let mut is_changed = false;
    let mut mended = Map::new();
    for (name, value) in fields {
        let wanted = spec.input_schema["properties"][name]["type"].as_str();
        match (value, wanted) {
            (Value::Null, _) => is_changed = true,
            (
                Value::String(text),
                Some(wanted @ ("integer" | "number" | "boolean" | "array" | "object")),
            ) => {
                let read = serde_json::from_str(text)
                    .ok()
                    .filter(|read| is_of(read, wanted));
                is_changed |= read.is_some();
                mended.insert(name.clone(), read.unwrap_or_else(|| value.clone()));
            }
            _ => drop(mended.insert(name.clone(), value.clone())),
        }
    }
    is_changed.then_some(Value::Object(mended))
}

fn is_of(value: &Value, wanted: &str) -> bool {
    match value {
        Value::Number(number) => wanted == "number" || (wanted == "integer" && !number.is_f64()),
        Value::Bool(_) => wanted == "boolean",
        Value::Array(_) => wanted == "array",
        Value::Object(_) => wanted == "object",
        Value::Null | Value::String(_) => false,
    }
}

/// Names the required fields that are not there, and what came instead.
fn missing(spec: &ToolSpec, fields: &Map<String, Value>) -> Option<String> {
    let required = spec.input_schema["required"].as_array()?;
    let missing: Vec<String> = required
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| fields.get(*name).is_none_or(Value::is_null))
        .map(|name| format!("`{name}`"))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let received: Vec<String> = fields
        .keys()
        .take(10)
        .map(|name| format!("`{}`", cut(name)))
        .collect();
    let received = if received.is_empty() {
        "nothing".to_owned()
    } else {
        received.join(", ")
    };
    Some(format!(
        "{} missing, received {received}",
        missing.join(", ")
    ))
}

/// Renders a schema as people write it: `{path: string, lines?: string}`.
fn signature(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object() else {
        return written_type(schema);
    };
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let fields: Vec<String> = properties
        .iter()
        .map(|(name, property)| {
            let mark = if is_required(name) { "" } else { "?" };
            format!("{name}{mark}: {}", written_type(property))
        })
        .collect();
    format!("{{{}}}", fields.join(", "))
}

fn written_type(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        return words.join(" | ");
    }
    match schema["type"].as_str() {
        Some("array") => format!("[{}]", signature(&schema["items"])),
        Some("object") if schema["properties"].is_object() => signature(schema),
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text that is not a JSON object",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Cuts text from the model to what a message needs.
fn cut(text: &str) -> String {
    const MAX: usize = 200;
    if text.chars().count() <= MAX {
        return text.to_owned();
    }
    format!("{}… (cut)", text.chars().take(MAX).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::{Concurrency, todo::Todo};

    #[derive(Debug, PartialEq, Deserialize)]
    struct Input {
        path: String,
        limit: Option<u64>,
        #[serde(default)]
        all: bool,
        #[serde(default)]
        names: Vec<String>,
    }

    fn spec() -> ToolSpec {
        ToolSpec {
            name: "look",
            description: "",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string" },
                    "limit": { "type": "integer" },
                    "all": { "type": "boolean" },
                    "names": { "type": "array", "items": { "type": "string" } },
                },
                "required": ["path"],
            }),
            deferred: false,
            risk: cox_permission::Risk::ReadOnly,
            concurrency: Concurrency::Parallel,
        }
    }

    #[test]
    fn what_a_model_means_is_read() {
        let check = |input: Value, limit, all, names: &[&str]| {
            let names = names.iter().map(|&name| name.to_owned()).collect();
            let expected = Input {
                path: "a".to_owned(),
                limit,
                all,
                names,
            };
            assert_eq!(
                parse_input::<Input>(&spec(), &input).unwrap(),
                expected,
                "{input}"
            );
        };
        check(json!({ "path": "a" }), None, false, &[]);
        check(
            json!({ "path": "a", "limit": 3, "other": 1 }),
            Some(3),
            false,
            &[],
        );
        check(
            json!({ "path": "a", "limit": "3", "all": "true" }),
            Some(3),
            true,
            &[],
        );
        check(
            json!({ "path": "a", "limit": null, "all": null, "names": null }),
            None,
            false,
            &[],
        );
        check(
            json!({ "path": "a", "names": "[\"x\"]" }),
            None,
            false,
            &["x"],
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_what_was_expected() {
        let check = |input: Value, expected: &str| {
            let error = parse_input::<Input>(&spec(), &input).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "bad arguments for `look`: {expected}; expected {{path: string, limit?: integer, all?: boolean, names?: [string]}}"
                )
            );
        };
        check(json!({}), "`path` missing, received nothing");
        check(
            json!({ "file": "a", "limit": 1 }),
            "`path` missing, received `file`, `limit`",
        );
        check(json!({ "path": null }), "`path` missing, received `path`");
        check(
            json!({ "path": "a", "limit": "many" }),
            "`limit`: invalid type: string \"many\", expected u64",
        );
        check(
            json!({ "path": "a", "names": [1] }),
            "`names[0]`: invalid type: integer `1`, expected a string",
        );
        check(
            json!("{\"path\": "),
            "received a text that is not a JSON object",
        );
        check(json!(null), "received nothing");
    }

    #[test]
    fn inner_objects_and_words_are_written_out() {
        assert_eq!(
            signature(&crate::Tool::spec(&Todo::new()).input_schema),
            "{items: [{id?: string, text: string, state: \"pending\" | \"in_progress\" | \"done\"}]}"
        );
    }
}
