//! The part of a write set that touches nothing: what is there, is it as expected, and what will be done.

use std::{
    collections::hash_map::RandomState,
    ffi::{OsStr, OsString},
    fs::File,
    hash::BuildHasher,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{
    Change, PreImages, WriteError,
    journal::{Entry, Planned, Record},
};
use crate::{
    confine::Confined,
    file::Digest,
    folder::{Folder, Kind, Stamp, stamp_of},
};

/// One change, looked at.
#[derive(Debug)]
pub(super) struct Plan<'c> {
    pub(super) change: &'c Change,
    pub(super) name: OsString,
    /// The name of ours for what stands beside the file meanwhile.
    pub(super) sibling: OsString,
    /// The file as it was read; none for one that is created.
    pub(super) stamp: Option<Stamp>,
    pub(super) preimage: Option<String>,
    /// Whether it goes before all others: its name differs only in case from one that is created, on a file system
    /// where that is the same name.
    pub(super) goes_first: bool,
}

/// Looks at every change and keeps the old bytes.
pub(super) fn look<'c>(
    changes: &'c [Change],
    preimages: &dyn PreImages,
) -> Result<Vec<Plan<'c>>, WriteError> {
    let mut plans = changes.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
    for plan in &mut plans {
        let (Change::Update { at, old, .. } | Change::Delete { at, old }) = plan.change else {
            continue;
        };
        let folder = hold(at).map_err(|source| opening(at, source))?;
        plan.stamp = Some(unchanged(&folder, &plan.name, old, at)?);
        plan.preimage = Some(keep(preimages, at, old)?);
    }
    for index in 0..plans.len() {
        let Change::Create { at, .. } = plans[index].change else {
            continue;
        };
        if let Some(there) = is_free(at, &plans[index].name)? {
            // A file with one name that is deleted under another name is that file: only the case changes.
            let twin = plans.iter_mut().find(|plan| {
                matches!(plan.change, Change::Delete { .. })
                    && there.links == 1
                    && there.inode != 0
                    && plan.stamp.as_ref().is_some_and(|stamp| {
                        (stamp.device, stamp.inode) == (there.device, there.inode)
                    })
            });
            match twin {
                Some(twin) => twin.goes_first = true,
                None => {
                    return Err(WriteError::Exists {
                        written: at.written.clone(),
                    });
                }
            }
        }
    }
    Ok(plans)
}

fn plan(change: &Change) -> Result<Plan<'_>, WriteError> {
    let at = change.at();
    let Some(name) = at.real.file_name().filter(|_| at.real != at.root) else {
        return Err(WriteError::NotAFile {
            written: at.written.clone(),
            kind: "folder",
        });
    };
    Ok(Plan {
        change,
        name: name.to_owned(),
        sibling: sibling(),
        stamp: None,
        preimage: None,
        goes_first: false,
    })
}

/// Returns what stands where a file is to be created, if anything does.
fn is_free(at: &Confined, name: &OsStr) -> Result<Option<Stamp>, WriteError> {
    let folder = match hold(at) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(opening(at, source)),
    };
    match folder.stamp(name) {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(WriteError::Io {
            what: "looking at",
            written: at.written.clone(),
            source,
        }),
    }
}

/// Opens the folder of a file.
pub(super) fn hold(at: &Confined) -> io::Result<Folder> {
    let inside = at.real.strip_prefix(&at.root).map_err(io::Error::other)?;
    Folder::root(&at.root)?.below(inside.parent().unwrap_or(Path::new("")))
}

pub(super) fn opening(at: &Confined, source: io::Error) -> WriteError {
    let written = at.written.clone();
    match source.kind() {
        io::ErrorKind::NotFound => WriteError::Gone { written },
        io::ErrorKind::NotADirectory => WriteError::BelowAFile { written },
        _ => WriteError::Io {
            what: "opening the folder of",
            written,
            source,
        },
    }
}

/// Writes down what the plans are.
pub(super) fn record(plans: &[Plan<'_>]) -> Record {
    let mut record = Record::default();
    for plan in plans {
        let at = plan.change.at();
        let inside = at.real.strip_prefix(&at.root).unwrap_or(&at.real);
        let (act, before, after) = match plan.change {
            Change::Create { bytes, .. } => (Planned::Create, None, Some(Digest::of(bytes))),
            Change::Update { old, new, .. } => (
                Planned::Change,
                Some(Digest::of(old)),
                Some(Digest::of(new)),
            ),
            Change::Delete { old, .. } => (Planned::Delete, Some(Digest::of(old)), None),
        };
        record.files.push(Entry {
            root: at.root.clone(),
            inside: inside.to_owned(),
            act,
            sibling: plan.sibling.clone(),
            before,
            after,
            old: plan.preimage.clone(),
            new: None,
            mode: plan.stamp.as_ref().map_or(0o666, |stamp| stamp.mode),
        });
        if act == Planned::Create {
            for folder in missing_folders(&at.root, inside) {
                let folder = (at.root.clone(), folder);
                if !record.folders.contains(&folder) {
                    record.folders.push(folder);
                }
            }
        }
    }
    record
}

/// The folders above a new file that are not there, outermost first.
fn missing_folders(root: &Path, inside: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = inside
        .ancestors()
        .skip(1)
        .filter(|folder| *folder != Path::new(""))
        .take_while(|folder| root.join(folder).symlink_metadata().is_err())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
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
    match folder.may_write(name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(WriteError::WriteProtected {
                written,
                mode: stamp.mode,
            });
        }
        other => other.map_err(failed)?,
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

/// A name for a file beside another that nothing else uses.
pub(super) fn sibling() -> OsString {
    // Two random hashers give 128 bits that no other process guesses.
    let random = || RandomState::new().hash_one(std::process::id());
    format!(".cox-{:016x}{:016x}.tmp", random(), random()).into()
}
