//! What a killed process left behind: told, finished, undone, or only tidied up.
//!
//! Each file is judged by its bytes alone: they are the old ones, the new ones, a mixture of both (a file that was being
//! written in place), or somebody else's. A file of somebody else's is never overwritten: the whole recovery is refused, or
//! does the other files when it is told to. A file that looks torn may be one that a person made so: what it holds is kept
//! before it is overwritten.
//! A recovery may itself be killed and is then done again.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use super::{
    journal::{Entry, Planned, Record},
    replace::{in_place, to_new, write_again},
    stage::write_all,
};
use crate::{
    file::Digest,
    folder::{Folder, Kind, is_unsupported, stamp_of},
};

/// Returns archived bytes by the name that [`super::PreImages::keep`] gave.
pub type Images<'a> = dyn Fn(&str) -> io::Result<Vec<u8>> + 'a;

/// Keeps bytes that are about to be lost, of the file at the path, and returns the name they can be had by.
pub type Keep<'a> = dyn Fn(&Path, &[u8]) -> io::Result<String> + 'a;

/// What a recovery works with.
#[derive(Clone, Copy)]
pub struct Recovery<'a> {
    /// The archived bytes.
    pub images: &'a Images<'a>,
    /// Where bytes go that would be lost.
    pub keep: &'a Keep<'a>,
    /// Whether files that somebody changed since are left as they are, and the others done. Else one such file stops all.
    pub skip_theirs: bool,
}

/// What a recovery left, besides the files that are as they should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Files of somebody else's, left as they are.
    pub skipped: Vec<Skipped>,
    /// Files that were torn, each with the name of what it held.
    pub kept: Vec<(PathBuf, String)>,
}

/// A file that was left as somebody made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub path: PathBuf,
    /// The name of what it held before the set; none for a file that the set creates.
    pub before: Option<String>,
    /// The name of what the set gives it; none for a file that the set deletes, or when that is not there any more.
    pub after: Option<String>,
}

/// A set whose process ended before it was done.
#[derive(Clone, Debug)]
pub struct Unfinished {
    record: Record,
}

/// How far a set came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// No file was changed: only leftovers are to be removed.
    Untouched,
    /// Some files are old and some are new.
    Partial,
    /// Every file was changed: only leftovers are to be removed.
    Complete,
}

/// What a file of the set holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// What it held before.
    Old,
    /// What the set gives it.
    New,
    /// Part of both: it was being written in place.
    Torn,
    /// Something else: somebody changed it since.
    Theirs {
        /// Whether the set had changed it before that; none if that cannot be told.
        after_us: Option<bool>,
    },
}

/// A file of the set and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The file.
    pub path: PathBuf,
    /// What it holds.
    pub state: FileState,
    /// The name of its old bytes in the archive; none for a new file.
    pub preimage: Option<String>,
}

/// Why a set was neither finished nor undone. Nothing was changed unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The record is not one.
    #[error("the record of the change cannot be read: {0}")]
    Record(String),
    /// Somebody changed files of the set since.
    #[error("changed since by somebody else: {}; nothing was done", Paths(.0))]
    Theirs(Vec<PathBuf>),
    /// New content is not all there.
    #[error("the new content of {} had not been written yet, so the change cannot be finished; nothing was done", Paths(.0))]
    NotStaged(Vec<PathBuf>),
    /// The archive no longer has the old content.
    #[error("the old content of `{}` is not in the archive as {id}", path.display())]
    NoImage {
        /// The file.
        path: PathBuf,
        /// The name it should have.
        id: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system failed; doing it again goes on where it stopped.
    #[error("`{}` could not be changed; try again", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What stands under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum There {
    Nothing,
    Bytes(Digest),
    /// A folder, a link, a device.
    Other,
}

impl There {
    fn is(self, digest: Option<Digest>) -> bool {
        matches!((self, digest), (Self::Bytes(holds), Some(digest)) if holds == digest)
    }
}

