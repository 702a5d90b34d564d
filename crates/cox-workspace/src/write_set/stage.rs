//! The first half of a write set: everything that can be done without touching a file of the person's.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write},
    path::Path,
};

use super::{
    Birth, Change, PreImages, WriteError, Written, WrittenKind,
    journal::Record,
    look::{Plan, hold, opening},
};
use crate::{
    confine::Confined,
    failpoint::{CHUNK, step, waits_for_the_disk},
    folder::{Folder, Stamp, stamp_of, take_after},
};

/// Changes that are ready to be made. Dropped before they are made, it leaves nothing behind.
#[derive(Debug, Default)]
pub(super) struct Staged {
    pub(super) files: Vec<StagedFile>,
    /// Folders that were made, outermost first.
    pub(super) made: Vec<MadeFolder>,
    /// Set once the changes are made: what was staged is no longer ours to take away.
    pub(super) done: bool,
}

/// One file's change, ready.
#[derive(Debug)]
pub(super) struct StagedFile {
    pub(super) folder: Folder,
    pub(super) name: OsString,
    /// The name of ours beside it, whether or not anything stands there.
    pub(super) sibling: OsString,
    pub(super) act: Act,
    pub(super) written: String,
    pub(super) receipt: Written,
    pub(super) goes_first: bool,
    /// The staged file until it is on the disk.
    pub(super) unsynced: Option<File>,
}

/// What is about to be done to one file.
#[derive(Debug)]
pub(super) enum Act {
    /// The sibling becomes a file that is not there yet.
    Create,
    /// The sibling takes the file's place. The bytes are for systems that cannot exchange.
    Replace { stamp: Stamp, old: Vec<u8> },
    /// The file's bytes are overwritten.
    InPlace {
        stamp: Stamp,
        old: Vec<u8>,
        new: Vec<u8>,
    },
    /// The file goes aside, to the sibling's name, and away when all is done.
    Delete { stamp: Stamp },
}

/// A folder that was made for a new file.
#[derive(Debug)]
pub(super) struct MadeFolder {
    pub(super) parent: Folder,
    pub(super) name: OsString,
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        for file in &self.files {
            if !matches!(file.act, Act::Delete { .. }) {
                // What cannot be taken away is a file with a name that says whose it is.
                drop(file.folder.remove(&file.sibling));
            }
        }
        for folder in self.made.iter().rev() {
            // Only an empty folder goes: somebody else's file in it stays.
            drop(folder.parent.remove_folder(&folder.name));
        }
    }
}

impl Staged {
    /// Puts what was staged on the disk. All is written by now, so that one turn of the disk serves many files.
    pub(super) fn sync(&mut self) -> Result<(), WriteError> {
        for file in &mut self.files {
            if let Some(staged) = file.unsynced.take()
                && waits_for_the_disk()
            {
                staged.sync_data().map_err(|source| WriteError::Io {
                    what: "writing a file beside",
                    written: file.written.clone(),
                    source,
                })?;
            }
        }
        Ok(())
    }

    /// Keeps the new bytes of files that are written in place, and notes their names. Says whether there were any.
    pub(super) fn keep_new(
        &self,
        preimages: &dyn PreImages,
        record: &mut Record,
    ) -> Result<bool, WriteError> {
        let mut any = false;
        for (file, entry) in self.files.iter().zip(&mut record.files) {
            let Act::InPlace { new, .. } = &file.act else {
                continue;
            };
            any = true;
            let keep = || -> io::Result<String> {
                let name = preimages.keep(&file.receipt.path, new)?;
                preimages.sync(&name)?;
                if let Some(old) = &file.receipt.preimage {
                    preimages.sync(old)?;
                }
                Ok(name)
            };
            entry.new = Some(keep().map_err(|source| WriteError::Keep {
                written: file.written.clone(),
                source,
            })?);
        }
        Ok(any)
    }
}

