//! The archive: whole outputs and pre-images, one file each.
//!
//! An entry is visible only when it is whole: it is written under another name and renamed at its end. Nothing here
//! waits for the disk; an entry survives a killed process, not always a power cut.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

use cox_protocol::ArchiveId;

use crate::{
    Home, StoreError,
    home::{private_dir, private_file},
};

/// Outputs up to this size stay in memory until they are finished, in bytes.
const SPILL_BYTES: usize = 64 * 1024;

/// The archive of a home directory.
#[derive(Clone, Debug)]
pub struct Archive {
    home: Home,
}

/// Takes an output piece by piece. Dropped unfinished, it leaves nothing behind.
#[derive(Debug)]
pub struct ArchiveWriter {
    home: Home,
    id: ArchiveId,
    /// What was not yet written to `part`; all of it while there is no part.
    buffer: Vec<u8>,
    part: Option<Part>,
    bytes: u64,
    /// A write failed: the entry can no longer be whole.
    failed: bool,
}

/// The unfinished file of an entry; removed when dropped.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    file: File,
    renamed: bool,
}

/// What a range of lines held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinesCopied {
    /// Lines of the range that were there.
    pub copied: u64,
    /// Lines passed in all: the length of the output when the range reached beyond its end.
    pub seen: u64,
}

impl Archive {
    /// Opens the archive; touches nothing on disk until something is put in.
    pub fn new(home: Home) -> Self {
        Self { home }
    }

    /// Returns the home that the archive lies in.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Puts an entry on the disk, so that it survives a power cut.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when there is none, or the disk fails.
    pub fn sync(&self, id: ArchiveId) -> Result<(), StoreError> {
        let path = self.home.archive_path(id);
        self.open(id)?
            .sync_data()
            .map_err(|error| StoreError::io("write", &path, error))
    }

    /// Stores bytes whole. Nothing half-written is left behind when it fails.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the disk is full or may not be written.
    pub fn put(&self, bytes: &[u8]) -> Result<ArchiveId, StoreError> {
        let mut writer = self.writer()?;
        if bytes.len() > SPILL_BYTES {
            writer.write(bytes)?;
        } else {
            writer.buffer = bytes.to_vec();
        }
        writer.finish()
    }

    /// Starts a new entry that is written piece by piece. Touches the disk only when it grows large, or at its end.
    ///
    /// # Errors
    ///
    /// None today; the signature leaves room for a check of the disk.
    pub fn writer(&self) -> Result<ArchiveWriter, StoreError> {
        Ok(ArchiveWriter {
            home: self.home.clone(),
            id: ArchiveId::generate(),
            buffer: Vec::new(),
            part: None,
            bytes: 0,
            failed: false,
        })
    }

    /// Returns an entry whole.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when there is none.
    pub fn read(&self, id: ArchiveId) -> Result<Vec<u8>, StoreError> {
        let path = self.home.archive_path(id);
        fs::read(&path).map_err(|error| not_found_or(id, &path, error))
    }

    /// Opens an entry for reading.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when there is none.
    pub fn open(&self, id: ArchiveId) -> Result<File, StoreError> {
        let path = self.home.archive_path(id);
        File::open(&path).map_err(|error| not_found_or(id, &path, error))
    }

    /// Returns the size of an entry in bytes.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when there is none.
    pub fn len(&self, id: ArchiveId) -> Result<u64, StoreError> {
        let path = self.home.archive_path(id);
        fs::metadata(&path)
            .map(|metadata| metadata.len())
            .map_err(|error| not_found_or(id, &path, error))
    }

    /// Returns lines `from` to `to`, 1-based and inclusive, as rows `N<TAB>text`. Loads only those lines.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when there is no such entry.
    pub fn read_lines(&self, id: ArchiveId, from: u64, to: u64) -> Result<Vec<u8>, StoreError> {
        let mut rows = Vec::new();
        self.copy_lines(id, from, to, &mut rows)?;
        Ok(rows)
    }

    /// Writes lines `from` to `to`, 1-based and inclusive, as rows `N<TAB>text` in little memory, however long the
    /// entry or a line of it is.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when there is no such entry, [`StoreError::Io`] when reading it or writing `out` failed.
    pub fn copy_lines(
        &self,
        id: ArchiveId,
        from: u64,
        to: u64,
        out: &mut dyn Write,
    ) -> Result<LinesCopied, StoreError> {
        let path = self.home.archive_path(id);
        let mut reader = BufReader::with_capacity(SPILL_BYTES, self.open(id)?);
        copy_rows(&mut reader, from, to, out).map_err(|error| StoreError::io("read", &path, error))
    }
}

