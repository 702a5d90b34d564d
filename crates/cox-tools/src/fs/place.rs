//! What the file tools share: from a path in the arguments to a target, and work away from the async threads.

use std::path::Path;

use cox_permission::{PathTarget, Risk, Subject, Target};
use cox_workspace::{Access, Confined, ReadError, search::SearchError};

use crate::{SubjectCx, ToolCx, ToolError};

/// Largest file that is edited, in bytes: a few times this is held in memory meanwhile.
pub(super) const MAX_EDIT_BYTES: u64 = 64 << 20;

/// The subject of a call that reads one place.
pub(super) fn reads(tool: &str, written: &str, cx: &SubjectCx) -> Result<Subject, ToolError> {
    let at = cox_workspace::confine(&cx.roots, written, Access::Read)?;
    Ok(Subject {
        tool: tool.to_owned(),
        text: written.to_owned(),
        risk: Risk::ReadOnly,
        targets: vec![Target::Read(target(at))],
    })
}

/// The subject of a call that changes files.
pub(super) fn edits(
    tool: &str,
    written: &[&str],
    risk: Risk,
    cx: &SubjectCx,
) -> Result<Subject, ToolError> {
    let mut targets = Vec::with_capacity(written.len());
    for written in written {
        let at = cox_workspace::confine(&cx.roots, written, Access::Write)?;
        targets.push(Target::Edit(target(at)));
    }
    Ok(Subject {
        tool: tool.to_owned(),
        text: written.join(", "),
        risk,
        targets,
    })
}

fn target(at: Confined) -> PathTarget {
    PathTarget {
        written: at.written,
        lexical: at.lexical,
        real: at.real,
    }
}

/// Runs file work on a thread that may block.
pub(super) async fn blocking<T, F>(cx: &ToolCx, work: F) -> Result<T, ToolError>
where
    T: Send + 'static,
    F: FnOnce(&ToolCx) -> Result<T, ToolError> + Send + 'static,
{
    if cx.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let inside = cx.clone();
    match tokio::task::spawn_blocking(move || work(&inside)).await {
        Ok(done) => done,
        Err(_) => Err(ToolError::Refused(
            "the tool stopped because of a fault in cox; nothing more is known about the call"
                .into(),
        )),
    }
}

/// Refuses what a rule keeps from being read: a change would show its content in a diff or an error.
pub(super) fn readable(cx: &ToolCx, at: &Confined) -> Result<(), ToolError> {
    if (cx.may_read)(&at.real) {
        return Ok(());
    }
    Err(ToolError::Refused(format!(
        "a rule denies reading `{}`, so it cannot be changed either",
        at.written
    )))
}

/// Returns a failed read as a tool's error.
pub(super) fn from_read(error: ReadError) -> ToolError {
    match error {
        ReadError::NotFound { .. } => ToolError::NotFound(error.to_string()),
        ReadError::TooLarge {
            written,
            bytes,
            cap,
        } => ToolError::TooLarge {
            what: format!("`{written}`"),
            bytes,
            cap,
            hint: String::new(),
        },
        ReadError::Io { written, source } => ToolError::Io {
            what: format!("reading `{written}`"),
            source,
        },
        other => ToolError::Refused(other.to_string()),
    }
}

/// Returns the refusal of a file that is not text.
pub(super) fn binary(written: &str, size: u64, head: &[u8]) -> ToolError {
    let hint = if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        "\nhint: it looks like UTF-16; `iconv -f UTF-16 -t UTF-8` in `bash` shows it"
    } else {
        "\nhint: `file` or `xxd | head` in `bash` tells more about it"
    };
    ToolError::Binary(format!(
        "`{written}` is binary ({size} bytes, with NUL bytes in it){hint}"
    ))
}

/// Returns a failed search as a tool's error; a bad pattern is a result that the model can mend.
pub(super) fn from_search(error: SearchError) -> Result<crate::ToolOutput, ToolError> {
    match error {
        SearchError::Cancelled => Err(ToolError::Cancelled),
        other => Ok(crate::ToolOutput::error(other.to_string())),
    }
}

/// A path as a row of a list: relative where it can be, control characters written out, so that a name with a line break
/// is still one row.
pub(super) fn listed(cx: &ToolCx, path: &Path) -> String {
    let name = cx.workspace.shown(path);
    if !name.contains(char::is_control) {
        return name;
    }
    let written = name.chars().map(|character| {
        if character.is_control() {
            character.escape_default().to_string()
        } else {
            character.to_string()
        }
    });
    written.collect()
}

/// Keeps a list that is too long to be shown, without its secrets, and says where.
pub(super) fn kept(cx: &ToolCx, list: &str) -> String {
    let id = match cx.relay.keeper() {
        Some(mut keeper) => {
            keeper.write(list.as_bytes());
            keeper.finish().map(|()| keeper.id())
        }
        None => cx
            .archive
            .put(untrusted_text::redact::redact(list).as_bytes())
            .map_err(|error| error.to_string()),
    };
    match id {
        Ok(id) => format!("the whole list: `expand` with id {id}"),
        Err(error) => format!("the whole list could not be stored: {error}"),
    }
}

/// Refuses to search what is neither a folder nor a regular file: nothing would be found, or it would be waited for.
pub(super) fn searchable(at: &Confined) -> Result<(), ToolError> {
    let kind = match at.real.symlink_metadata() {
        Ok(found) if found.is_dir() || found.is_file() => return Ok(()),
        Ok(_) => "is neither a folder nor a regular file, so it is not searched",
        Err(_) => {
            return Err(ToolError::NotFound(format!(
                "there is no file or folder `{}`{}",
                at.written,
                looked_at(at)
            )));
        }
    };
    Err(ToolError::Refused(format!("`{}` {kind}", at.written)))
}

fn looked_at(at: &Confined) -> String {
    if Path::new(&at.written) == at.real {
        String::new()
    } else {
        format!(" (looked at `{}`)", at.real.display())
    }
}

/// Words for files that a search left out.
pub(super) fn left_out(hidden: usize, failed: usize) -> String {
    let mut notes = String::new();
    if hidden > 0 {
        notes.push_str(&format!(
            "\n[{hidden} files are hidden by a rule that denies reading them]"
        ));
    }
    if failed > 0 {
        notes.push_str(&format!("\n[{failed} files or folders could not be read]"));
    }
    notes
}
