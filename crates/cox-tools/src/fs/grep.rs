//! `grep`: the lines of files that match a pattern.

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use cox_workspace::{
    Confined,
    in_words::counted,
    search::{
        Bounds, LineHits, LineQuery, Show,
        lines::{MAX_HEAP, search_lines},
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    place::{blocking, reads},
    search::{kept, left_out, listed, place, search},
};
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
    #[serde(rename = "type")]
    file_type: Option<String>,
    show: Option<String>,
    #[serde(default)]
    multiline: bool,
    context: Option<usize>,
    max_results: Option<usize>,
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
                        "type": {"type": "string", "description": "such as `rust`"},
                        "show": {"type": "string", "enum": ["lines", "files", "counts"]},
                        "multiline": {"type": "boolean", "description": "`.` matches line breaks"},
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
        reads(self.spec.name, place(input.path.as_deref()), cx)
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let input: Input = parse_input(&self.spec, &input)?;
        blocking(cx, move |cx| grep(&input, cx)).await
    }
}

fn grep(input: &Input, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
    let show = match input.show.as_deref() {
        None | Some("" | "lines") => Show::Lines,
        Some("files") => Show::Files,
        Some("counts") => Show::Counts,
        Some(other) => {
            let other: String = other.chars().take(60).collect();
            return Err(ToolError::BadInput {
                tool: "grep".to_owned(),
                problem: format!("`show` is `{other}`, expected `lines`, `files` or `counts`"),
            });
        }
    };
    let find = |at: &Confined, bounds: &Bounds<'_>| {
        let query = LineQuery {
            pattern: input.pattern.clone(),
            under: at.real.clone(),
            glob: input.glob.clone(),
            file_type: input.file_type.clone(),
            multiline: input.multiline,
            show,
            context: input.context.unwrap_or(0).min(MAX_CONTEXT),
            max_shown: input.max_results.unwrap_or(MAX_RESULTS).max(1),
        };
        let hits = search_lines(&query, &|path| listed(cx, path), bounds)?;
        Ok((hits, at.real.is_file()))
    };
    search(cx, input.path.as_deref(), find, |(hits, is_one_file)| {
        let notes = notes(&hits, is_one_file);
        if hits.matches == 0 {
            return ToolOutput::text(format!("no matches{notes}"));
        }
        let summary = summary(&hits, show, cx);
        ToolOutput::text(format!("{}{summary}{notes}", hits.shown))
    })
}

/// What of the files was not searched.
fn notes(hits: &LineHits, is_one_file: bool) -> String {
    let mut notes = left_out(hits.has_denied, hits.failed, hits.timed_out);
    if hits.cut > 0 {
        notes.push_str(&format!(
            "\n[{} files have a line of over {MAX_HEAP} bytes and were searched up to it; across lines such a file is not searched]",
            hits.cut
        ));
    }
    if hits.binary > 0 && (is_one_file || hits.matches == 0) {
        notes.push_str(&format!(
            "\n[{} binary files were not searched]",
            hits.binary
        ));
    }
    notes
}

/// The last row: how much there is, and where the rest of it lies.
fn summary(hits: &LineHits, show: Show, cx: &ToolCx) -> String {
    let (matches, files) = (hits.matches, hits.files);
    let files = counted(files, "file");
    let total = match (show, matches) {
        (Show::Files, _) => files,
        (Show::Lines | Show::Counts, 1) => format!("1 match in {files}"),
        (Show::Lines | Show::Counts, _) => format!("{matches} matches in {files}"),
    };
    let Some(all) = hits.all.as_deref() else {
        let not_kept = hits.not_kept;
        return match not_kept {
            0 => format!("[{total}]"),
            _ => format!(
                "[{total}; {not_kept} of them are in no list, because it would be too long; narrow the search]"
            ),
        };
    };
    let pointer = kept(cx, all);
    let mut summary = match show {
        Show::Lines => format!(
            "[{} more matches, {total}; {pointer}]",
            matches - hits.shown_matches
        ),
        Show::Files | Show::Counts => format!("[more files, {total}; {pointer}]"),
    };
    if hits.not_kept > 0 {
        summary.push_str(&format!(
            "\n[{} of them are in no list; narrow the search]",
            hits.not_kept
        ));
    }
    summary
}
