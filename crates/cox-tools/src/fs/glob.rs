//! `glob`: the files whose names fit.

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use cox_workspace::{
    Confined,
    search::{Bounds, FileHits, FileQuery, files::find_files},
};
use nucleo_matcher::{
    Config, Matcher, Utf32Str,
    pattern::{CaseMatching, Normalization, Pattern},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    place::{blocking, reads},
    search::{kept, left_out, listed, place, search},
};
use crate::{Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, parse_input};

/// Files listed unless the call says otherwise.
const LIMIT: usize = 100;

/// The tool.
pub struct Glob {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Input {
    pattern: String,
    path: Option<String>,
    query: Option<String>,
    limit: Option<usize>,
}

impl Glob {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "glob",
                description: "Lists files by name, newest first; `query` ranks by fuzzy match instead. Honours .gitignore.",
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "pattern": {"type": "string", "description": "such as `*.rs`, `src/**/*.ts`"},
                        "path": {"type": "string", "description": "folder, default `.`"},
                        "query": {"type": "string"},
                        "limit": {"type": "integer", "description": "default 100"}
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
impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value, cx: &SubjectCx) -> Result<Subject, ToolError> {
        let input: Input = parse_input(&self.spec, input)?;
        reads(self.spec.name, place(input.path.as_deref()), cx)
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let input: Input = parse_input(&self.spec, &input)?;
        blocking(cx, move |cx| glob(&input, cx)).await
    }
}

fn glob(input: &Input, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
    let find = |at: &Confined, bounds: &Bounds<'_>| {
        let query = FileQuery {
            under: at.real.clone(),
            glob: input.pattern.clone(),
        };
        find_files(&query, bounds)
    };
    search(cx, input.path.as_deref(), find, |hits| {
        ToolOutput::text(list(input, &hits, cx))
    })
}

fn list(input: &Input, hits: &FileHits, cx: &ToolCx) -> String {
    let files = hits.files.iter();
    let mut names: Vec<String> = files.map(|file| listed(cx, &file.path)).collect();
    let query = input.query.as_deref();
    if let Some(query) = query.filter(|query| !query.trim().is_empty()) {
        names = ranked(names, query);
    }
    let notes = left_out(hits.has_denied, hits.failed, hits.timed_out);
    if names.is_empty() {
        return format!("no files{notes}");
    }
    let limit = input.limit.unwrap_or(LIMIT).max(1);
    let mut text = names[..names.len().min(limit)].join("\n");
    if names.len() > limit {
        let pointer = kept(cx, &names.join("\n"));
        text.push_str(&format!(
            "\n[{} more files; {pointer}]",
            names.len() - limit
        ));
    }
    text.push_str(&notes);
    text
}

/// The names that match, best first; equal ones stay in their order.
fn ranked(names: Vec<String>, query: &str) -> Vec<String> {
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let mut buffer = Vec::new();
    let mut scored: Vec<(u32, String)> = names
        .into_iter()
        .filter_map(|name| {
            let score = pattern.score(Utf32Str::new(&name, &mut buffer), &mut matcher)?;
            Some((score, name))
        })
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, name)| name).collect()
}
