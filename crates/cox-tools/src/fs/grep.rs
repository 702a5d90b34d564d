//! `grep`: the lines of files that match a pattern.

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use cox_workspace::{
    Access,
    search::{Bounds, LineQuery, lines::search_lines},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::place::{blocking, from_search, left_out, reads};
use crate::{Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, parse_input};

/// Matches shown unless the call says otherwise.
const MAX_RESULTS: usize = 200;

/// Lines of context at most.
const MAX_CONTEXT: usize = 50;

/// The tool.
pub struct Grep {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Input {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    context: Option<usize>,
    max_results: Option<usize>,
}

impl Input {
    fn path(&self) -> &str {
        self.path
            .as_deref()
            .filter(|path| !path.is_empty())
            .unwrap_or(".")
    }
}

impl Grep {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "grep",
                description: "Searches file contents by a Rust regex; prints `path:line:text`. Honours .gitignore.",
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "pattern": {"type": "string"},
                        "path": {"type": "string", "description": "file or folder, default `.`"},
                        "glob": {"type": "string", "description": "such as `*.rs`"},
                        "context": {"type": "integer", "description": "lines around a match"},
                        "max_results": {"type": "integer", "description": "default 200"}
                    },
                    "required": ["pattern"]
                }),
                deferred: false,
                risk: Risk::ReadOnly,
                concurrency: Concurrency::Parallel,
            },
        }
    }
}

#[async_trait]
impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value, cx: &SubjectCx) -> Result<Subject, ToolError> {
        let input: Input = parse_input(&self.spec, input)?;
        reads(self.spec.name, input.path(), cx)
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let input: Input = parse_input(&self.spec, &input)?;
        blocking(cx, move |cx| grep(&input, cx)).await
    }
}

fn grep(input: &Input, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
    let at = cx.workspace.confine(input.path(), Access::Read)?;
    if !at.real.exists() {
        return Err(ToolError::NotFound(format!(
            "there is no file or folder `{}`",
            at.written
        )));
    }
    let query = LineQuery {
        pattern: input.pattern.clone(),
        under: at.real,
        glob: input.glob.clone(),
        context: input.context.unwrap_or(0).min(MAX_CONTEXT),
        max_shown: input.max_results.unwrap_or(MAX_RESULTS).max(1),
    };
    let bounds = Bounds {
        may_read: &|path| (cx.may_read)(path),
        cancelled: &|| cx.cancel.is_cancelled(),
    };
    let hits = match search_lines(&query, &|path| cx.workspace.shown(path), &bounds) {
        Ok(hits) => hits,
        Err(error) => return from_search(error),
    };
    let notes = left_out(hits.hidden, hits.failed);
    if hits.matches == 0 {
        return Ok(ToolOutput::text(format!("no matches{notes}")));
    }
    let mut text = hits.shown;
    let omitted = hits.matches - hits.shown_matches;
    if omitted > 0 {
        let whole = hits
            .all
            .as_deref()
            .map(|all| cx.archive.put(all.as_bytes()));
        let pointer = match whole {
            Some(Ok(id)) => format!("the whole list: `expand` with id {id}"),
            Some(Err(error)) => format!("the whole list could not be stored: {error}"),
            None => "the whole list is too long to be stored".to_owned(),
        };
        text.push_str(&format!(
            "[{omitted} more matches, {} in {} files; {pointer}]",
            hits.matches, hits.files
        ));
        if hits.not_kept > 0 {
            text.push_str(&format!(
                "\n[{} of them are in no list; narrow the search]",
                hits.not_kept
            ));
        }
    } else {
        text.push_str(&format!(
            "[{} matches in {} files]",
            hits.matches, hits.files
        ));
    }
    text.push_str(&notes);
    Ok(ToolOutput::text(text))
}
