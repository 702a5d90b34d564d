//! Results that were too large to hand over at once: kept whole, named by a handle, read in pieces.
//!
//! `results/ID`: a line that says what it is, then the bytes. Whoever has the id may read it, so nobody can guess one.
//! Old ones go, and the oldest when there are too many bytes; each sweep says what went.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    Clock, StateDir, StoreError, random,
    state_dir::{entries, private_dir, remove, replace_unsynced},
};

mod piece;
mod pointer;

pub use piece::Piece;
pub use pointer::PointerError;

/// Longest piece that is read at once, in bytes.
pub const MAX_PIECE_BYTES: usize = 1 << 20;

/// Longest first line of a file, in bytes.
const MAX_HEAD_BYTES: u64 = 16 << 10;

/// Longest label, in characters.
const MAX_LABEL_CHARS: usize = 200;

/// What a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One JSON value: also [`Results::select`] works.
    Json,
    /// Other text.
    Text,
    /// Bytes, which are read as base64.
    Binary,
}

/// Names a result that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handle {
    /// `res-` and 32 hex digits.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// What it is of, such as `github.search`; at most 200 characters. Text from outside.
    pub label: String,
    /// Its size in bytes.
    pub total: u64,
    /// When it was kept.
    #[serde(with = "crate::time")]
    pub created: Timestamp,
}

/// How much is kept, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultLimits {
    /// Most bytes of all results together; also of one.
    pub max_bytes: u64,
    /// Longest age.
    pub max_age: SignedDuration,
}

impl Default for ResultLimits {
    /// 256 MB and a day.
    fn default() -> Self {
        Self {
            max_bytes: 256 << 20,
            max_age: SignedDuration::from_hours(24),
        }
    }
}

/// What a sweep removed, and what is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    /// Results that were removed.
    pub removed: usize,
    /// Their bytes.
    pub bytes_removed: u64,
    /// Results that are left.
    pub kept: usize,
    /// Their bytes.
    pub bytes_kept: u64,
}

/// A result could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// There is no such result.
    #[error(
        "no result `{id}`: it was removed after its time, or never was\nhint: call the tool again"
    )]
    NotFound {
        /// The id as it was given, shortened.
        id: String,
    },
    /// It is larger than all results may be.
    #[error(
        "a result of {bytes} bytes is not kept, at most {max} are\nhint: ask the tool for less"
    )]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// The offset lies behind the end.
    #[error("offset {offset} is behind the end, there are {total} bytes")]
    BehindEnd {
        /// The offset.
        offset: u64,
        /// The size.
        total: u64,
    },
    /// The selection failed.
    #[error(transparent)]
    Pointer(#[from] PointerError),
    /// The disk failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The results of a state directory.
#[derive(Clone)]
pub struct Results {
    folder: PathBuf,
    limits: Arc<RwLock<ResultLimits>>,
    clock: Clock,
}

impl std::fmt::Debug for Results {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Results")
            .field("folder", &self.folder)
            .field("limits", &self.limits())
            .finish_non_exhaustive()
    }
}

impl Results {
    /// Opens the results of a state directory.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the folder cannot be made.
    pub fn open(state: &StateDir, limits: ResultLimits, clock: Clock) -> Result<Self, StoreError> {
        let folder = state.path("results");
        private_dir(&folder)?;
        Ok(Self {
            folder,
            limits: Arc::new(RwLock::new(limits)),
            clock,
        })
    }