/// Puts the new bytes of one change beside the file.
pub(super) fn stage(staged: &mut Staged, plan: &Plan<'_>) -> Result<(), WriteError> {
    let at = plan.change.at();
    let failed = |source: io::Error| WriteError::Io {
        what: "writing a file beside",
        written: at.written.clone(),
        source,
    };
    let gone = || WriteError::Gone {
        written: at.written.clone(),
    };
    let folder = match plan.change {
        Change::Create { .. } => make_parent(staged, at),
        _ => hold(at),
    }
    .map_err(|source| opening(at, source))?;
    let mut unsynced = None;
    let (act, kind) = match plan.change {
        Change::Create { bytes, birth, .. } => {
            let file = give_birth(birth, &folder, &plan.sibling).map_err(failed)?;
            unsynced = Some(fill(file, &folder, &plan.sibling, bytes).map_err(failed)?);
            (Act::Create, WrittenKind::Created)
        }
        Change::Update { old, new, .. } => {
            let stamp = plan.stamp.clone().ok_or_else(gone)?;
            let beside = stage_beside(&folder, &plan.name, &plan.sibling, &stamp, new);
            unsynced = beside.map_err(failed)?;
            let old = old.clone();
            let act = if unsynced.is_some() {
                Act::Replace { stamp, old }
            } else {
                let new = new.clone();
                Act::InPlace { stamp, old, new }
            };
            (act, WrittenKind::Changed)
        }
        Change::Delete { .. } => {
            let stamp = plan.stamp.clone().ok_or_else(gone)?;
            (Act::Delete { stamp }, WrittenKind::Deleted)
        }
    };
    let receipt = Written {
        path: at.real.clone(),
        kind,
        preimage: plan.preimage.clone(),
        in_place: matches!(act, Act::InPlace { .. }),
    };
    staged.files.push(StagedFile {
        folder,
        name: plan.name.clone(),
        sibling: plan.sibling.clone(),
        act,
        written: at.written.clone(),
        receipt,
        goes_first: plan.goes_first,
        unsynced,
    });
    Ok(())
}

/// Creates the empty sibling of a new file.
fn give_birth(birth: &Birth, folder: &Folder, sibling: &OsStr) -> io::Result<File> {
    let from = match birth {
        Birth::Plain => return folder.create(sibling, 0o666),
        Birth::Executable => return folder.create(sibling, 0o777),
        Birth::MovedFrom(from) => from,
    };
    let name = from.real.file_name().ok_or(io::ErrorKind::NotFound)?;
    let old = hold(from)?.open(name)?;
    let file = folder.create(sibling, 0o600)?;
    // Whoever moves another's file owns the new one, as with a copy and a removal.
    match stamp_of(&old).and_then(|stamp| take_after(&file, &stamp, &old)) {
        Ok(_fits) => Ok(file),
        Err(error) => {
            folder.remove(sibling)?;
            Err(error)
        }
    }
}

/// Opens the folder of a new file; makes the missing ones.
fn make_parent(staged: &mut Staged, at: &Confined) -> io::Result<Folder> {
    let inside = at.real.strip_prefix(&at.root).map_err(io::Error::other)?;
    let path = inside.parent().unwrap_or(Path::new(""));
    let root = Folder::root(&at.root)?;
    match root.below(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    let mut folder = root.below(Path::new(""))?;
    for name in path {
        let next = match folder.step(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match folder.make_folder(name) {
                    Ok(()) => staged.made.push(MadeFolder {
                        parent: folder.below(Path::new(""))?,
                        name: name.to_owned(),
                    }),
                    // Somebody was faster; it is a folder like any other then.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
                folder.step(name)?
            }
            other => other?,
        };
        folder = next;
    }
    Ok(folder)
}

/// Puts new bytes beside a file, under the sibling's name and with what the file has besides its bytes.
///
/// None for a file that is to be written in place: it has other names, is of another owner, has attributes that cannot be
/// copied, or stands in a folder that takes no new file. Replacing it would lose that, or cannot be done.
pub(super) fn stage_beside(
    folder: &Folder,
    name: &OsStr,
    sibling: &OsStr,
    stamp: &Stamp,
    new: &[u8],
) -> io::Result<Option<File>> {
    if stamp.links > 1 {
        return Ok(None);
    }
    let file = match folder.create(sibling, 0o600) {
        Ok(file) => file,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    match folder
        .open(name)
        .and_then(|old| take_after(&file, stamp, &old))
    {
        Ok(true) => fill(file, folder, sibling, new).map(Some),
        Ok(false) => {
            folder.remove(sibling)?;
            Ok(None)
        }
        Err(error) => {
            folder.remove(sibling)?;
            Err(error)
        }
    }
}

/// Writes a staged file; takes it away again when that fails.
fn fill(mut file: File, folder: &Folder, sibling: &OsStr, bytes: &[u8]) -> io::Result<File> {
    match write_all(&mut file, bytes) {
        Ok(()) => Ok(file),
        Err(error) => {
            folder.remove(sibling)?;
            Err(error)
        }
    }
}

/// Writes bytes, a bounded part at a time.
pub(super) fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    for part in bytes.chunks(CHUNK) {
        step();
        file.write_all(part)?;
    }
    Ok(())
}