impl Unfinished {
    /// Reads a record that was left behind.
    ///
    /// # Errors
    ///
    /// [`RecoverError::Record`] for one of another version or that is none.
    pub fn read(record: &[u8]) -> Result<Self, RecoverError> {
        let record = Record::from_bytes(record).map_err(RecoverError::Record)?;
        Ok(Self { record })
    }

    /// Returns every file of the set and what it holds, in the order of the change.
    ///
    /// # Errors
    ///
    /// [`RecoverError::Io`] for a file that cannot be read.
    pub fn look(&self, images: &Images<'_>) -> Result<Vec<Standing>, RecoverError> {
        let state = |entry: &Entry| {
            Ok(Standing {
                path: entry.path(),
                state: state(entry, images)?,
                preimage: entry.old.clone(),
            })
        };
        self.record.files.iter().map(state).collect()
    }

    /// Makes what was not made yet, and removes leftovers.
    ///
    /// # Errors
    ///
    /// [`RecoverError`]; refused as a whole when somebody changed a file that is yet to be changed, unless such files
    /// are to be skipped.
    pub fn finish(&self, with: &Recovery<'_>) -> Result<Mended, RecoverError> {
        let images = with.images;
        let standing = self.look(images)?;
        if !with.skip_theirs {
            refuse(&standing, |after_us| after_us != Some(true))?;
        }
        let todo = |state: FileState| matches!(state, FileState::Old | FileState::Torn);
        let pairs = || self.record.files.iter().zip(&standing);
        let mut not_staged = Vec::new();
        for (entry, _) in pairs().filter(|(_, file)| todo(file.state)) {
            if entry.act != Planned::Delete && new_bytes(entry, images)?.is_none() {
                not_staged.push(entry.path());
            }
        }
        if !not_staged.is_empty() {
            return Err(RecoverError::NotStaged(not_staged));
        }
        let mended = self.keep(&standing, with)?;
        for (entry, file) in pairs().filter(|(_, file)| todo(file.state)) {
            make(entry, file.state, images)?;
        }
        self.tidy(false)?;
        Ok(mended)
    }

    /// Puts every file back as it was, and removes leftovers.
    ///
    /// # Errors
    ///
    /// [`RecoverError`]; refused as a whole when somebody changed a file after the set had, unless such files are to be
    /// skipped.
    pub fn undo(&self, with: &Recovery<'_>) -> Result<Mended, RecoverError> {
        let images = with.images;
        let standing = self.look(images)?;
        if !with.skip_theirs {
            refuse(&standing, |after_us| after_us != Some(false))?;
        }
        let todo = |state: FileState| matches!(state, FileState::New | FileState::Torn);
        let pairs = || self.record.files.iter().zip(&standing);
        for (entry, _) in pairs().filter(|(_, file)| todo(file.state)) {
            // Before anything is touched: can all be put back?
            if entry.act != Planned::Create {
                old_bytes(entry, images)?;
            }
        }
        let mended = self.keep(&standing, with)?;
        for (entry, file) in pairs().filter(|(_, file)| todo(file.state)).rev() {
            unmake(entry, file.state, images)?;
        }
        self.tidy(true)?;
        Ok(mended)
    }

    /// Keeps what would be lost: what stands in torn files, and what the set has for files that it leaves to others.
    fn keep(&self, standing: &[Standing], with: &Recovery<'_>) -> Result<Mended, RecoverError> {
        let mut mended = Mended::default();
        for (entry, file) in self.record.files.iter().zip(standing) {
            let path = entry.path();
            let failed = failed(entry);
            match file.state {
                FileState::Torn => {
                    let Some((folder, name)) = hold(entry).map_err(&failed)? else {
                        continue;
                    };
                    let now = read(&folder, name, usize::MAX - 1).map_err(&failed)?;
                    let id = (with.keep)(&path, &now).map_err(&failed)?;
                    mended.kept.push((path, id));
                }
                FileState::Theirs { .. } => {
                    let new = new_bytes(entry, with.images)?;
                    let keep = |bytes: Vec<u8>| (with.keep)(&path, &bytes).map_err(&failed);
                    let after = match &entry.new {
                        Some(id) => Some(id.clone()),
                        None => new.map(keep).transpose()?,
                    };
                    mended.skipped.push(Skipped {
                        path: path.clone(),
                        before: entry.old.clone(),
                        after,
                    });
                }
                FileState::Old | FileState::New => {}
            }
        }
        Ok(mended)
    }

