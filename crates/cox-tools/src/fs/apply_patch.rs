//! `apply_patch`: changes to several files as one.

use std::fmt::Write as _;

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use cox_workspace::{
    Access, Confined, Digest, WriteError, WriteSet, diff,
    edit::Strictness,
    file::open_with_head,
    in_words::counted,
    new_file::with_wanted_endings,
    patch::{Action, Hunk, HunkError, HunkLine, Patch, Patched, apply as apply_hunks},
    write_set::WrittenKind,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    change::{apply, encoding_note, from_write, note_preimages, remember, told_again},
    place::{MAX_EDIT_BYTES, binary, blocking, edits, from_read, readable},
};
use crate::{Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, parse_input};

/// Deleted files over which a patch counts as destructive.
const MAX_DELETIONS: usize = 5;

/// Times a patch is made again when a file changes between reading and writing.
const ATTEMPTS: usize = 3;

/// The tool.
pub struct ApplyPatch {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Input {
    patch: String,
}

impl ApplyPatch {
    pub(super) fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "apply_patch",
                description: "Changes several files at once, all or none:\n*** Begin Patch\n*** Update File: a.rs\n@@ fn context()\n keep\n-old\n+new\n*** Add File: b.rs\n+line\n*** Delete File: c.rs\n*** End Patch\n`*** Move to: PATH` may follow Update File. Unified diffs work too.",
                input_schema: json!({
                    "type": "object",
                    "properties": {"patch": {"type": "string"}},
                    "required": ["patch"]
                }),
                deferred: false,
                risk: Risk::Write,
                concurrency: Concurrency::Exclusive,
            },
        }
    }
}

#[async_trait]
impl Tool for ApplyPatch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// A patch that cannot be read is answered with what is wrong in it: nobody is asked about a call that can only fail.
    fn subject(&self, input: &Value, cx: &SubjectCx) -> Result<Subject, ToolError> {
        let input: Input = parse_input(&self.spec, input)?;
        let patch = read_patch(&input.patch)?;
        let is_destructive = patch.deletions() > MAX_DELETIONS;
        let risk = if is_destructive {
            Risk::Destructive
        } else {
            Risk::Write
        };
        edits(self.spec.name, &patch.paths(), risk, cx)
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let asked = input;
        let input: Input = parse_input(&self.spec, &asked)?;
        let done = blocking(cx, move |cx| {
            let patch = read_patch(&input.patch)?;
            let mut attempt = 1;
            loop {
                match once(&patch, cx)? {
                    Ok(output) => return Ok(output),
                    Err(WriteError::ChangedMeanwhile { .. }) if attempt < ATTEMPTS => attempt += 1,
                    Err(error) => return Err(from_write(error)),
                }
            }
        })
        .await;
        told_again(self.spec.name, &asked, cx, done)
    }
}

fn read_patch(text: &str) -> Result<Patch, ToolError> {
    Patch::parse(text).map_err(|error| ToolError::BadInput {
        tool: "apply_patch".into(),
        problem: error.to_string(),
    })
}

/// One file of the patch, computed.
struct Planned {
    letter: char,
    /// As written; a move as `from → to`.
    shown: String,
    diff: String,
    new: Option<Vec<u8>>,
    strictness: Strictness,
    had_changed: bool,
    encoding_note: Option<&'static str>,
}

fn once(patch: &Patch, cx: &ToolCx) -> Result<Result<ToolOutput, WriteError>, ToolError> {
    // Every path is judged before any file is opened.
    let confine = |written: &str| cx.workspace.confine(written, Access::Write);
    let mut places: Vec<(Confined, Option<Confined>)> = Vec::new();
    for operation in &patch.operations {
        let at = confine(&operation.path)?;
        let to = match &operation.action {
            Action::Update {
                move_to: Some(to), ..
            } => Some(confine(to)?),
            _ => None,
        };
        places.push((at, to));
    }
    let roots = cx.workspace.roots().clone();
    let mut set = WriteSet::new(&roots);
    let mut planned: Vec<Planned> = Vec::new();
    for (operation, (at, to)) in patch.operations.iter().zip(places) {
        planned.push(plan(&operation.action, at, to, &mut set, cx)?);
    }
    let receipt = match apply(set, cx) {
        Ok(receipt) => receipt,
        Err(error) => return Ok(Err(error)),
    };
    let mut output = ToolOutput::text(report(&planned));
    output.diff = Some(planned.iter().map(|file| file.diff.as_str()).collect());
    note_preimages(&mut output, &receipt);
    let mut written = planned.iter().filter_map(|file| file.new.as_deref());
    for file in &receipt.files {
        let new = match file.kind {
            WrittenKind::Deleted => &[],
            _ => written.next().unwrap_or_default(),
        };
        remember(cx, &file.path, file.kind, new);
    }
    Ok(Ok(output))
}

