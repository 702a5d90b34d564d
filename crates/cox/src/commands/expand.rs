//! `cox expand`: prints an archived output again, whole or some of its lines.

use std::io::{IsTerminal as _, Read as _};

use cox_store::{Archive, ArchiveId, Home};
use serde_json::json;

use crate::{
    args::Expand,
    exit::{Exit, Failure},
    printer::Printer,
};

/// Bytes that are copied at a time.
const CHUNK: usize = 64 * 1024;

/// Prints the output. To a terminal it goes through the filter; into a file or a pipe it goes as it is.
///
/// # Errors
///
/// A usage failure for a bad id or range, an error when there is no such output.
pub(crate) fn expand(expand: &Expand, home: &Home, printer: Printer) -> Result<Exit, Failure> {
    let id: ArchiveId = expand
        .id
        .parse()
        .map_err(|error| Failure::usage(format!("{error}")))?;
    let lines = expand.lines.as_deref().map(parse_range).transpose()?;
    if is_session(&expand.id, home) {
        return Err(Failure::error(format!(
            "{id} is a session, not an archived output\nhint: `cox sessions {id}` shows it"
        )));
    }
    let archive = Archive::new(home.clone());
    if lines.is_none() && !printer.json && !std::io::stdout().is_terminal() {
        return copy(&archive, id, printer);
    }
    let bytes = match lines {
        Some((from, to)) => {
            let rows = archive.read_lines(id, from, to)?;
            if rows.is_empty() {
                return Err(Failure::error(format!(
                    "the archived output {id} has no line {from}"
                )));
            }
            rows
        }
        None => archive.read(id)?,
    };
    let text = String::from_utf8_lossy(&bytes);
    Ok(crate::printed(if printer.json {
        printer.document(&json!({ "id": id.to_string(), "lines": expand.lines, "text": text }))
    } else {
        printer.result(&text)
    }))
}

fn is_session(id: &str, home: &Home) -> bool {
    id.parse().is_ok_and(|id| home.rollout_path(id).exists())
}

fn copy(archive: &Archive, id: ArchiveId, printer: Printer) -> Result<Exit, Failure> {
    let mut file = archive.open(id)?;
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = file.read(&mut chunk).map_err(|error| {
            Failure::error(format!("cannot read the archived output {id}: {error}"))
        })?;
        if read == 0 {
            return Ok(Exit::Ok);
        }
        let told = printer.verbatim(&chunk[..read]);
        if told.is_err() {
            return Ok(crate::printed(told));
        }
    }
}

/// Reads `10-25`, `10-` or `10`; 1-based, both ends included.
fn parse_range(text: &str) -> Result<(u64, u64), Failure> {
    let bad = || {
        Failure::usage(format!(
            "`--lines {text}` is no range: expected `10-25`, `10-` or `10`, from 1"
        ))
    };
    let (from, to) = match text.split_once('-') {
        Some((from, "")) => (from, None),
        Some((from, to)) => (from, Some(to)),
        None => (text, Some(text)),
    };
    let from: u64 = from.trim().parse().map_err(|_| bad())?;
    let to: u64 = to
        .map_or(Ok(u64::MAX), |to| to.trim().parse())
        .map_err(|_| bad())?;
    if from == 0 || to < from {
        Err(bad())
    } else {
        Ok((from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_people_write_them() {
        #[track_caller]
        fn check(text: &str, expect: Option<(u64, u64)>) {
            assert_eq!(parse_range(text).ok(), expect);
        }
        check("10-25", Some((10, 25)));
        check("10-", Some((10, u64::MAX)));
        check("7", Some((7, 7)));
        check("0-3", None);
        check("5-4", None);
        check("a-b", None);
        check("", None);
    }
}
