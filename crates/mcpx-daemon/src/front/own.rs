//! The hub's own tools: each is a row of the operations' table, described for a model.

mod arguments;

use std::sync::LazyLock;

use mcp_wire::content::Content;
use mcp_wire::json::Kind as JsonKind;
use mcp_wire::{CallResult, Object, Raw};
use mcpx_api::Op;
use mcpx_api::operation::{Effect, Kind, Operation, Param};
use serde_json::{Map, Value, json};

pub(super) use self::arguments::params;
use crate::ops::Reply;

/// Parameters that say who asks: the connection says it already.
const OF_THE_CONNECTION: [&str; 2] = ["context", "session"];
/// Parameters that a model is not told of: which servers it sees is its person's choice, it has no tool that would
/// collect a task, and it follows no log.
const UNTOLD: [&str; 5] = ["profile", "skipDefault", "allProfiles", "task", "after"];
/// The tools that a model needs to get to any other; hosts that load tools when they are needed load these at once.
const CORE: [Op; 3] = [Op::Search, Op::Types, Op::Call];
/// Most namespaces that the instructions name.
const NAMED: usize = 30;

/// The definitions, in the order of the table.
static TOOLS: LazyLock<Vec<(&'static str, Raw)>> = LazyLock::new(|| {
    mcpx_api::operations::all()
        .filter_map(|operation| Some((operation.tool?, define(operation))))
        .collect()
});

/// The hub's own tools: name and definition.
pub(super) fn tools() -> &'static [(&'static str, Raw)] {
    &TOOLS
}

/// The operation behind a tool.
pub(super) fn operation(tool: &str) -> Option<&'static Operation> {
    mcpx_api::operations::all().find(|operation| operation.tool == Some(tool))
}

/// When a model wants it, behind the summary of the table.
fn when(id: Op) -> &'static str {
    match id {
        Op::Namespaces => "Begin here to see what can be reached through this server.",
        Op::Search => {
            "Use it to find a tool for a task when you do not know its name. The results name each tool as `namespace.tool`."
        }
        Op::Types => {
            "Read the signature before the first call of a tool: it says which arguments there are and what comes back."
        }
        Op::Catalog => {
            "Use it instead of several searches to see everything at once within a budget."
        }
        Op::Call => {
            "`tool` is `namespace.tool`, or the tool with `server`; `args` is an object as its signature says. The answer is the tool's own. When a call is refused, read what the answer says about the arguments, and correct them."
        }
        Op::Batch => "Use it for several calls that do not need each other's answers.",
        Op::ResultRead => "Its handle stands in the answer of the call.",
        Op::Status => "Use it when a server fails or does not answer: it says why.",
        Op::LogQuery => "Use it to find out what happened to an earlier call.",
        _ => "",
    }
}

fn define(operation: &Operation) -> Raw {
    let is_read = operation.effect == Effect::Reads;
    let reaches_out = matches!(operation.id, Op::Call | Op::Batch);
    let mut tool = json!({
        "name": operation.tool.unwrap_or(operation.name),
        "description": format!("{} {}", operation.summary, when(operation.id)).trim_end(),
        "inputSchema": schema(operation),
        "annotations": {
            "readOnlyHint": is_read,
            "destructiveHint": operation.effect == Effect::Destroys,
            "idempotentHint": operation.idempotent,
            "openWorldHint": reaches_out,
        },
    });
    if operation.id == Op::Call {
        tool["execution"] = json!({"taskSupport": "optional"});
    }
    if CORE.contains(&operation.id) {
        tool["_meta"] = json!({"anthropic/alwaysLoad": true});
    }
    Raw::from(tool)
}

