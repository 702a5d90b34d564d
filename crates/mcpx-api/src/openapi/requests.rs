//! What operations take: parameters, bodies, and the headers that say who asks.

use serde_json::{Map, Value, json};

use crate::Op;
use crate::operation::{Kind, LARGEST, Operation, Param, Place};

/// The headers that say who asks, as they can be referred to.
pub(super) fn headers() -> Value {
    let header = |name: &str, about: &str| json!({"name": name, "in": "header", "required": false, "description": about, "schema": {"type": "string"}});
    json!({
        "Cwd": header("X-Mcpx-Cwd", "The folder that the caller works in, percent-encoded."),
        "Session": header("X-Mcpx-Session", "The caller's session."),
        "ParentSession": header("X-Mcpx-Parent-Session", "The session that started the caller's."),
        "Pid": header("X-Mcpx-Pid", "The caller's process."),
        "Call": header("X-Mcpx-Call", "The caller's name for this call."),
        "Ephemeral": header("X-Mcpx-Ephemeral", "`1`: the caller ends after this call, and what was started for it alone ends with it."),
        "TraceParent": header("X-Mcpx-Trace-Parent", "The span that this call belongs to, in the log."),
        "Settings": header("X-Mcpx-Settings", "Settings for this call: a JSON object of path to text. Only those of a call are taken; what cannot be read is passed over.")
    })
}

/// The names of the headers that an operation goes by.
fn headers_of(operation: &Operation) -> &'static [&'static str] {
    const CALLER: &[&str] = &[
        "Cwd",
        "Session",
        "ParentSession",
        "Pid",
        "Call",
        "Ephemeral",
        "TraceParent",
        "Settings",
    ];
    match operation.id {
        Op::Call
        | Op::CallPath
        | Op::Batch
        | Op::ResourceRead
        | Op::PromptGet
        | Op::Complete
        | Op::ToolInvoke => CALLER,
        Op::Resolve => &["Cwd", "Session", "ParentSession", "Pid"],
        Op::ServersAdd | Op::ServersRemove | Op::SettingsSet | Op::SettingsUnset => &["Cwd"],
        Op::SessionRelease => &["Pid"],
        Op::LogRecord => &["Session", "TraceParent"],
        Op::Search | Op::Types | Op::Catalog | Op::LogQuery | Op::StatsQuery => &["Settings"],
        _ => &[],
    }
}

/// The parameters in path, query and headers.
pub(super) fn parameters(operation: &Operation) -> Vec<Value> {
    let own = operation.params.iter().filter_map(|param| {
        let place = match param.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Body | Place::Whole => return None,
        };
        let mut out = json!({
            "name": param.name,
            "in": place,
            "required": param.required,
            "description": sentence(param.help),
            "schema": schema(param, false),
        });
        if param.kind == Kind::List {
            // `a,b`; given twice, it goes on.
            out["style"] = "form".into();
            out["explode"] = false.into();
        }
        if matches!(param.kind, Kind::Switch) {
            out["allowEmptyValue"] = true.into();
        }
        Some(out)
    });
    let headers = headers_of(operation)
        .iter()
        .map(|name| json!({"$ref": format!("#/components/parameters/{name}")}));
    own.chain(headers).collect()
}

/// The body, when there is one.
pub(super) fn body(operation: &Operation) -> Option<Value> {
    let whole = operation
        .params
        .iter()
        .find(|param| param.place == Place::Whole);
    let (schema, required) = match whole {
        Some(param) => (schema(param, true), param.required),
        None => {
            let members: Vec<&Param> = operation
                .params
                .iter()
                .filter(|param| param.place == Place::Body)
                .collect();
            if members.is_empty() {
                return None;
            }
            let required: Vec<&str> = members
                .iter()
                .filter(|param| param.required)
                .map(|param| param.name)
                .collect();
            let properties: Map<String, Value> = members
                .iter()
                .map(|param| (param.name.to_owned(), member(operation, param)))
                .collect();
            let mut object = json!({
                "type": "object",
                "properties": properties,
                "additionalProperties": false,
            });
            let is_required = !required.is_empty();
            if is_required {
                object["required"] = json!(required);
            }
            (object, is_required)
        }
    };
    Some(json!({"required": required, "content": {"application/json": {"schema": schema}}}))
}

