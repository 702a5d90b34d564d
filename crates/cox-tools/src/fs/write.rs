//! `write`: a whole new file, or a short one replaced.

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use cox_workspace::{
    Access, Digest, ReadError, WriteSet, diff,
    file::open_with_head,
    in_words::counted,
    new_file::{like_the_old, with_wanted_endings},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    change::{apply, from_write, note_preimages, remember},
    place::{MAX_EDIT_BYTES, binary, blocking, edits, from_read, readable},
};
use crate::{Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, parse_input};

/// Lines of an existing file over which it is edited and not replaced.
const MAX_REPLACED_LINES: usize = 200;

/// The tool.
pub struct Write {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Input {
    path: String,
    content: String,
}

impl Write {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "write",
                description: "Creates a file (and its folders), or replaces one of at most 200 lines. For changes use `edit`.",
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "path": {"type": "string"},
                        "content": {"type": "string"}
                    },
                    "required": ["path", "content"]
                }),
                deferred: false,
                risk: Risk::Write,
                concurrency: Concurrency::Parallel,
            },
        }
    }
}

#[async_trait]
impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value, cx: &SubjectCx) -> Result<Subject, ToolError> {
        let input: Input = parse_input(&self.spec, input)?;
        edits(self.spec.name, &[&input.path], Risk::Write, cx)
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let input: Input = parse_input(&self.spec, &input)?;
        blocking(cx, move |cx| write(&input, cx)).await
    }
}

fn write(input: &Input, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
    let at = cx.workspace.confine(&input.path, Access::Write)?;
    readable(cx, &at)?;
    let old = match open_with_head(&at) {
        Ok(file) if file.is_binary() => return Err(binary(&at.written, file.size, &file.head)),
        Ok(file) => Some(file.read_all(MAX_EDIT_BYTES).map_err(from_read)?),
        Err(ReadError::NotFound { .. }) => None,
        Err(error) => return Err(from_read(error)),
    };
    if let Some(old) = &old {
        let lines = old.split(|byte| *byte == b'\n').count() - usize::from(old.ends_with(b"\n"));
        if lines > MAX_REPLACED_LINES {
            return Err(ToolError::Refused(format!(
                "`{}` exists and has {lines} lines, over the {MAX_REPLACED_LINES} that `write` replaces\nhint: change it with `edit` or `apply_patch`",
                at.written
            )));
        }
        if std::str::from_utf8(old).is_err() {
            return Err(ToolError::Binary(format!(
                "`{}` exists and is not UTF-8, so replacing it would lose its encoding\nhint: change it with `edit`, which keeps every byte it does not touch",
                at.written
            )));
        }
    }
    let new = match &old {
        Some(old) => like_the_old(old, &input.content),
        None => with_wanted_endings(&at, &input.content),
    };
    if old.as_deref() == Some(new.as_slice()) {
        cx.workspace.remember_seen(&at.real, Digest::of(&new));
        return Ok(ToolOutput::text(format!(
            "`{}` has this content already",
            at.written
        )));
    }
    let had_changed = old.as_deref().is_some_and(|old| {
        cx.workspace
            .seen(&at.real)
            .is_some_and(|seen| seen != Digest::of(old))
    });
    if had_changed {
        return Err(ToolError::Refused(format!(
            "`{}` changed since you read it, and `write` would undo that change; nothing was written\nhint: read it again",
            at.written
        )));
    }
    let verb = if old.is_some() { "replaced" } else { "created" };
    let mut output = ToolOutput::text(format!(
        "{verb} `{}`: {}",
        at.written,
        counted(new.len(), "byte")
    ));
    let name = cx.workspace.shown(&at.real);
    output.diff = Some(diff::unified(&name, old.as_deref(), Some(&new)));
    let roots = cx.workspace.roots().clone();
    let mut set = WriteSet::new(&roots);
    match old {
        Some(old) => set.update(at, old, new.clone()),
        None => set.create(at, new.clone()),
    }
    let receipt = apply(set, cx).map_err(from_write)?;
    for file in &receipt.files {
        remember(cx, &file.path, file.kind, &new);
    }
    note_preimages(&mut output, &receipt);
    Ok(output)
}