    /// From now on these hold; what is too much or too old goes with the next sweep.
    pub fn set_limits(&self, limits: ResultLimits) {
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    fn limits(&self) -> ResultLimits {
        *self.limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a result. Older ones go where there is no room. Bytes that are not UTF-8 are binary, whatever `kind` says.
    ///
    /// # Errors
    ///
    /// [`ResultsError::TooLarge`] and [`ResultsError::Store`].
    pub fn keep(&self, bytes: &[u8], kind: Kind, label: &str) -> Result<Handle, ResultsError> {
        let total = bytes.len() as u64;
        let max = self.limits().max_bytes;
        if total > max {
            return Err(ResultsError::TooLarge { bytes: total, max });
        }
        let kind = match kind {
            Kind::Json | Kind::Text if std::str::from_utf8(bytes).is_err() => Kind::Binary,
            kind => kind,
        };
        let handle = Handle {
            id: format!("res-{}", random::hex()?),
            kind,
            label: label.chars().take(MAX_LABEL_CHARS).collect(),
            total,
            created: (self.clock)(),
        };
        self.make_room(total);
        let path = self.folder.join(&handle.id);
        let head = serde_json::to_vec(&handle)
            .map_err(|error| StoreError::io("write", &path, error.into()))?;
        replace_unsynced(&path, &[&head, b"\n", bytes])?;
        Ok(handle)
    }

    /// Returns the handle of an id.
    ///
    /// # Errors
    ///
    /// [`ResultsError::NotFound`] and [`ResultsError::Store`].
    pub fn handle(&self, id: &str) -> Result<Handle, ResultsError> {
        Ok(self.open_result(id)?.0)
    }

    /// Reads a piece: at most `length` bytes from `offset` on, never more than [`MAX_PIECE_BYTES`] and never less than one
    /// character. A piece of a text begins and ends between characters: it may begin up to three bytes before `offset`,
    /// as it says.
    ///
    /// # Errors
    ///
    /// [`ResultsError::BehindEnd`], [`ResultsError::NotFound`] and [`ResultsError::Store`].
    pub fn read(&self, id: &str, offset: u64, length: usize) -> Result<Piece, ResultsError> {
        let (handle, mut file, start) = self.open_result(id)?;
        if offset > handle.total {
            return Err(ResultsError::BehindEnd {
                offset,
                total: handle.total,
            });
        }
        let failed = |error| StoreError::io("read", &self.folder.join(&handle.id), error);
        // A little more on both sides, to see where characters begin and end.
        let before = offset.min(piece::MARGIN as u64);
        file.seek(SeekFrom::Start(start + offset - before))
            .map_err(failed)?;
        let length = length.min(MAX_PIECE_BYTES);
        let mut window = Vec::new();
        file.take((length + 2 * piece::MARGIN) as u64)
            .read_to_end(&mut window)
            .map_err(failed)?;
        let is_text = handle.kind != Kind::Binary;
        let at = piece::Place {
            offset,
            length,
            total: handle.total,
        };
        #[expect(clippy::cast_possible_truncation, reason = "at most the margin")]
        let before = before as usize;
        Ok(piece::cut(&window, before, at, is_text))
    }

    /// Selects a value of a JSON result by a pointer (RFC 6901, `/content/0/text`) and reads a piece of it, as it is
    /// spelled; of a string, its text.
    ///
    /// # Errors
    ///
    /// [`ResultsError::Pointer`], which says how far the pointer led, and those of [`Results::read`].
    pub fn select(
        &self,
        id: &str,
        pointer: &str,
        offset: u64,
        length: usize,
    ) -> Result<Piece, ResultsError> {
        let (handle, file, _) = self.open_result(id)?;
        let mut bytes = Vec::new();
        file.take(self.limits().max_bytes.max(handle.total))
            .read_to_end(&mut bytes)
            .map_err(|error| StoreError::io("read", &self.folder.join(&handle.id), error))?;
        let text = pointer::select(&bytes, pointer)?;
        let total = text.len() as u64;
        if offset > total {
            return Err(ResultsError::BehindEnd { offset, total });
        }
        let at = piece::Place {
            offset,
            length: length.min(MAX_PIECE_BYTES),
            total,
        };
        let before = usize::try_from(offset).unwrap_or(text.len());
        Ok(piece::cut(text.as_bytes(), before, at, true))
    }

    /// Removes a result. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub fn remove(&self, id: &str) -> Result<bool, StoreError> {
        match self.path(id) {
            Some(path) => remove(&path),
            None => Ok(false),
        }
    }

    /// Removes what is too old, then the oldest until the rest is within the limit.
    pub fn sweep(&self) -> Swept {
        self.make_room(0)
    }

    fn make_room(&self, needed: u64) -> Swept {
        let found: Vec<(PathBuf, u64)> = entries(&self.folder)
            .into_iter()
            .filter(|path| {
                let name = path.file_name().and_then(|name| name.to_str());
                name.is_some_and(is_id)
            })
            .filter_map(|path| {
                let size = path.metadata().ok()?.len();
                Some((path, size))
            })
            .collect();
        let mut swept = Swept {
            kept: found.len(),
            bytes_kept: found.iter().map(|(_, size)| size).sum(),
            ..Swept::default()
        };
        let limits = self.limits();
        let is_over = |bytes: u64| bytes.saturating_add(needed) > limits.max_bytes;
        if needed > 0 && !is_over(swept.bytes_kept) {
            // There is room; what is old goes with the next sweep.
            return swept;
        }
        let mut files: Vec<(Timestamp, PathBuf, u64)> = found
            .into_iter()
            .map(|(path, size)| {
                // One whose first line is broken is of no use to anybody.
                let created =
                    head_of(&path).map_or(Timestamp::UNIX_EPOCH, |(head, _, _)| head.created);
                (created, path, size)
            })
            .collect();
        files.sort_unstable();
        let now = (self.clock)();
        for (created, path, size) in files {
            let is_old = now.duration_since(created) > limits.max_age;
            if (is_old || is_over(swept.bytes_kept)) && matches!(remove(&path), Ok(true)) {
                swept.removed += 1;
                swept.bytes_removed += size;
                swept.kept -= 1;
                swept.bytes_kept -= size;
            }
        }
        swept
    }

    fn open_result(&self, id: &str) -> Result<(Handle, File, u64), ResultsError> {
        let not_found = || ResultsError::NotFound {
            id: id.escape_debug().to_string().chars().take(60).collect(),
        };
        let path = self.path(id).ok_or_else(not_found)?;
        match head_of(&path) {
            Ok(found) => Ok(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(not_found()),
            Err(error) => Err(StoreError::io("read", &path, error).into()),
        }
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        is_id(id).then(|| self.folder.join(id))
    }
}

fn is_id(id: &str) -> bool {
    id.strip_prefix("res-").is_some_and(|rest| {
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        rest.len() == 32 && rest.bytes().all(is_hex)
    })
}

/// Reads the first line; returns the file at the first byte of the result, and where that is.
fn head_of(path: &Path) -> io::Result<(Handle, File, u64)> {
    let mut file = File::open(path)?;
    let mut line = Vec::new();
    BufReader::new((&mut file).take(MAX_HEAD_BYTES)).read_until(b'\n', &mut line)?;
    let mut handle: Handle = serde_json::from_slice(&line)?;
    let start = line.len() as u64;
    // What is there counts, not what was said.
    handle.total = file.metadata()?.len().saturating_sub(start);
    file.seek(SeekFrom::Start(start))?;
    Ok((handle, file, start))
}

#[cfg(test)]
mod tests;