fn plan(
    action: &Action,
    at: Confined,
    to: Option<Confined>,
    set: &mut WriteSet<'_>,
    cx: &ToolCx,
) -> Result<Planned, ToolError> {
    let name = cx.workspace.shown(&at.real);
    let mut planned = Planned {
        letter: 'M',
        shown: at.written.clone(),
        diff: String::new(),
        new: None,
        strictness: Strictness::Exact,
        had_changed: false,
        encoding_note: None,
    };
    match action {
        Action::Add {
            content,
            executable,
        } => {
            let new = with_wanted_endings(&at, content);
            planned.letter = 'A';
            planned.diff = diff::unified(&name, None, Some(&new));
            planned.new = Some(new.clone());
            if *executable {
                set.create_executable(at, new);
            } else {
                set.create(at, new);
            }
        }
        Action::Delete { hunks } => {
            not_by_a_link(&at, cx)?;
            let old = read(&at, cx, true)?;
            whole_file(&at, &old, hunks)?;
            planned.letter = 'D';
            planned.diff = diff::unified(&name, Some(&old), None);
            set.delete(at, old);
        }
        Action::Update { hunks, .. } => {
            let old = read(&at, cx, hunks.is_empty())?;
            let seen = cx.workspace.seen(&at.real);
            planned.had_changed = seen.is_some_and(|seen| seen != Digest::of(&old));
            let Patched {
                bytes: new,
                strictness,
                ..
            } = apply_hunks(&old, hunks).map_err(|error| from_hunk(&at.written, error))?;
            planned.strictness = strictness;
            planned.encoding_note = encoding_note(&new, &added(hunks));
            planned.new = Some(new.clone());
            match to.filter(|to| to.real != at.real) {
                Some(to) => {
                    not_by_a_link(&at, cx)?;
                    planned.letter = 'R';
                    planned.shown = format!("{} → {}", at.written, to.written);
                    let new_name = cx.workspace.shown(&to.real);
                    planned.diff = diff::moved(&name, Some(&old), &new_name, Some(&new));
                    set.relocate(at, old, to, new);
                }
                None if old == new => {
                    return Err(ToolError::Refused(format!(
                        "the hunks for `{}` change nothing; nothing was written",
                        at.written
                    )));
                }
                None => {
                    planned.diff = diff::unified(&name, Some(&old), Some(&new));
                    set.update(at, old, new);
                }
            }
        }
    }
    Ok(planned)
}

/// The lines that come.
fn added(hunks: &[Hunk]) -> Vec<&str> {
    let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
    lines
        .filter_map(|line| match line {
            HunkLine::Add(text) => Some(text.as_str()),
            HunkLine::Keep(_) | HunkLine::Remove(_) => None,
        })
        .collect()
}

/// Refuses to take away the file that a link leads to: whoever names the link most likely means the link.
fn not_by_a_link(at: &Confined, cx: &ToolCx) -> Result<(), ToolError> {
    if !at.is_link() {
        return Ok(());
    }
    let target = cx.workspace.shown(&at.real);
    Err(ToolError::Refused(format!(
        "`{}` is a symbolic link to `{target}`, and that file would be gone; nothing was written
hint: name `{target}`, or remove the link with `bash`",
        at.written
    )))
}

/// Refuses to delete a file that holds more than the diff says.
fn whole_file(at: &Confined, old: &[u8], hunks: &[Hunk]) -> Result<(), ToolError> {
    if hunks.is_empty() {
        return Ok(());
    }
    let rest = apply_hunks(old, hunks).map_err(|error| from_hunk(&at.written, error))?;
    if rest.bytes.is_empty() {
        return Ok(());
    }
    Err(ToolError::Refused(format!(
        "the diff deletes `{}`, which holds more than the lines it takes away ({} left); nothing was written\nhint: read the file again; `*** Delete File: PATH` deletes it whatever it holds",
        at.written,
        counted(rest.bytes.len(), "byte")
    )))
}

fn read(at: &Confined, cx: &ToolCx, binary_is_fine: bool) -> Result<Vec<u8>, ToolError> {
    readable(cx, at)?;
    let file = open_with_head(at).map_err(from_read)?;
    if file.is_binary() && !binary_is_fine {
        return Err(binary(&at.written, file.size, &file.head));
    }
    file.read_all(MAX_EDIT_BYTES).map_err(from_read)
}

fn from_hunk(written: &str, error: HunkError) -> ToolError {
    let message = format!("`{written}`: {error}\nnothing was written, in no file of the patch");
    match error {
        HunkError::Ambiguous { lines, .. } => ToolError::Ambiguous { lines, message },
        HunkError::NotFound { .. } => ToolError::NotFound(message),
        HunkError::Overlap { .. }
        | HunkError::Nowhere { .. }
        | HunkError::OtherEnd { .. }
        | HunkError::Unwritable(_) => ToolError::Refused(message),
    }
}

/// One line a file, with what is to be known about it.
fn report(planned: &[Planned]) -> String {
    let mut text = String::new();
    for file in planned {
        let _ = writeln!(text, "{} {}", file.letter, file.shown);
        if file.strictness > Strictness::Exact {
            let _ = writeln!(text, "  note: a hunk was found {}", file.strictness);
        }
        if let Some(note) = file.encoding_note {
            let _ = writeln!(text, "  {note}");
        }
        if file.had_changed {
            let _ = writeln!(text, "  note: the file had changed since you read it");
        }
    }
    text.pop();
    text
}
