//! The lines of a file, and what about its bytes they do not show.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use cox_workspace::{
    Confined,
    file::{Encoding, LineLimits, LineRange, Lines, Opened, decode_line},
    in_words::counted,
};

use crate::{
    ToolCx, ToolError, ToolOutput,
    fs::place::{MAX_EDIT_BYTES, from_read},
};

/// Bytes of lines that one call returns; more is had by another range.
const MAX_BYTES: usize = 64 * 1024;

/// Bytes shown of one line.
const MAX_LINE_BYTES: usize = 8 * 1024;

/// How long the lines of a file are counted. It is enough for many gigabytes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reads the lines of a range.
pub(super) fn read_text(
    cx: &ToolCx,
    at: &Confined,
    file: Opened,
    wanted: LineRange,
) -> Result<ToolOutput, ToolError> {
    let started = Instant::now();
    let stop = || cx.cancel.is_cancelled() || started.elapsed() > PATIENCE;
    let limits = LineLimits {
        bytes: MAX_BYTES,
        line_bytes: MAX_LINE_BYTES,
    };
    let lines = file
        .read_lines(wanted, limits, MAX_EDIT_BYTES, &stop)
        .map_err(from_read)?;
    if cx.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    if let Some(digest) = lines.digest {
        cx.workspace.remember_seen(&at.real, digest);
    }
    if lines.total == 0 && !lines.stopped {
        return Ok(ToolOutput::text("[the file is empty]"));
    }
    if lines.lines.is_empty() && lines.stopped {
        return Ok(ToolOutput::error(format!(
            "`{}` is so large that line {} was not reached in {PATIENCE:?}; {} lines were passed\nhint: `grep`, or `tail` in `bash`",
            at.written, wanted.first, lines.total
        )));
    }
    if lines.lines.is_empty() {
        return Ok(ToolOutput::error(format!(
            "`lines` asks for line {} on, but `{}` has {}",
            wanted.first,
            at.written,
            counted(lines.total, "line")
        )));
    }
    let mut text = String::new();
    for line in &lines.lines {
        let mut shown = decode_line(&line.bytes, lines.encoding);
        if lines.nuls > 0 && shown.contains('\0') {
            shown = shown.replace('\0', "\u{2400}").into();
        }
        let _ = write!(text, "{}\t{shown}", line.number);
        if line.cut > 0 {
            let _ = write!(text, " … ({} bytes of this line left out)", line.cut);
        }
        text.push('\n');
    }
    text.push_str(&footer(&lines));
    Ok(ToolOutput::text(text))
}

/// One line in brackets: which lines these are, and what about the file's bytes the lines do not show.
fn footer(lines: &Lines) -> String {
    let first = lines.lines.first().map_or(0, |line| line.number);
    let last = lines.lines.last().map_or(0, |line| line.number);
    let mut notes = Vec::new();
    if first == 1 && last == lines.total && !lines.stopped {
        notes.push(counted(lines.total, "line"));
    } else {
        let least = if lines.stopped { "at least " } else { "" };
        notes.push(format!("lines {first}-{last} of {least}{}", lines.total));
    }
    if lines.stopped {
        notes.push(format!("the file was not read to its end in {PATIENCE:?}"));
    }
    if lines.changed {
        notes.push("the file was changed while it was read; read it again".to_owned());
    }
    if let Some(next) = lines.left_out_from {
        notes.push(format!(
            "cut at {MAX_BYTES} bytes, go on with `lines: \"{next}-…\"` or use `grep`"
        ));
    }
    if lines.crlf > 0 && lines.lf == 0 {
        notes.push("CRLF line endings".to_owned());
    } else if lines.crlf > 0 {
        notes.push(format!(
            "mixed line endings: {} CRLF, {} LF",
            lines.crlf, lines.lf
        ));
    }
    if lines.has_bom {
        notes.push("UTF-8 byte order mark".to_owned());
    }
    notes.extend(encoding(lines));
    if lines.nuls > 0 {
        notes.push(format!("{} NUL bytes, shown as \u{2400}", lines.nuls));
    }
    if !lines.has_final_newline && !lines.stopped {
        notes.push("no newline at the end of the file".to_owned());
    }
    format!("[{}]", notes.join("; "))
}

/// What the text was before it was shown, unless that is UTF-8.
fn encoding(lines: &Lines) -> Option<String> {
    let name = lines.encoding.name();
    match lines.encoding {
        Encoding::Utf8 if lines.is_broken => {
            Some("not UTF-8, bytes that do not decode show as \u{FFFD}".to_owned())
        }
        Encoding::Utf8 => None,
        Encoding::Windows1252 => Some(format!("not UTF-8, shown as {name}, which is a guess")),
        Encoding::Utf16Le | Encoding::Utf16Be if lines.is_broken => Some(format!(
            "{name}, in part broken, which shows as \u{FFFD}; it cannot be edited"
        )),
        Encoding::Utf16Le | Encoding::Utf16Be => {
            Some(format!("{name}, shown as UTF-8; it cannot be edited"))
        }
    }
}
