//! The first half of a write set: everything that can be done without touching a file of the person's.

use std::{
    collections::hash_map::RandomState,
    ffi::{OsStr, OsString},
    fs::File,
    hash::BuildHasher,
    io::{self, Read, Write},
    path::Path,
};

use super::{Change, PreImages, WriteError, Written, WrittenKind};
use crate::{
    confine::Confined,
    folder::{Folder, Kind, Stamp, stamp_of, take_after},
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
    pub(super) act: Act,
    pub(super) written: String,
    pub(super) receipt: Written,
}

/// What is about to be done to one file.
#[derive(Debug)]
pub(super) enum Act {
    /// The sibling becomes a file that is not there yet.
    Create { sibling: OsString },
    /// The sibling takes the file's place. The bytes are for systems that cannot exchange.
    Replace {
        sibling: OsString,
        stamp: Stamp,
        old: Vec<u8>,
    },
    /// The file's bytes are overwritten.
    InPlace {
        stamp: Stamp,
        old: Vec<u8>,
        new: Vec<u8>,
    },
    /// The file goes aside, and away when all is done.
    Delete { aside: OsString, stamp: Stamp },
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
            if let Act::Create { sibling } | Act::Replace { sibling, .. } = &file.act {
                // What cannot be taken away is a file with a name that says whose it is.
                drop(file.folder.remove(sibling));
            }
        }
        for folder in self.made.iter().rev() {
            // Only an empty folder goes: somebody else's file in it stays.
            drop(folder.parent.remove_folder(&folder.name));
        }
    }
}

/// Checks one change, keeps its pre-image and puts its new bytes beside the file.
pub(super) fn stage(
    staged: &mut Staged,
    change: &Change,
    preimages: &dyn PreImages,
) -> Result<(), WriteError> {
    let at = change.at();
    let written = at.written.clone();
    let io = |what| {
        let written = written.clone();
        move |source: io::Error| WriteError::Io {
            what,
            written,
            source,
        }
    };
    let Some(name) = at.real.file_name().filter(|_| at.real != at.root) else {
        return Err(WriteError::NotAFile {
            written,
            kind: "folder",
        });
    };
    let makes_folders = matches!(change, Change::Create { .. });
    let folder = hold_parent(staged, at, makes_folders).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => WriteError::Gone {
            written: written.clone(),
        },
        _ => io("opening the folder of")(source),
    })?;
    let name = name.to_owned();
    let (act, kind, preimage) = match change {
        Change::Create { bytes, .. } => {
            match folder.stamp(&name) {
                Ok(_) => return Err(WriteError::Exists { written }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io("looking at")(error)),
            }
            let sibling = sibling();
            let file = folder
                .create(&sibling, 0o666)
                .map_err(io("creating a file beside"))?;
            fill(file, &folder, &sibling, bytes).map_err(io("writing a file beside"))?;
            (Act::Create { sibling }, WrittenKind::Created, None)
        }
        Change::Update { old, new, .. } => {
            let stamp = unchanged(&folder, &name, old, at)?;
            let preimage = keep(preimages, at, old)?;
            let act =
                stage_update(&folder, stamp, old, new).map_err(io("writing a file beside"))?;
            (act, WrittenKind::Changed, Some(preimage))
        }
        Change::Delete { old, .. } => {
            let stamp = unchanged(&folder, &name, old, at)?;
            let preimage = keep(preimages, at, old)?;
            (
                Act::Delete {
                    aside: sibling(),
                    stamp,
                },
                WrittenKind::Deleted,
                Some(preimage),
            )
        }
    };
    let in_place = matches!(act, Act::InPlace { .. });
    let receipt = Written {
        path: at.real.clone(),
        kind,
        preimage,
        in_place,
    };
    staged.files.push(StagedFile {
        folder,
        name,
        act,
        written,
        receipt,
    });
    Ok(())
}

