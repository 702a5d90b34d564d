//! What can be said of an answer that is no refusal: that it is not as the tool declared it; and, where none came, which
//! tool shows whether the work was done.

use std::collections::BTreeSet;

use mcp_wire::Tool;
use serde_json::Value;

use untrusted_text::terminal::one_line;

use super::MAX_SHOWN;
use crate::conformity::{self, Mismatch, Problem};
use crate::search::stem;
use crate::words;

/// How a structured result is not as the tool's output schema says; nothing when it is, as far as can be told.
#[must_use]
pub fn unlike_declared(tool: &Tool, structured: &Value) -> Option<String> {
    let schema = tool.output_schema()?.value().ok()?;
    conformity::mismatches(&schema, structured)
        .first()
        .map(phrase)
}

fn phrase(mismatch: &Mismatch) -> String {
    let path = if mismatch.path.is_empty() {
        "the whole of it".to_owned()
    } else {
        format!("`{}`", one_line(&mismatch.path, MAX_SHOWN))
    };
    let said = match &mismatch.problem {
        Problem::Missing => format!("{path} is missing"),
        Problem::Type(declared, there) => format!("{path} is {there}, declared as {declared}"),
        Problem::NotAllowed(_) => format!("{path} is none of the declared values"),
        Problem::Unknown => format!("{path} is not declared"),
        Problem::NoAlternative => format!("{path} fits none of the declared alternatives"),
        Problem::Limit(limit) => format!("{path} is beyond {limit}"),
        Problem::Never => format!("{path} is declared to have no value"),
    };
    one_line(&said, 1_000)
}

/// The tool that only reads and is about the same things as `called`: it may show whether a call was done. Nothing for
/// a tool that only reads itself, and nothing when none is about the same.
#[must_use]
pub fn verify_with<'a>(tools: impl Iterator<Item = &'a Tool>, called: &Tool) -> Option<&'a str> {
    if called.hints().read_only {
        return None;
    }
    let about = subjects(called);
    let shared = |tool: &Tool| subjects(tool).intersection(&about).count();
    tools
        .filter(|tool| tool.name != called.name && tool.hints().read_only)
        .map(|tool| (shared(tool), tool))
        .filter(|(shared, _)| *shared > 0)
        .max_by_key(|(shared, tool)| (*shared, std::cmp::Reverse((tool.name.len(), &tool.name))))
        .map(|(_, tool)| tool.name.as_str())
}

/// What a tool is about: the words of its name, and of its description those that are not in every description.
fn subjects(tool: &Tool) -> BTreeSet<String> {
    let description = tool.description().unwrap_or_default();
    let first = description.split(['.', '\n']).next().unwrap_or_default();
    words::split(&tool.name)
        .chain(words::split(first).skip(1))
        .filter(|word| word.len() > 2 && !stem::is_filler(word))
        .map(|word| stem::stem(&word))
        .collect()
}

#[cfg(test)]
mod tests {
    use mcp_wire::Raw;
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str, reads: bool) -> Tool {
        let raw = json!({"name": name, "description": description, "inputSchema": {"type": "object"},
            "outputSchema": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
            "annotations": {"readOnlyHint": reads}});
        Tool::parse(&Raw::of(&raw)).unwrap()
    }

    #[test]
    fn a_call_is_verified_with_what_reads_the_same_things() {
        let tools = [
            tool("whoami", "Says who you are.", true),
            tool("search", "Finds issues, oldest first.", true),
            tool("list_pull_requests", "Lists pull requests.", true),
            tool("delete_issue", "Deletes an issue.", false),
        ];
        let with = |name: &str, description: &str, reads: bool| {
            verify_with(tools.iter(), &tool(name, description, reads))
        };
        assert_eq!(
            with("create_issue", "Creates an issue.", false),
            Some("search")
        );
        assert_eq!(
            with("merge_pull_request", "Merges it.", false),
            Some("list_pull_requests")
        );
        assert_eq!(with("send_mail", "Sends a message.", false), None);
        assert_eq!(with("get_issue", "Reads an issue.", true), None);
    }

    #[test]
    fn an_answer_is_held_against_what_the_tool_declared() {
        let tool = tool("t", "", true);
        assert_eq!(
            unlike_declared(&tool, &json!({"id": 1, "more": true})),
            None
        );
        let missing = unlike_declared(&tool, &json!({})).unwrap();
        assert!(missing.contains("id"), "{missing}");
        let wrong = unlike_declared(&tool, &json!({"id": "1"})).unwrap();
        assert!(wrong.contains("id") && wrong.contains("integer"), "{wrong}");
    }
}
