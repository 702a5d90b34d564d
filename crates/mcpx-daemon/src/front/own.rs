//! The hub's own tools: each is a row of the operations' table, described for a model.

use std::sync::LazyLock;

use mcp_wire::content::Content;
use mcp_wire::json::Kind as JsonKind;
use mcp_wire::{CallResult, Object, Raw};
use mcpx_api::operation::{Effect, Kind, Operation, Param};
use mcpx_api::{ApiError, Op, Params};
use serde_json::{Map, Value, json};

use crate::ops::Reply;

/// Parameters that say who asks: the connection says it already.
const OF_THE_CONNECTION: [&str; 2] = ["context", "session"];
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
        Op::Namespaces => {
            "Begin here: it lists what can be reached through this server, without starting anything."
        }
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
        Op::ResultRead => {
            "Use it with the handle that stands in the answer of a call whose result was too large."
        }
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
    let shown = || {
        operation
            .params
            .iter()
            .filter(|param| !OF_THE_CONNECTION.contains(&param.name))
    };
    let properties: Map<String, Value> = shown()
        .map(|param| (param.name.to_owned(), property(param)))
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

fn property(param: &Param) -> Value {
    let mut property = match param.kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Number => json!({"type": "integer", "minimum": 0}),
        Kind::Switch => json!({"type": "boolean"}),
        Kind::List => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Object => json!({"type": "object"}),
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

/// The arguments of a call, checked against the table. Words that models take from other hubs are understood.
///
/// # Errors
/// When they are not what the operation takes.
pub(super) fn params(operation: &Operation, sent: Option<&Raw>) -> Result<Params, ApiError> {
    let mut given = match sent {
        None => Object::new(),
        Some(raw) if raw.is_null() => Object::new(),
        Some(raw) => raw.object().map_err(|_| {
            ApiError::bad(format!(
                "`arguments` was {}, expected a JSON object",
                raw.kind().word()
            ))
        })?,
    };
    if operation.id == Op::Call {
        for (theirs, ours) in [
            ("namespace", "server"),
            ("arguments", "args"),
            ("name", "tool"),
        ] {
            if !given.contains(ours)
                && let Some(value) = given.remove(theirs)
            {
                given.set(ours, value);
            }
        }
        unwrap_args(&mut given);
    }
    for name in OF_THE_CONNECTION {
        given.remove(name);
    }
    Params::check(operation, given)
}

/// Some models write the arguments as text.
fn unwrap_args(given: &mut Object) {
    let inner = given
        .string("args")
        .and_then(|text| Raw::parse(&text).ok())
        .filter(|raw| raw.kind() == JsonKind::Object);
    if let Some(inner) = inner {
        given.set("args", inner);
    }
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
                    !OF_THE_CONNECTION.contains(&param.name),
                    "{name}.{}",
                    param.name
                );
            }
            assert_eq!(
                tool.hints().read_only,
                operation.effect == Effect::Reads,
                "{name}"
            );
        }
    }

    #[test]
    fn words_of_other_hubs_are_understood_and_unknown_ones_are_not() {
        let call = mcpx_api::operation(Op::Call);
        let sent = Raw::parse(
            r#"{"namespace":"a","name":"b","arguments":"{\"x\":1}","session":"forged"}"#,
        );
        let params = params(call, sent.ok().as_ref()).expect("parameters");
        assert_eq!(params.text("server").as_deref(), Some("a"));
        assert_eq!(params.text("tool").as_deref(), Some("b"));
        assert_eq!(params.members("args"), Some(Object::new().with("x", 1)));
        assert_eq!(params.text("session"), None);
        let wrong = Raw::parse(r#"{"tool":"a.b","argz":{}}"#).expect("JSON");
        let error = super::params(call, Some(&wrong)).expect_err("an error");
        assert!(error.message.contains("argz"), "{error}");
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
