//! The second half of a write set: file by file into place, and back again if one of them fails.

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs::File,
    io::{self, Seek},
};

use super::{
    Receipt, WriteError, WrittenKind,
    stage::{Act, Staged, StagedFile, stage_beside, write_all},
};
use crate::{
    failpoint::{step, waits_for_the_disk},
    folder::{Folder, Stamp, is_unsupported},
};

/// How one change can be taken back.
enum Undo {
    /// The file was created: take it away.
    Created,
    /// The old file stands under the sibling's name: exchange again.
    Exchanged,
    /// The old file is gone: its bytes are written again, by way of a sibling.
    Replaced,
    /// The bytes are written back.
    InPlace,
    /// The file stands aside: give it its name back.
    Aside,
}

/// Makes the staged changes.
pub(super) fn replace(mut staged: Staged) -> Result<Receipt, WriteError> {
    let (first, then): (Vec<usize>, Vec<usize>) =
        (0..staged.files.len()).partition(|&index| staged.files[index].goes_first);
    let mut undo: Vec<(usize, Undo)> = Vec::with_capacity(staged.files.len());
    let mut failure = None;
    for index in first.into_iter().chain(then) {
        match put(&mut staged.files[index]) {
            Ok(way_back) => undo.push((index, way_back)),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    if let Some(error) = failure {
        let stuck = take_back(&staged.files, &undo);
        if stuck.is_empty() {
            return Err(error);
        }
        // What stands beside the files is for the next start.
        staged.done = true;
        return Err(half_done(error, stuck));
    }
    staged.done = true;
    for (index, way_back) in &undo {
        let file = &staged.files[*index];
        match (&file.act, way_back) {
            // The old file, under a name that says whose it is: harmless if it cannot be taken away.
            (Act::Replace { .. }, Undo::Exchanged)
            | (Act::Delete { .. } | Act::InPlace { .. }, _) => {
                drop(file.folder.remove(&file.sibling));
            }
            _ => {}
        }
    }
    let mut synced = HashSet::new();
    for file in &staged.files {
        if synced.insert(file.receipt.path.parent()) {
            file.folder.sync();
        }
    }
    Ok(Receipt {
        files: staged
            .files
            .iter()
            .map(|file| file.receipt.clone())
            .collect(),
    })
}

fn put(file: &mut StagedFile) -> Result<Undo, WriteError> {
    let written = file.written.clone();
    let failed = |source| WriteError::Io {
        what: "replacing",
        written: file.written.clone(),
        source,
    };
    let (folder, name) = (&file.folder, file.name.as_os_str());
    let sibling = file.sibling.as_os_str();
    match &file.act {
        Act::Create => match to_new(folder, sibling, name) {
            Ok(()) => Ok(Undo::Created),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(WriteError::Exists { written })
            }
            Err(source) => Err(WriteError::Io {
                what: "creating",
                written,
                source,
            }),
        },
        Act::Replace { stamp, old } => {
            same(folder, name, stamp, &written)?;
            match folder.exchange(sibling, name) {
                Ok(()) => {
                    // What came out must be what was read: a change in the last instant is put back.
                    if folder
                        .stamp(sibling)
                        .is_ok_and(|now| now.same_content(stamp))
                    {
                        return Ok(Undo::Exchanged);
                    }
                    folder.exchange(sibling, name).map_err(failed)?;
                    Err(WriteError::ChangedMeanwhile { written })
                }
                Err(error) if is_unsupported(&error) => {
                    folder.rename(sibling, name).map_err(failed)?;
                    Ok(Undo::Replaced)
                }
                Err(error) if cannot_be_replaced(&error) => {
                    // The sibling stays meanwhile: a torn file can be finished from it.
                    let new = read_back(folder, sibling).map_err(failed)?;
                    in_place(folder, name, &new, old).map_err(failed)?;
                    let (stamp, old) = (stamp.clone(), old.clone());
                    file.act = Act::InPlace { stamp, old, new };
                    file.receipt.in_place = true;
                    Ok(Undo::InPlace)
                }
                Err(error) => Err(failed(error)),
            }
        }
        Act::InPlace { stamp, old, new } => {
            same(folder, name, stamp, &written)?;
            in_place(folder, name, new, old).map_err(failed)?;
            Ok(Undo::InPlace)
        }
        Act::Delete { stamp } => {
            same(folder, name, stamp, &written)?;
            folder
                .rename(name, sibling)
                .map_err(|source| WriteError::Io {
                    what: "deleting",
                    written,
                    source,
                })?;
            debug_assert_eq!(file.receipt.kind, WrittenKind::Deleted);
            Ok(Undo::Aside)
        }
    }
}

fn same(folder: &Folder, name: &OsStr, stamp: &Stamp, written: &str) -> Result<(), WriteError> {
    match folder.stamp(name) {
        Ok(now) if now.same_content(stamp) => Ok(()),
        Ok(_) => Err(WriteError::ChangedMeanwhile {
            written: written.to_owned(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(WriteError::Gone {
            written: written.to_owned(),
        }),
        Err(source) => Err(WriteError::Io {
            what: "looking at",
            written: written.to_owned(),
            source,
        }),
    }
}

/// Gives a staged file its name, never over another file.
pub(super) fn to_new(folder: &Folder, sibling: &OsStr, name: &OsStr) -> io::Result<()> {
    match folder.rename_to_new(sibling, name) {
        Err(error) if is_unsupported(&error) => {}
        other => return other,
    }
    match folder.link(sibling, name) {
        Ok(()) => folder.remove(sibling),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // No links either: look, and rename.
        Err(_) => match folder.stamp(name) {
            Ok(_) => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
            Err(_) => folder.rename(sibling, name),
        },
    }
}

/// A file that is mounted by itself, or on a file system that binds names, refuses to be renamed over.
fn cannot_be_replaced(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::CrossesDevices | io::ErrorKind::ResourceBusy
    )
}

fn read_back(folder: &Folder, name: &OsStr) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut folder.open(name)?, &mut bytes)?;
    Ok(bytes)
}

/// Overwrites a file; a failure half-way writes the old bytes again.
pub(super) fn in_place(folder: &Folder, name: &OsStr, new: &[u8], old: &[u8]) -> io::Result<()> {
    let mut file = folder.open_to_write(name)?;
    let written = overwrite(&mut file, new);
    if written.is_err() {
        overwrite(&mut file, old)?;
    }
    written
}

fn overwrite(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.rewind()?;
    write_all(file, bytes)?;
    step();
    file.set_len(bytes.len() as u64)?;
    if waits_for_the_disk() {
        file.sync_data()?;
    }
    Ok(())
}

/// Takes changes back, last first, and returns those that could not be.
fn take_back(files: &[StagedFile], undo: &[(usize, Undo)]) -> Vec<String> {
    let mut stuck = Vec::new();
    for (index, way_back) in undo.iter().rev() {
        let file = &files[*index];
        let (folder, name) = (&file.folder, file.name.as_os_str());
        let sibling = file.sibling.as_os_str();
        let back = match (&file.act, way_back) {
            (Act::Create, _) => folder.remove(name),
            (Act::Replace { .. }, Undo::Exchanged) => folder.exchange(sibling, name),
            (Act::Replace { stamp, old }, _) => write_again(folder, name, sibling, stamp, old),
            (Act::InPlace { old, new, .. }, _) => in_place(folder, name, old, new),
            (Act::Delete { .. }, _) => to_new(folder, sibling, name),
        };
        if let Err(error) = back {
            let preimage = file.receipt.preimage.as_deref().unwrap_or("none");
            stuck.push(format!(
                "`{}` ({error}; old content: {preimage})",
                file.written
            ));
        }
    }
    stuck
}

/// Gives a file other bytes by way of a sibling, or in place where that cannot be.
pub(super) fn write_again(
    folder: &Folder,
    name: &OsStr,
    sibling: &OsStr,
    stamp: &Stamp,
    bytes: &[u8],
) -> io::Result<()> {
    match stage_beside(folder, name, sibling, stamp, bytes)? {
        Some(file) => {
            if waits_for_the_disk() {
                file.sync_data()?;
            }
            match folder.rename(sibling, name) {
                Err(error) if cannot_be_replaced(&error) => {
                    let mut file = folder.open_to_write(name)?;
                    overwrite(&mut file, bytes)?;
                    folder.remove(sibling)
                }
                other => other,
            }
        }
        None => {
            let mut file = folder.open_to_write(name)?;
            overwrite(&mut file, bytes)
        }
    }
}

fn half_done(error: WriteError, stuck: Vec<String>) -> WriteError {
    match error {
        WriteError::Io {
            what,
            written,
            source,
        } => WriteError::HalfDone {
            what,
            written,
            stuck,
            source,
        },
        other => WriteError::HalfDone {
            what: "replacing",
            written: other.to_string(),
            stuck,
            source: io::Error::other("a file was not as expected"),
        },
    }
}
