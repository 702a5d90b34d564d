//! From computed bytes to changed files: the write set, its pre-images and what the model has seen.

use std::{io, path::Path};

use cox_store::{Archive, ArchiveId, OpenRecord, WriteSets};
use cox_workspace::{
    Begun, Digest, Journal, PreImages, Receipt, WriteError, WriteSet,
    file::{Encoding, decode},
    write_set::WrittenKind,
};

use serde_json::Value;

use crate::{ToolCx, ToolError, ToolOutput};

/// Failures of the same call after which another tool is named.
const ENOUGH_FAILURES: usize = 2;

/// Makes the changes of a set and notes the pre-images in the output.
pub(super) fn apply(set: WriteSet<'_>, cx: &ToolCx) -> Result<Receipt, WriteError> {
    let receipt = set.apply(
        &InArchive(&cx.archive),
        &InHome(WriteSets::new(cx.archive.home().clone())),
    )?;
    cx.workspace.note_changed();
    Ok(receipt)
}

/// Adds a hint to a failure that is not the first of the same call: another tool may do what this one cannot.
pub(super) fn told_again(
    tool: &str,
    input: &Value,
    cx: &ToolCx,
    done: Result<ToolOutput, ToolError>,
) -> Result<ToolOutput, ToolError> {
    let add = |message: &mut String, times| {
        let other = match tool {
            "edit" => "`apply_patch`, or `write` for a short file",
            _ => "`edit`",
        };
        message.push_str(&format!(
            "\nhint: this same call has failed {times} times; read the file again, or use {other}"
        ));
    };
    let mut error = match done {
        Err(error) => error,
        done => return done,
    };
    let (ToolError::NotFound(message)
    | ToolError::Refused(message)
    | ToolError::Ambiguous { message, .. }
    | ToolError::BadInput {
        problem: message, ..
    }) = &mut error
    else {
        return Err(error);
    };
    let asked = format!("{tool} {input}");
    let times = cx.workspace.note_failed(Digest::of(asked.as_bytes()));
    if times >= ENOUGH_FAILURES {
        add(message, times);
    }
    Err(error)
}

/// Puts the receipt's pre-images into the output.
pub(super) fn note_preimages(output: &mut ToolOutput, receipt: &Receipt) {
    for file in &receipt.files {
        if let Some(id) = file
            .preimage
            .as_deref()
            .and_then(|id| id.parse::<ArchiveId>().ok())
        {
            output.preimages.push((file.path.clone(), id));
        }
    }
}

/// Returns what is to be said of new texts in a changed file that is not UTF-8: they look otherwise on the disk.
pub(super) fn encoding_note(changed: &[u8], new: &[&str]) -> Option<&'static str> {
    let is_told = new.iter().all(|text| text.is_ascii()) || std::str::from_utf8(changed).is_ok();
    let is_latin = !is_told && decode(changed).1 == Encoding::Windows1252;
    is_latin.then_some(
        "note: the file is not UTF-8 and looks like Windows-1252; the new text was written in that",
    )
}

/// The model knows what it wrote: the next edit need not warn.
pub(super) fn remember(cx: &ToolCx, path: &Path, kind: WrittenKind, new: &[u8]) {
    if kind == WrittenKind::Deleted {
        cx.workspace.forget_seen(path);
    } else {
        cx.workspace.remember_seen(path, Digest::of(new));
    }
}

/// Returns a failed change as a tool's error.
pub(super) fn from_write(error: WriteError) -> ToolError {
    match error {
        WriteError::Confined(error) => ToolError::Confined(error),
        WriteError::Gone { .. } => ToolError::NotFound(error.to_string()),
        WriteError::Io {
            source,
            written,
            what,
        } => ToolError::Io {
            what: format!("{what} `{written}` failed; nothing was changed"),
            source,
        },
        WriteError::Keep { ref source, .. }
        | WriteError::Journal { ref source }
        | WriteError::HalfDone { ref source, .. } => {
            ToolError::Refused(format!("{error}: {source}"))
        }
        other => ToolError::Refused(other.to_string()),
    }
}

struct InArchive<'a>(&'a Archive);

impl PreImages for InArchive<'_> {
    fn keep(&self, _path: &Path, bytes: &[u8]) -> io::Result<String> {
        self.0
            .put(bytes)
            .map(|id| id.to_string())
            .map_err(io::Error::other)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        let id = name.parse().map_err(io::Error::other)?;
        self.0.sync(id).map_err(io::Error::other)
    }
}

struct InHome(WriteSets);

impl Journal for InHome {
    fn begin(&self, record: &[u8], durable: bool) -> io::Result<Box<dyn Begun>> {
        let open = self.0.begin(record, durable).map_err(io::Error::other)?;
        Ok(Box::new(Open(open)))
    }
}

struct Open(OpenRecord);

impl Begun for Open {
    fn rewrite(&mut self, record: &[u8]) -> io::Result<()> {
        self.0.rewrite(record).map_err(io::Error::other)
    }

    fn end(self: Box<Self>) {
        self.0.end();
    }
}