    /// Leaves every file as it is and removes what stands beside them.
    ///
    /// # Errors
    ///
    /// [`RecoverError::Io`] when something of ours cannot be removed.
    pub fn forget(&self) -> Result<(), RecoverError> {
        self.tidy(true)
    }

    /// Removes what stands under names of ours, and folders that stayed empty.
    fn tidy(&self, folders_too: bool) -> Result<(), RecoverError> {
        let mut synced: Vec<PathBuf> = Vec::new();
        for entry in &self.record.files {
            let failed = failed(entry);
            let Some((folder, _)) = hold(entry).map_err(&failed)? else {
                continue;
            };
            match folder.remove(&entry.sibling) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed(error));
                }
                _ => {}
            }
            let parent = entry.path().parent().map(Path::to_owned);
            if let Some(parent) = parent.filter(|parent| !synced.contains(parent)) {
                folder.sync();
                synced.push(parent);
            }
        }
        if folders_too {
            for (root, inside) in self.record.folders.iter().rev() {
                // A folder with something in it stays.
                if let (Some(name), Ok(parent)) = (
                    inside.file_name(),
                    Folder::root(root)
                        .and_then(|root| root.below(inside.parent().unwrap_or(Path::new("")))),
                ) {
                    drop(parent.remove_folder(name));
                }
            }
        }
        Ok(())
    }
}

/// Returns how far a set came.
pub fn progress(standing: &[Standing]) -> Progress {
    let any = |wanted: &[FileState]| standing.iter().any(|file| wanted.contains(&file.state));
    let theirs = |after_us| FileState::Theirs { after_us };
    let made = any(&[FileState::New, FileState::Torn, theirs(Some(true))]);
    let missing = any(&[FileState::Old, FileState::Torn, theirs(Some(false))]);
    match (made, missing) {
        (false, true) => Progress::Untouched,
        (true, false) if !any(&[theirs(None)]) => Progress::Complete,
        (false, false) if standing.is_empty() => Progress::Untouched,
        _ => Progress::Partial,
    }
}

fn refuse(standing: &[Standing], refused: fn(Option<bool>) -> bool) -> Result<(), RecoverError> {
    let theirs: Vec<PathBuf> = standing
        .iter()
        .filter(|file| matches!(file.state, FileState::Theirs { after_us } if refused(after_us)))
        .map(|file| file.path.clone())
        .collect();
    if theirs.is_empty() {
        Ok(())
    } else {
        Err(RecoverError::Theirs(theirs))
    }
}

fn failed(entry: &Entry) -> impl Fn(io::Error) -> RecoverError + use<> {
    let path = entry.path();
    move |source| RecoverError::Io {
        path: path.clone(),
        source,
    }
}

