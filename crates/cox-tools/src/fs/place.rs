//! What the file tools share: from a path in the arguments to a target, and work away from the async threads.

use cox_permission::{PathTarget, Risk, Subject, Target};
use cox_workspace::{Access, Confined, ReadError};

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
    let utf16 =
        matches!(head, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]) && !head.starts_with(b"\xFF\xFE\0\0");
    if utf16 {
        return ToolError::Binary(format!(
            "`{written}` is UTF-16 ({size} bytes): `read` and `grep` show it, but it is not changed in place\nhint: `iconv` in `bash` turns it into UTF-8 and back"
        ));
    }
    let hint = if looks_like_utf16(head) {
        "\nhint: it may be UTF-16 or UTF-32; `iconv -f UTF-16LE -t UTF-8` in `bash` shows it"
    } else {
        "\nhint: `file` or `xxd | head` in `bash` tells more about it"
    };
    ToolError::Binary(format!(
        "`{written}` is binary ({size} bytes, with NUL bytes in it){hint}"
    ))
}

/// Says whether every second byte is NUL, most of the time.
fn looks_like_utf16(head: &[u8]) -> bool {
    let nuls = |from: usize| head.iter().skip(from).step_by(2).filter(|byte| **byte == 0);
    let (even, odd) = (nuls(0).count() * 2, nuls(1).count() * 2);
    let (most, few) = (head.len() * 9 / 10, head.len() / 10);
    head.len() > 3 && ((even > most && odd <= few) || (odd > most && even <= few))
}
