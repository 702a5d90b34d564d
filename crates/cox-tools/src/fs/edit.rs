//! `edit`: one text of a file replaced by another.

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use cox_workspace::{
    Access, Confined, Digest, ReadError, WriteError, WriteSet, diff,
    edit::{EditError, Edited, Strictness, edit},
    file::open_with_head,
    in_words::{counted, lines_listed},
    new_file::with_wanted_endings,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    change::{apply, encoding_note, from_write, note_preimages, remember, told_again},
    place::{MAX_EDIT_BYTES, binary, blocking, edits, from_read, readable},
};
use crate::{Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, parse_input};

/// Times an edit is made again when the file changes between reading and writing.
const ATTEMPTS: usize = 3;

/// The tool.
pub struct Edit {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Input {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    replace_all: bool,
}

impl Edit {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "edit",
                description: "Replaces `old` by `new` in a file. `old` must stand there once: copy it from the file with enough lines around it, without line numbers. Empty `old` creates a file.",
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "path": {"type": "string"},
                        "old": {"type": "string"},
                        "new": {"type": "string"},
                        "replace_all": {"type": "boolean"}
                    },
                    "required": ["path", "old", "new"]
                }),
                deferred: false,
                risk: Risk::Write,
                concurrency: Concurrency::Parallel,
            },
        }
    }
}

#[async_trait]
impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value, cx: &SubjectCx) -> Result<Subject, ToolError> {
        let input: Input = parse_input(&self.spec, input)?;
        edits(self.spec.name, &[&input.path], Risk::Write, cx)
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let asked = input;
        let input: Input = parse_input(&self.spec, &asked)?;
        let done = blocking(cx, move |cx| {
            let at = cx.workspace.confine(&input.path, Access::Write)?;
            readable(cx, &at)?;
            let mut attempt = 1;
            loop {
                match once(&input, &at, cx)? {
                    Ok(output) => return Ok(output),
                    Err(WriteError::ChangedMeanwhile { .. } | WriteError::Exists { .. })
                        if attempt < ATTEMPTS =>
                    {
                        attempt += 1;
                    }
                    Err(error) => return Err(from_write(error)),
                }
            }
        })
        .await;
        told_again(self.spec.name, &asked, cx, done)
    }
}

fn once(
    input: &Input,
    at: &Confined,
    cx: &ToolCx,
) -> Result<Result<ToolOutput, WriteError>, ToolError> {
    let old = match open_with_head(at) {
        Ok(file) if file.is_binary() => return Err(binary(&at.written, file.size, &file.head)),
        Ok(file) => Some(file.read_all(MAX_EDIT_BYTES).map_err(from_read)?),
        Err(ReadError::NotFound { .. }) if input.old.is_empty() => None,
        Err(error) => return Err(from_read(error)),
    };
    let content = old.as_deref().unwrap_or_default();
    let mut edited = match edit(content, &input.old, &input.new, input.replace_all) {
        Ok(edited) => edited,
        Err(EditError::Ambiguous {
            strictness,
            lines,
            more,
        }) => {
            let message = EditError::Ambiguous {
                strictness,
                lines: lines.clone(),
                more,
            };
            return Err(ToolError::Ambiguous {
                lines,
                message: format!("`{}`: {message}", at.written),
            });
        }
        Err(error @ EditError::NotFound { .. }) => {
            return Err(ToolError::NotFound(format!("`{}`: {error}", at.written)));
        }
        Err(error) => return Err(ToolError::Refused(format!("`{}`: {error}", at.written))),
    };
    if old.is_none() {
        edited.bytes = with_wanted_endings(at, &input.new);
    }
    let seen = cx.workspace.seen(&at.real);
    let had_changed = old
        .as_deref()
        .is_some_and(|old| seen.is_some_and(|seen| seen != Digest::of(old)));
    let name = cx.workspace.shown(&at.real);
    let diff = diff::unified(&name, old.as_deref(), Some(&edited.bytes));
    let mut output = ToolOutput::text(report(
        &at.written,
        &edited,
        &input.new,
        old.is_none(),
        had_changed,
    ));
    output.diff = Some(diff);
    let roots = cx.workspace.roots().clone();
    let mut set = WriteSet::new(&roots);
    let new = edited.bytes;
    let digest_of_new = new.clone();
    match old {
        Some(old) => set.update(at.clone(), old, new),
        None => set.create(at.clone(), new),
    }
    let receipt = match apply(set, cx) {
        Ok(receipt) => receipt,
        Err(error) => return Ok(Err(error)),
    };
    for file in &receipt.files {
        remember(cx, &file.path, file.kind, &digest_of_new);
    }
    note_preimages(&mut output, &receipt);
    Ok(Ok(output))
}

fn report(written: &str, edited: &Edited, new: &str, is_new: bool, had_changed: bool) -> String {
    if is_new {
        return format!(
            "created `{written}`: {}",
            counted(edited.bytes.len(), "byte")
        );
    }
    let places: Vec<String> = edited
        .places
        .iter()
        .take(40)
        .map(|place| {
            if place.last_line > place.first_line {
                format!("{}-{}", place.first_line, place.last_line)
            } else {
                place.first_line.to_string()
            }
        })
        .collect();
    let count = edited.places.len();
    let more = if count > places.len() { ", …" } else { "" };
    let mut text = if count == 1 {
        format!("edited `{written}` at line {}", places[0])
    } else {
        let lines = lines_listed(&places);
        format!("edited `{written}` in {count} places: {lines}{more}")
    };
    if edited.strictness > Strictness::Exact {
        text.push_str(&format!("\nnote: `old` was found {}", edited.strictness));
    }
    if let Some(note) = encoding_note(&edited.bytes, &[new]) {
        text.push('\n');
        text.push_str(note);
    }
    if had_changed {
        text.push_str(
            "\nnote: the file had changed since you read it; `old` was still unique in it",
        );
    }
    text
}