/// Opens the folder of a file without following a link; none when it is not there.
fn hold(entry: &Entry) -> io::Result<Option<(Folder, &OsStr)>> {
    let Some(name) = entry.inside.file_name() else {
        return Ok(None);
    };
    let parent = entry.inside.parent().unwrap_or(Path::new(""));
    match Folder::root(&entry.root).and_then(|root| root.below(parent)) {
        Ok(folder) => Ok(Some((folder, name))),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn there(folder: &Folder, name: &OsStr) -> io::Result<There> {
    match folder.stamp(name) {
        Ok(stamp) if stamp.kind == Kind::File => {}
        Ok(_) => return Ok(There::Other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(There::Nothing),
        Err(error) => return Err(error),
    }
    Digest::of_reader(folder.open(name)?).map(There::Bytes)
}

fn state(entry: &Entry, images: &Images<'_>) -> Result<FileState, RecoverError> {
    let failed = failed(entry);
    let Some((folder, name)) = hold(entry).map_err(&failed)? else {
        return Ok(match entry.act {
            Planned::Create => FileState::Old,
            Planned::Change => FileState::Theirs { after_us: None },
            Planned::Delete => FileState::New,
        });
    };
    let file = there(&folder, name).map_err(&failed)?;
    let beside = there(&folder, &entry.sibling).map_err(&failed)?;
    let theirs = |after_us| Ok(FileState::Theirs { after_us });
    match entry.act {
        Planned::Create if file == There::Nothing => Ok(FileState::Old),
        Planned::Create if file.is(entry.after) => Ok(FileState::New),
        Planned::Create => theirs(beside.is(entry.after).then_some(false)),
        Planned::Delete if file.is(entry.before) => Ok(FileState::Old),
        Planned::Delete if file == There::Nothing => Ok(FileState::New),
        Planned::Delete => theirs(beside.is(entry.before).then_some(true)),
        Planned::Change if file.is(entry.before) => Ok(FileState::Old),
        Planned::Change if file.is(entry.after) => Ok(FileState::New),
        Planned::Change if is_torn(entry, &folder, name, images) => Ok(FileState::Torn),
        Planned::Change if beside.is(entry.after) => theirs(Some(false)),
        Planned::Change if beside.is(entry.before) => theirs(Some(true)),
        Planned::Change => theirs(None),
    }
}

/// Says whether every byte of a file is the old or the new one at its place: it was being written in place.
fn is_torn(entry: &Entry, folder: &Folder, name: &OsStr, images: &Images<'_>) -> bool {
    let (Ok(Some(new)), Ok(old)) = (new_bytes(entry, images), old_bytes(entry, images)) else {
        return false;
    };
    let longest = old.len().max(new.len());
    let Ok(now) = read(folder, name, longest) else {
        return false;
    };
    now.len() <= longest
        && now.len() >= old.len().min(new.len())
        && now
            .iter()
            .enumerate()
            .all(|(at, byte)| old.get(at) == Some(byte) || new.get(at) == Some(byte))
}

/// Reads a file of at most `longest` bytes, and one byte more of a longer one.
fn read(folder: &Folder, name: &OsStr, longest: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = folder.open(name)?;
    io::Read::read_to_end(&mut io::Read::take(file, longest as u64 + 1), &mut bytes)?;
    Ok(bytes)
}

/// The new bytes, from beside the file or from the archive; none when they were not written yet.
fn new_bytes(entry: &Entry, images: &Images<'_>) -> Result<Option<Vec<u8>>, RecoverError> {
    let failed = failed(entry);
    if let Some((folder, _)) = hold(entry).map_err(&failed)?
        && there(&folder, &entry.sibling)
            .map_err(&failed)?
            .is(entry.after)
    {
        let bytes = read(&folder, &entry.sibling, usize::MAX - 1).map_err(&failed)?;
        return Ok(Some(bytes));
    }
    let archived = entry.new.as_deref().and_then(|id| images(id).ok());
    Ok(archived.filter(|bytes| Some(Digest::of(bytes)) == entry.after))
}

/// The old bytes, from beside the file or from the archive.
fn old_bytes(entry: &Entry, images: &Images<'_>) -> Result<Vec<u8>, RecoverError> {
    let failed = failed(entry);
    if let Some((folder, _)) = hold(entry).map_err(&failed)?
        && there(&folder, &entry.sibling)
            .map_err(&failed)?
            .is(entry.before)
    {
        return read(&folder, &entry.sibling, usize::MAX - 1).map_err(&failed);
    }
    let id = entry.old.clone().unwrap_or_default();
    let missing = |source| RecoverError::NoImage {
        path: entry.path(),
        id: id.clone(),
        source,
    };
    let bytes = images(&id).map_err(missing)?;
    if Some(Digest::of(&bytes)) == entry.before {
        Ok(bytes)
    } else {
        Err(missing(io::Error::other("it holds other bytes")))
    }
}

/// Makes the change of one file.
fn make(entry: &Entry, state: FileState, images: &Images<'_>) -> Result<(), RecoverError> {
    let failed = failed(entry);
    let gone = || failed(io::Error::from(io::ErrorKind::NotFound));
    let (folder, name) = hold(entry).map_err(&failed)?.ok_or_else(gone)?;
    let sibling = entry.sibling.as_os_str();
    match entry.act {
        Planned::Create => to_new(&folder, sibling, name),
        Planned::Delete => folder.rename(name, sibling),
        Planned::Change => {
            let new = new_bytes(entry, images)?.ok_or_else(gone)?;
            change(entry, state, &folder, name, entry.after, &new, images)
        }
    }
    .map_err(&failed)
}

/// Takes the change of one file back.
fn unmake(entry: &Entry, state: FileState, images: &Images<'_>) -> Result<(), RecoverError> {
    let failed = failed(entry);
    let gone = || failed(io::Error::from(io::ErrorKind::NotFound));
    let (folder, name) = match hold(entry).map_err(&failed)? {
        Some(held) => held,
        // A deleted file whose folder is gone as well: somebody removed it.
        None if entry.act == Planned::Delete => return Err(gone()),
        None => return Ok(()),
    };
    let sibling = entry.sibling.as_os_str();
    match entry.act {
        Planned::Create => folder.remove(name),
        Planned::Delete => {
            if there(&folder, sibling).map_err(&failed)?.is(entry.before) {
                to_new(&folder, sibling, name)
            } else {
                let old = old_bytes(entry, images)?;
                put_new(&folder, sibling, name, entry.mode, &old)
            }
        }
        Planned::Change => {
            let old = old_bytes(entry, images)?;
            change(entry, state, &folder, name, entry.before, &old, images)
        }
    }
    .map_err(&failed)
}

/// Gives a file the bytes with this digest, by exchange with what stands beside it where that has them.
fn change(
    entry: &Entry,
    state: FileState,
    folder: &Folder,
    name: &OsStr,
    wanted: Option<Digest>,
    bytes: &[u8],
    images: &Images<'_>,
) -> io::Result<()> {
    let sibling = entry.sibling.as_os_str();
    if state == FileState::Torn {
        // In place again; what a second kill leaves is torn again.
        let other = if wanted == entry.after {
            old_bytes(entry, images).unwrap_or_default()
        } else {
            bytes.to_vec()
        };
        return in_place(folder, name, bytes, &other);
    }
    if there(folder, sibling)?.is(wanted) {
        match folder.exchange(sibling, name) {
            Err(error) if is_unsupported(&error) => return folder.rename(sibling, name),
            Err(_) => {}
            Ok(()) => return Ok(()),
        }
    }
    let stamp = stamp_of(&folder.open(name)?)?;
    if entry.new.is_some() || stamp.links > 1 {
        // The old bytes are in the archive, the new ones too.
        return in_place(folder, name, bytes, bytes);
    }
    match folder.remove(sibling) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    write_again(folder, name, sibling, &stamp, bytes)
}

/// Writes a file that is not there, by way of a sibling.
fn put_new(
    folder: &Folder,
    sibling: &OsStr,
    name: &OsStr,
    mode: u32,
    bytes: &[u8],
) -> io::Result<()> {
    match folder.remove(sibling) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = folder.create(sibling, mode & 0o777)?;
    write_all(&mut file, bytes)?;
    file.sync_data()?;
    to_new(folder, sibling, name)
}

struct Paths<'a>(&'a [PathBuf]);

impl std::fmt::Display for Paths<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, path) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}`{}`", path.display())?;
        }
        Ok(())
    }
}
