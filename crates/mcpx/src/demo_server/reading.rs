//! What the demo offers beside tools: two texts, the issues by template, a prompt, and completion of their arguments.

use mcp_server::Reply;
use mcp_wire::{Object, Raw, RpcError};
use serde_json::{Value, json};

use super::issues::{Issues, Query, REPOS};

const README: &str = "# The demo\n\nAn issue tracker that lives in memory, and a few tools that behave in ways a client has to cope with.\n";
const LABELS: &str = "auth\nbug\ndocs\nfeature\nperformance\nui\n";
const ISSUE: &str = "demo://issues/";

pub(super) fn resources() -> Vec<Value> {
    vec![
        json!({"uri": "demo://readme", "name": "readme", "description": "What the demo is.", "mimeType": "text/markdown"}),
        json!({"uri": "demo://labels", "name": "labels", "description": "The labels of issues.", "mimeType": "text/plain"}),
    ]
}

pub(super) fn templates() -> Vec<Value> {
    vec![
        json!({"uriTemplate": "demo://issues/{id}", "name": "issue", "description": "One issue.", "mimeType": "application/json"}),
    ]
}

fn object(value: Value) -> Object {
    Raw::from(value).object().unwrap_or_default()
}

pub(super) fn read(params: &Object, issues: &Issues) -> Result<Reply, RpcError> {
    let uri = params.string("uri").unwrap_or_default();
    let issue = || {
        let id = uri.strip_prefix(ISSUE)?.parse().ok()?;
        issues.get(id)
    };
    let (mime, text) = match uri.as_str() {
        "demo://readme" => ("text/markdown", README.to_owned()),
        "demo://labels" => ("text/plain", LABELS.to_owned()),
        _ => match issue() {
            Some(issue) => ("application/json", issue.to_value().to_string()),
            None => {
                let data = object(json!({ "uri": uri }));
                return Err(RpcError::invalid_params("there is no such resource").with_data(data));
            }
        },
    };
    let contents = json!([{"uri": uri, "mimeType": mime, "text": text}]);
    Ok(Reply::complete(object(json!({ "contents": contents }))))
}

pub(super) fn prompts() -> Vec<Value> {
    vec![
        json!({"name": "triage", "description": "Sort the open issues of a repository.",
            "arguments": [{"name": "repo", "description": "As owner/name.", "required": true}]}),
    ]
}

pub(super) fn prompt(params: &Object, issues: &Issues) -> Result<Reply, RpcError> {
    let name = params.string("name").unwrap_or_default();
    if name != "triage" {
        return Err(RpcError::invalid_params(format!(
            "there is no prompt `{name}`"
        )));
    }
    let arguments = params.object("arguments").unwrap_or_default();
    let repo = super::arguments::text(&arguments, "repo")?;
    let query = Query {
        repo: Some(repo.clone()),
        ..Query::default()
    };
    let lines: String = issues
        .search(&query)
        .iter()
        .filter(|issue| issue.is_open)
        .map(|issue| format!("- #{} {}\n", issue.id, issue.title))
        .collect();
    let text = format!("Sort the open issues of {repo} by what hurts most:\n{lines}");
    Ok(Reply::complete(object(
        json!({"description": "Open issues, to be sorted.",
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}),
    )))
}

/// The values that an argument of the prompt or of the template may have.
pub(super) fn complete(params: &Object, issues: &Issues) -> Reply {
    let reference = params.object("ref").unwrap_or_default();
    let argument = params.object("argument").unwrap_or_default();
    let begun = argument.string("value").unwrap_or_default();
    let (name, uri) = (reference.string("name"), reference.string("uri"));
    let values: Vec<String> = match (name.as_deref(), uri.as_deref()) {
        (Some("triage"), _) => REPOS
            .iter()
            .filter(|repo| repo.starts_with(&begun))
            .map(|repo| (*repo).to_owned())
            .collect(),
        (_, Some("demo://issues/{id}")) => issues.ids(&begun),
        _ => Vec::new(),
    };
    let shown: Vec<&String> = values.iter().take(100).collect();
    Reply::complete(object(json!({"completion": {
        "values": shown, "total": values.len(), "hasMore": values.len() > shown.len()}})))
}
