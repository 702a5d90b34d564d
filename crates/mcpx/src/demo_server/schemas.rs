//! The tools of the demo as they are listed, with the first and the second set of schemas.

use std::collections::HashMap;
use std::sync::LazyLock;

use mcp_wire::{Raw, Tool};
use serde_json::{Value, json};

/// What a tool does to its surroundings.
enum Effect {
    /// Nothing.
    Reads,
    /// It adds something each time.
    Adds,
    /// It sets something; once more changes nothing.
    Sets,
    /// It takes something away; once more changes nothing.
    Destroys,
}

impl Effect {
    fn hints(&self) -> Value {
        let (read_only, destructive, idempotent) = match self {
            Self::Reads => (true, false, true),
            Self::Adds => (false, false, false),
            Self::Sets => (false, false, true),
            Self::Destroys => (false, true, true),
        };
        json!({"readOnlyHint": read_only, "destructiveHint": destructive, "idempotentHint": idempotent, "openWorldHint": false})
    }
}

fn tool(name: &str, description: &str, effect: &Effect, input: &Value) -> Value {
    json!({"name": name, "description": description, "inputSchema": input, "annotations": effect.hints()})
}

fn object(properties: impl Into<Value>, required: &[&str]) -> Value {
    let properties = properties.into();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn issue() -> Value {
    json!({"type": "object", "required": ["id", "repo", "title", "body", "state", "labels", "ageDays"], "properties": {
        "id": {"type": "integer"}, "repo": {"type": "string"}, "title": {"type": "string"}, "body": {"type": "string"},
        "state": {"enum": ["open", "closed"]}, "labels": {"type": "array", "items": {"type": "string"}},
        "ageDays": {"type": "integer"}}})
}

/// Every tool, as it goes over the wire. `is_changed`: with the second set of schemas, in which `echo` requires its
/// message and `create_issue` a repository.
pub(super) fn tools(is_changed: bool) -> Vec<Value> {
    let message = json!({"message": {"type": "string", "description": "What to say."}});
    let echo = object(message, if is_changed { &["message"] } else { &[] });
    let mut search = tool(
        "search",
        "Finds issues, oldest first.",
        &Effect::Reads,
        &object(
            json!({
                "query": {"type": "string", "description": "Words that the title, the labels or the repository hold."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
                "repo": {"type": "string", "description": "As owner/name."},
                "olderThanDays": {"type": "integer", "minimum": 0}
            }),
            &[],
        ),
    );
    search["outputSchema"] = json!({"type": "object", "required": ["issues", "total"], "properties": {
        "issues": {"type": "array", "items": issue()}, "total": {"type": "integer"}}});
    let mut create = tool(
        "create_issue",
        "Creates an issue.",
        &Effect::Adds,
        &create_issue(is_changed),
    );
    create["outputSchema"] = issue();
    let mut close = tool(
        "close_issue",
        "Closes an issue.",
        &Effect::Destroys,
        &object(json!({"id": {"type": "integer", "minimum": 1}}), &["id"]),
    );
    close["outputSchema"] = issue();
    let mut tools = vec![
        tool("echo", "Says the message again.", &Effect::Reads, &echo),
        search,
        create,
        close,
    ];
    tools.extend(trouble());
    tools
}

fn create_issue(is_changed: bool) -> Value {
    let mut properties = json!({
        "title": {"type": "string", "minLength": 1},
        "body": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "string"}}
    });
    if is_changed {
        properties["repo"] = json!({"type": "string", "description": "As owner/name."});
        return object(properties, &["title", "repo"]);
    }
    object(properties, &["title"])
}

/// The tools that a hub has to cope with.
fn trouble() -> [Value; 6] {
    [
        tool(
            "slow",
            "Takes its time, with progress, and can be cancelled.",
            &Effect::Reads,
            &object(
                json!({
                    "ms": {"type": "integer", "minimum": 0, "maximum": 600_000, "description": "How long."},
                    "steps": {"type": "integer", "minimum": 1, "maximum": 1_000, "default": 5, "description": "How often it reports."}
                }),
                &["ms"],
            ),
        ),
        tool(
            "ask",
            "Asks the person for a name and a colour.",
            &Effect::Reads,
            &object(json!({}), &[]),
        ),
        tool(
            "sign_in",
            "Asks the person to open a page.",
            &Effect::Sets,
            &object(json!({}), &[]),
        ),
        tool(
            "big",
            "Answers with as many bytes as are wanted.",
            &Effect::Reads,
            &object(
                json!({
                    "bytes": {"type": "integer", "minimum": 0, "maximum": super::trouble::MAX_BYTES},
                    "kind": {"enum": ["text", "json"], "default": "text"}
                }),
                &["bytes"],
            ),
        ),
        tool(
            "flaky",
            "Fails in the way that is wanted: with an error, with a failed result, by ending the process, or the first time only.",
            &Effect::Adds,
            &object(
                json!({"fail": {"enum": super::trouble::FAILURES, "default": "error"}}),
                &[],
            ),
        ),
        tool(
            "change_schema",
            "Goes to the second set of schemas, or back.",
            &Effect::Sets,
            &object(
                json!({"changed": {"type": "boolean", "default": true}}),
                &[],
            ),
        ),
    ]
}

/// The input schema of a tool.
pub(super) fn input(name: &str, is_changed: bool) -> Option<Raw> {
    /// By name: with the first set of schemas, and with the second.
    static INPUTS: LazyLock<[HashMap<String, Raw>; 2]> =
        LazyLock::new(|| [inputs(false), inputs(true)]);
    INPUTS[usize::from(is_changed)].get(name).cloned()
}

fn inputs(is_changed: bool) -> HashMap<String, Raw> {
    tools(is_changed)
        .iter()
        .filter_map(|tool| Tool::parse(&Raw::of(tool)).ok())
        .map(|tool| (tool.name.clone(), tool.input_schema()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(is_changed: bool) -> Vec<Tool> {
        let tools = tools(is_changed);
        tools
            .iter()
            .map(|tool| Tool::parse(&Raw::of(tool)).unwrap())
            .collect()
    }

    fn required(tools: &[Tool], name: &str) -> Value {
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        tool.input_schema().value().unwrap()["required"].clone()
    }

    #[test]
    fn the_second_set_requires_more() {
        let (first, second) = (parsed(false), parsed(true));
        assert_eq!(required(&first, "echo"), json!([]));
        assert_eq!(required(&second, "echo"), json!(["message"]));
        assert_eq!(required(&first, "create_issue"), json!(["title"]));
        assert_eq!(required(&second, "create_issue"), json!(["title", "repo"]));
        let names = |tools: &[Tool]| {
            tools
                .iter()
                .map(|tool| tool.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&first), names(&second));
    }

    #[test]
    fn what_destroys_says_so_and_what_reads_says_so() {
        for tool in parsed(false) {
            let hints = tool.hints();
            assert_eq!(
                hints.destructive,
                tool.name == "close_issue",
                "{}",
                tool.name
            );
            let reads = ["echo", "search", "slow", "ask", "big"].contains(&tool.name.as_str());
            assert_eq!(hints.read_only, reads, "{}", tool.name);
        }
    }
}