fn schema(operation: &Operation) -> Value {
    let shown = || operation.params.iter().filter(|param| is_told(param.name));
    let properties: Map<String, Value> = shown()
        .map(|param| (param.name.to_owned(), property(operation.id, param)))
        .collect();
    let required: Vec<&str> = shown()
        .filter(|param| param.required)
        .map(|param| param.name)
        .collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn is_told(param: &str) -> bool {
    !OF_THE_CONNECTION.contains(&param) && !UNTOLD.contains(&param)
}

fn property(operation: Op, param: &Param) -> Value {
    let mut property = match param.kind {
        Kind::Text if !param.choices.is_empty() => {
            json!({"type": "string", "enum": param.choices})
        }
        Kind::Text => json!({"type": "string"}),
        Kind::Number => json!({"type": "integer", "minimum": 0}),
        Kind::Switch => json!({"type": "boolean"}),
        Kind::List => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Object => json!({"type": "object"}),
        Kind::Objects if operation == Op::Batch => json!({"type": "array", "items": {
            "type": "object",
            "properties": {
                "server": {"type": "string"},
                "tool": {"type": "string"},
                "args": {"type": "object"}
            },
            "required": ["tool"]
        }}),
        Kind::Objects => json!({"type": "array", "items": {"type": "object"}}),
        Kind::Any => json!({}),
    };
    property["description"] = json!(param.help);
    property
}

/// What a model should know of the hub: how to get from a task to a call.
pub(super) fn instructions(namespaces: &[String]) -> String {
    let mut text = "Tools of other MCP servers are reached through this one. `mcpx_namespaces` lists the servers; \
        `mcpx_search` finds a tool by words; `mcpx_types` shows its signature; `mcpx_call` calls it, with \
        `tool: \"namespace.tool\"` and `args`. Read the signature before the first call of a tool. A result that is \
        too large comes with a handle for `mcpx_read`."
        .to_owned();
    if !namespaces.is_empty() {
        text.push_str(" Namespaces: ");
        text.push_str(
            &namespaces
                .iter()
                .take(NAMED)
                .cloned()
                .collect::<Vec<_>>()
                .join(", "),
        );
        if namespaces.len() > NAMED {
            text.push_str(&format!(" and {} more", namespaces.len() - NAMED));
        }
        text.push('.');
    }
    text
}

/// What an operation answered, as a tool's result.
pub(super) fn result(reply: Reply) -> Object {
    match reply {
        Reply::Json { body, .. } => {
            let structured = (body.kind() == JsonKind::Object).then(|| body.clone());
            CallResult::new(vec![Content::text(body.as_str())], structured, false).into_raw()
        }
        Reply::Text { body, .. } => CallResult::text(&body, false).into_raw(),
        Reply::Events { .. } => {
            CallResult::text("a stream of events cannot be the result of a tool", true).into_raw()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_wire::Tool;

    #[test]
    fn the_tools_are_those_of_the_table_each_described_and_with_its_parameters() {
        let names: Vec<&str> = tools().iter().map(|(name, _)| *name).collect();
        let table: Vec<&str> = mcpx_api::operations::all()
            .filter_map(|operation| operation.tool)
            .collect();
        assert_eq!(names, table);
        for name in [
            "mcpx_namespaces",
            "mcpx_search",
            "mcpx_types",
            "mcpx_catalog",
            "mcpx_call",
            "mcpx_batch",
            "mcpx_status",
            "mcpx_log",
            "mcpx_read",
        ] {
            assert!(names.contains(&name), "{name}");
        }
        for (name, raw) in tools() {
            let tool = Tool::parse(raw).expect("a tool");
            let operation = operation(name).expect("its operation");
            assert!(!when(operation.id).is_empty(), "{name} does not say when");
            let schema = tool.input_schema().object().expect("a schema");
            let properties = schema.object("properties").expect("properties");
            for param in operation.params {
                assert_eq!(
                    properties.contains(param.name),
                    is_told(param.name),
                    "{name}.{}",
                    param.name
                );
                let words = properties
                    .object(param.name)
                    .and_then(|property| property.get("enum").cloned());
                let choices = (!param.choices.is_empty()).then(|| Raw::of(param.choices));
                assert_eq!(words, choices, "{name}.{}", param.name);
            }
            assert!(
                !is_told("task") && !properties.contains("task"),
                "nothing collects a task"
            );
            assert_eq!(
                tool.hints().read_only,
                operation.effect == Effect::Reads,
                "{name}"
            );
        }
    }

    #[test]
    fn the_definitions_are_small_and_such_that_strict_interfaces_of_models_take_them() {
        let mut bytes = 0;
        for (name, raw) in tools() {
            bytes += raw.as_str().len();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            assert!(name.len() <= 64 && name.chars().all(is_plain), "{name}");
            let tool = raw.value().expect("a tree");
            let schema = &tool["inputSchema"];
            assert_eq!(schema["type"], "object", "{name}");
            for word in ["anyOf", "oneOf", "allOf", "$ref", "not"] {
                assert!(
                    !raw.as_str().contains(&format!("\"{word}\"")),
                    "{name}: {word}"
                );
            }
            let required = schema["required"].as_array();
            for param in required.into_iter().flatten() {
                let param = param.as_str().expect("a name");
                assert!(schema["properties"].get(param).is_some(), "{name}.{param}");
            }
            for (param, property) in schema["properties"].as_object().expect("properties") {
                assert!(property["type"].is_string(), "{name}.{param}");
                if property["type"] == "array" {
                    assert!(property["items"]["type"].is_string(), "{name}.{param}");
                }
            }
        }
        // About 1,500 tokens.
        assert!(bytes < 6_200, "{bytes}");
    }

    #[test]
    fn the_instructions_are_short_and_say_the_way() {
        let text = instructions(&[]);
        let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
        assert!(at("mcpx_namespaces") < at("mcpx_search") && at("mcpx_search") < at("mcpx_types"));
        assert!(
            at("mcpx_types") < at("mcpx_call") && text.len() < 600,
            "{}",
            text.len()
        );
    }
}
