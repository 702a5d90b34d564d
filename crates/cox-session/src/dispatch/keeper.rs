//! Keeps the output of what outlives its call: redacted first, then archived whole.

use std::{fs::File, sync::Arc};

use cox_store::{Archive, ArchiveId, ArchiveWriter};
use cox_tools::Keeper;
use untrusted_text::redact::{Redactor, StreamRedactor};

/// An entry of the archive that is written while it can be read.
pub(super) struct ArchiveKeeper {
    archive: Arc<Archive>,
    id: ArchiveId,
    redactor: StreamRedactor,
    /// None once the output has ended.
    writer: Option<ArchiveWriter>,
    failure: Option<String>,
}

impl ArchiveKeeper {
    /// Opens an entry; none when the archive cannot take one.
    pub(super) fn new(archive: &Arc<Archive>, redactor: &Redactor) -> Option<Self> {
        let writer = archive.writer().ok()?;
        Some(Self {
            archive: Arc::clone(archive),
            id: writer.id(),
            redactor: redactor.stream(),
            writer: Some(writer),
            failure: None,
        })
    }

    fn keep(&mut self, clean: &[u8]) {
        if let Some(writer) = &mut self.writer
            && let Err(error) = writer.write(clean)
        {
            self.failure.get_or_insert_with(|| error.to_string());
        }
    }
}

impl Keeper for ArchiveKeeper {
    fn id(&self) -> ArchiveId {
        self.id
    }

    fn write(&mut self, bytes: &[u8]) {
        let clean = self.redactor.push(bytes);
        self.keep(&clean);
    }

    fn finish(&mut self) -> Result<(), String> {
        let clean = self.redactor.finish();
        self.keep(&clean);
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.finish()
        {
            self.failure.get_or_insert_with(|| error.to_string());
        }
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn open(&mut self) -> Result<File, String> {
        match &mut self.writer {
            Some(writer) => writer.open(),
            None => self.archive.open(self.id),
        }
        .map_err(|error| error.to_string())
    }
}
