//! Records of changes that are being made to the person's files, one file each, so that a killed process leaves word.
//!
//! A record is locked by the process that makes the change and removed when it is done: one that is there and not locked
//! was left behind. What is in it is for others to read.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use cox_protocol::ArchiveId;

use crate::{
    Home, StoreError,
    home::{private_dir, private_file},
};

/// The records of a home directory.
#[derive(Clone, Debug)]
pub struct WriteSets {
    home: Home,
}

/// A record of a change that is being made. Dropped without [`OpenRecord::end`], it stays.
#[derive(Debug)]
pub struct OpenRecord {
    path: PathBuf,
    /// Holds the lock.
    file: File,
}

/// A record that was left behind, locked while it is held.
#[derive(Debug)]
pub struct LeftRecord {
    /// Its id; the time is when the change began.
    pub id: ArchiveId,
    /// What is in it.
    pub bytes: Vec<u8>,
    path: PathBuf,
    _lock: File,
}

impl WriteSets {
    /// Names the records of a home; touches nothing on disk.
    pub fn new(home: Home) -> Self {
        Self { home }
    }

    /// Stores a new record, locked. With `durable` it is on the disk when this returns.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the disk is full or may not be written.
    pub fn begin(&self, bytes: &[u8], durable: bool) -> Result<OpenRecord, StoreError> {
        let folder = self.home.write_sets_dir();
        let path = folder.join(format!("{}.json", ArchiveId::generate()));
        let file = put(&path, bytes, durable)?;
        Ok(OpenRecord { path, file })
    }

    /// Returns the records that were left behind, oldest first. One that another process works on is left out.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the folder cannot be read.
    pub fn left(&self) -> Result<Vec<LeftRecord>, StoreError> {
        let folder = self.home.write_sets_dir();
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(|error| StoreError::io("read", &folder, error))?,
        };
        let mut left = Vec::new();
        for entry in entries {
            let path = entry
                .map_err(|error| StoreError::io("read", &folder, error))?
                .path();
            left.extend(take(&path)?);
        }
        left.sort_by_key(|record| record.id);
        Ok(left)
    }
}

impl OpenRecord {
    /// Puts another record in place of this one, on the disk when this returns.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the disk is full or may not be written.
    pub fn rewrite(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file = put(&self.path, bytes, true)?;
        Ok(())
    }

    /// Removes the record: the change was made, or nothing of it. Best effort: one that stays is told as finished.
    pub fn end(self) {
        drop(fs::remove_file(&self.path));
    }
}

impl LeftRecord {
    /// Removes the record.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when it cannot be removed.
    pub fn remove(self) -> Result<(), StoreError> {
        fs::remove_file(&self.path).map_err(|error| StoreError::io("remove", &self.path, error))
    }
}

/// Times a record is written again when its part was taken away.
const ATTEMPTS: usize = 16;

/// Puts a locked record at a path. Somebody who looks for what was left behind may take an unlocked part for that, in the
/// instant before it is locked, and remove it: then it is written again.
fn put(path: &Path, bytes: &[u8], durable: bool) -> Result<File, StoreError> {
    let mut attempt = 1;
    loop {
        match put_once(path, bytes, durable) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => {
                attempt += 1;
                if let Some(folder) = path.parent() {
                    private_dir(folder)?;
                }
            }
            other => return other.map_err(|error| StoreError::io("write", path, error)),
        }
    }
}

/// Writes a locked file under another name and renames it: it is visible only when it is whole and locked.
fn put_once(path: &Path, bytes: &[u8], durable: bool) -> io::Result<File> {
    let part = path.with_extension("part");
    let mut file = private_file(&part, OpenOptions::new().write(true))?;
    let written = file
        .lock()
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| if durable { file.sync_data() } else { Ok(()) })
        .and_then(|()| fs::rename(&part, path));
    if let Err(error) = written {
        drop(fs::remove_file(&part));
        return Err(error);
    }
    if durable && let Some(folder) = path.parent() {
        // Best effort: not every file system can.
        drop(File::open(folder).and_then(|folder| folder.sync_data()));
    }
    Ok(file)
}

/// Takes a record that nobody works on; removes the part of one that was never whole.
fn take(path: &Path) -> Result<Option<LeftRecord>, StoreError> {
    let failed = |error| StoreError::io("read", path, error);
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let name = path.file_name().and_then(|name| name.to_str());
    if name.is_some_and(|name| name.ends_with(".part")) {
        // A process that just made it and did not lock it yet fails to rename it, and changes nothing.
        drop(fs::remove_file(path));
        return Ok(None);
    }
    let id = name
        .and_then(|name| name.strip_suffix(".json"))
        .and_then(|id| id.parse().ok());
    let Some(id) = id else { return Ok(None) };
    // Its owner may have put another record in its place, or ended, before the lock was ours.
    if !still_at(&file, path) {
        return Ok(None);
    }
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    Ok(Some(LeftRecord {
        id,
        bytes,
        path: path.to_owned(),
        _lock: file,
    }))
}

/// Says whether an open file is the one that stands at a path.
#[cfg(unix)]
fn still_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn still_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_left_behind_until_it_is_ended() {
        let dir = tempfile::TempDir::new().unwrap();
        let sets = WriteSets::new(Home::new(dir.path().join("home")));
        assert!(sets.left().unwrap().is_empty());
        let mut record = sets.begin(b"one", true).unwrap();
        assert!(sets.left().unwrap().is_empty(), "it is being worked on");
        record.rewrite(b"two").unwrap();
        assert!(sets.left().unwrap().is_empty(), "it is still worked on");
        drop(record);
        let left = sets.left().unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].bytes, b"two");
        assert!(sets.left().unwrap().is_empty(), "it is being looked at");
        left.into_iter().for_each(|record| record.remove().unwrap());
        assert!(sets.left().unwrap().is_empty());
        sets.begin(b"three", false).unwrap().end();
        assert!(sets.left().unwrap().is_empty());
        let files = fs::read_dir(dir.path().join("home/write-sets")).unwrap();
        assert_eq!(files.count(), 0);
    }

    #[test]
    fn a_record_that_is_worked_on_is_never_taken_for_one_that_was_left() {
        let dir = tempfile::TempDir::new().unwrap();
        let sets = WriteSets::new(Home::new(dir.path()));
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looks = scope.spawn(|| {
                let mut found = 0;
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    found += sets.left().unwrap().len();
                }
                found
            });
            let made: Vec<Result<(), StoreError>> = (0..50)
                .map(|_| {
                    let mut record = sets.begin(b"one", false)?;
                    record.rewrite(b"two")?;
                    record.end();
                    Ok(())
                })
                .collect();
            done.store(true, std::sync::atomic::Ordering::SeqCst);
            made.into_iter().for_each(|made| made.unwrap());
            assert_eq!(looks.join().unwrap(), 0);
        });
    }

    #[test]
    fn what_was_never_whole_is_removed() {
        let dir = tempfile::TempDir::new().unwrap();
        let sets = WriteSets::new(Home::new(dir.path()));
        fs::create_dir(dir.path().join("write-sets")).unwrap();
        let part = dir.path().join("write-sets/x.part");
        fs::write(&part, "ha").unwrap();
        assert!(sets.left().unwrap().is_empty());
        assert!(!part.exists());
    }
}