/// Opens the folder of a file; makes the missing ones of a new file.
fn hold_parent(staged: &mut Staged, at: &Confined, make: bool) -> io::Result<Folder> {
    let inside = at.real.strip_prefix(&at.root).map_err(io::Error::other)?;
    let path = inside.parent().unwrap_or(Path::new(""));
    let root = Folder::root(&at.root)?;
    match root.below(path) {
        Err(error) if make && error.kind() == io::ErrorKind::NotFound => {}
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

/// Checks that a file still holds the bytes that the change was made from.
fn unchanged(
    folder: &Folder,
    name: &OsStr,
    old: &[u8],
    at: &Confined,
) -> Result<Stamp, WriteError> {
    let written = at.written.clone();
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => WriteError::Gone {
            written: at.written.clone(),
        },
        _ => WriteError::Io {
            what: "reading",
            written: at.written.clone(),
            source,
        },
    };
    let stamp = folder.stamp(name).map_err(failed)?;
    match stamp.kind {
        Kind::File => {}
        Kind::Folder => {
            return Err(WriteError::NotAFile {
                written,
                kind: "folder",
            });
        }
        Kind::Special(kind) => return Err(WriteError::NotAFile { written, kind }),
        Kind::Link => return Err(WriteError::ChangedMeanwhile { written }),
    }
    if stamp.mode & 0o222 == 0 {
        return Err(WriteError::WriteProtected {
            written,
            mode: stamp.mode,
        });
    }
    if stamp.size != old.len() as u64 {
        return Err(WriteError::ChangedMeanwhile { written });
    }
    let file = folder.open(name).map_err(failed)?;
    let stamp = stamp_of(&file).map_err(failed)?;
    if !holds(file, old).map_err(failed)? {
        return Err(WriteError::ChangedMeanwhile { written });
    }
    Ok(stamp)
}

fn holds(mut file: File, bytes: &[u8]) -> io::Result<bool> {
    let mut buffer = vec![0; 64 * 1024];
    let mut rest = bytes;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(rest.is_empty());
        }
        match rest.strip_prefix(&buffer[..read]) {
            Some(after) => rest = after,
            None => return Ok(false),
        }
    }
}

fn keep(preimages: &dyn PreImages, at: &Confined, old: &[u8]) -> Result<String, WriteError> {
    preimages
        .keep(&at.real, old)
        .map_err(|source| WriteError::Keep {
            written: at.written.clone(),
            source,
        })
}

/// A file with other names, of another owner, or in a folder that takes no new file is written in place: replacing it
/// would part it from its names, or cannot be done.
fn stage_update(folder: &Folder, stamp: Stamp, old: &[u8], new: &[u8]) -> io::Result<Act> {
    let in_place = |stamp| Act::InPlace {
        stamp,
        old: old.to_vec(),
        new: new.to_vec(),
    };
    if stamp.links > 1 {
        return Ok(in_place(stamp));
    }
    let sibling = sibling();
    let file = match folder.create(&sibling, 0o600) {
        Ok(file) => file,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            return Ok(in_place(stamp));
        }
        Err(error) => return Err(error),
    };
    match take_after(&file, &stamp) {
        Ok(true) => {}
        Ok(false) => {
            folder.remove(&sibling)?;
            return Ok(in_place(stamp));
        }
        Err(error) => {
            folder.remove(&sibling)?;
            return Err(error);
        }
    }
    fill(file, folder, &sibling, new)?;
    Ok(Act::Replace {
        sibling,
        stamp,
        old: old.to_vec(),
    })
}

/// Writes a staged file and puts it on the disk; takes it away again when that fails.
fn fill(mut file: File, folder: &Folder, sibling: &OsStr, bytes: &[u8]) -> io::Result<()> {
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if written.is_err() {
        folder.remove(sibling)?;
    }
    written
}

/// A name for a file beside another that nothing else uses.
fn sibling() -> OsString {
    // Two random hashers give 128 bits that no other process guesses.
    let random = || RandomState::new().hash_one(std::process::id());
    format!(".cox-{:016x}{:016x}.tmp", random(), random()).into()
}