/// Writes lines `from` to `to` of what `reader` gives, 1-based and inclusive, as rows `N<TAB>text`, in little memory.
///
/// # Errors
///
/// The reader's or the writer's.
pub fn copy_rows(
    reader: &mut dyn BufRead,
    from: u64,
    to: u64,
    out: &mut dyn Write,
) -> io::Result<LinesCopied> {
    let mut done = LinesCopied { copied: 0, seen: 0 };
    let mut at_line_start = true;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            if done.copied > 0 && !at_line_start {
                out.write_all(b"\n")?;
            }
            return Ok(done);
        }
        if at_line_start {
            if done.seen >= to {
                return Ok(done);
            }
            done.seen += 1;
            if done.seen >= from {
                done.copied += 1;
                write!(out, "{}\t", done.seen)?;
            }
        }
        let newline = chunk.iter().position(|&byte| byte == b'\n');
        let taken = newline.map_or(chunk.len(), |at| at + 1);
        if done.seen >= from {
            out.write_all(&chunk[..taken])?;
        }
        reader.consume(taken);
        at_line_start = newline.is_some();
    }
}

fn not_found_or(id: ArchiveId, path: &Path, error: io::Error) -> StoreError {
    if error.kind() == io::ErrorKind::NotFound {
        StoreError::NotFound(format!("no archived output {id}"))
    } else {
        StoreError::io("read", path, error)
    }
}

impl ArchiveWriter {
    /// Returns the id the entry will have.
    pub fn id(&self) -> ArchiveId {
        self.id
    }

    /// Returns the bytes taken so far.
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Says whether nothing was taken yet.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Appends bytes.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the disk is full or may not be written; the entry is lost then, and
    /// [`finish`](Self::finish) fails too.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.bytes += bytes.len() as u64;
        if self.failed {
            return Err(self.lost());
        }
        if self.buffer.len() + bytes.len() <= SPILL_BYTES {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        let written = self.flush().and_then(|()| {
            if bytes.len() > SPILL_BYTES {
                self.write_part(bytes)
            } else {
                self.buffer.extend_from_slice(bytes);
                Ok(())
            }
        });
        self.failed |= written.is_err();
        written
    }

    /// Opens what was taken so far for reading; what comes later can be read from the same file.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when it could not be written or opened.
    pub fn open(&mut self) -> Result<File, StoreError> {
        let flushed = self.flush();
        self.failed |= flushed.is_err();
        flushed?;
        let part = match &mut self.part {
            Some(part) => part,
            empty => empty.insert(Part::create(&self.home, self.id)?),
        };
        File::open(&part.path).map_err(|error| StoreError::io("read", &part.path, error))
    }

    /// Ends the entry: from now on it can be read.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when it could not be written whole; nothing is left of it then.
    pub fn finish(mut self) -> Result<ArchiveId, StoreError> {
        if self.failed {
            return Err(self.lost());
        }
        self.flush()?;
        let target = self.home.archive_path(self.id);
        let mut part = match self.part.take() {
            Some(part) => part,
            None => Part::create(&self.home, self.id)?,
        };
        fs::rename(&part.path, &target).map_err(|error| StoreError::io("write", &target, error))?;
        part.renamed = true;
        Ok(self.id)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let buffer = std::mem::take(&mut self.buffer);
        if buffer.is_empty() {
            Ok(())
        } else {
            self.write_part(&buffer)
        }
    }

    fn write_part(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let part = match &mut self.part {
            Some(part) => part,
            empty => empty.insert(Part::create(&self.home, self.id)?),
        };
        part.file
            .write_all(bytes)
            .map_err(|error| StoreError::io("write", &part.path, error))
    }

    fn lost(&self) -> StoreError {
        StoreError::io(
            "write",
            &self.home.archive_path(self.id),
            io::Error::other("an earlier write failed, the output is not whole"),
        )
    }
}

impl Part {
    fn create(home: &Home, id: ArchiveId) -> Result<Self, StoreError> {
        let path = home.archive_dir().join(format!(".{id}.part"));
        let open = || private_file(&path, OpenOptions::new().write(true));
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private_dir(&home.archive_dir())?;
                open()
            }
            other => other,
        }
        .map_err(|error| StoreError::io("write", &path, error))?;
        Ok(Self {
            path,
            file,
            renamed: false,
        })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.renamed {
            // Best effort: a part that stays is never read, only takes space.
            drop(fs::remove_file(&self.path));
        }
    }
}

#[cfg(test)]
mod tests;