/// A member of a body: its kind, or more where more is known.
fn member(operation: &Operation, param: &Param) -> Value {
    let mut schema = special(operation, param).unwrap_or_else(|| schema(param, true));
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".to_owned(), sentence(param.help).into());
    }
    schema
}

fn special(operation: &Operation, param: &Param) -> Option<Value> {
    let kind = if param.required {
        json!("object")
    } else {
        json!(["object", "null"])
    };
    Some(match (operation.id, param.name) {
        (_, "context") => json!({
            "type": kind,
            "properties": {
                "cwd": {"type": "string", "description": "The folder that the caller works in."},
                "sessionId": {"type": "string", "description": "Its session."},
                "parentSessionId": {"type": "string", "description": "The session that started its own."},
                "callId": {"type": "string", "description": "Its name for this call."},
                "pid": {"type": "integer", "minimum": 1, "maximum": i32::MAX, "description": "Its process."},
                "ephemeral": {"description": "`true`: it ends after this call."}
            },
            "additionalProperties": false
        }),
        (_, "calls") => json!({
            "type": "array",
            "maxItems": 1000,
            "items": {
                "type": "object",
                "properties": {
                    "server": {"description": "The server's name or namespace, as text."},
                    "namespace": {"description": "The same."},
                    "tool": {"description": "The tool, or `namespace.tool`, as text."},
                    "name": {"description": "The same."},
                    "args": {"type": "object", "additionalProperties": true, "description": "Its arguments."},
                    "arguments": {"type": "object", "additionalProperties": true, "description": "The same."}
                },
                "additionalProperties": false
            }
        }),
        (_, "env" | "headers") => {
            json!({"type": kind, "additionalProperties": {"type": "string"}})
        }
        _ => return None,
    })
}

/// What a parameter may be. In a body, what need not be there may also be `null`.
fn schema(param: &Param, in_body: bool) -> Value {
    let nullable = in_body && !param.required && param.place == Place::Body;
    let of = |word: &str| {
        if nullable {
            json!([word, "null"])
        } else {
            json!(word)
        }
    };
    match param.kind {
        Kind::Text if !param.choices.is_empty() => {
            let mut words: Vec<Value> = param.choices.iter().map(|word| json!(word)).collect();
            if nullable {
                words.push(Value::Null);
            }
            json!({"type": of("string"), "enum": words})
        }
        Kind::Text if param.required => {
            json!({"type": "string", "minLength": 1, "pattern": r"\S"})
        }
        Kind::Text => json!({"type": of("string")}),
        Kind::Number => json!({"type": of("integer"), "minimum": 0, "maximum": LARGEST}),
        Kind::Switch if in_body => json!({"type": of("boolean")}),
        // In two: generators of clients cannot do with an enumeration of both.
        Kind::Switch => json!({"anyOf": [
            {"type": "boolean"},
            {"type": "string", "enum": ["true", "false", "1", "0", "yes", "no", ""]}
        ]}),
        Kind::List => json!({"type": of("array"), "items": {"type": "string"}}),
        // Generators of clients take an object that says nothing for one without members.
        Kind::Object => json!({"type": of("object"), "additionalProperties": true}),
        Kind::Objects => {
            json!({"type": of("array"), "items": {"type": "object", "additionalProperties": true}})
        }
        Kind::Any => json!({}),
    }
}

/// A few words as a sentence.
pub(super) fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    let text: String = match chars.next() {
        Some(first) if first.is_alphabetic() => first.to_uppercase().chain(chars).collect(),
        _ => words.to_owned(),
    };
    if text.ends_with('.') {
        text
    } else {
        text + "."
    }
}
