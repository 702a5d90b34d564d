//! Opens and reads files by what they are: never waits for a FIFO, never reads a device, never more than the cap.

pub(crate) mod encoding;
mod lines;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    fs::File,
    io::{self, Read},
    path::Path,
};

pub use encoding::{Encoding, decode, decode_line};
pub use lines::{HEAD_BYTES, LineLimits, LineRange, Lines, Opened, ShownLine, open_with_head};
use sha2::{Digest as _, Sha256};

use crate::{
    confine::Confined,
    folder::{Folder, Kind, Stamp, stamp_of},
};

/// What a file's bytes were, in 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the digest of what a reader gives, in little memory.
    pub(crate) fn of_reader(mut reader: impl Read) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = reader.read(&mut buffer)?;
            if read == 0 {
                return Ok(Self(hasher.finalize().into()));
            }
            hasher.update(&buffer[..read]);
        }
    }

    /// Reads what `Display` writes.
    pub(crate) fn from_hex(hex: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if hex.len() != 64 || !hex.is_ascii() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Digest {
    /// Writes 64 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is nothing at that path.
    #[error(
        "there is no file `{written}`{}",
        crate::file::elsewhere(written, resolved)
    )]
    NotFound {
        /// The path as written.
        written: String,
        /// The path as resolved.
        resolved: std::path::PathBuf,
    },
    /// It is a folder.
    #[error("`{written}` is a folder\nhint: list it with `glob`, or search it with `grep`")]
    Folder {
        /// The path as written.
        written: String,
    },
    /// It is neither file nor folder.
    #[error("`{written}` is a {kind}, not a regular file; reading it could wait for ever")]
    Special {
        /// The path as written.
        written: String,
        /// What it is.
        kind: &'static str,
    },
    /// It is larger than the cap.
    #[error("`{written}` has {bytes} bytes, the limit is {cap} bytes")]
    TooLarge {
        /// The path as written.
        written: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        cap: u64,
    },
    /// The system failed.
    #[error("reading `{written}` failed")]
    Io {
        /// The path as written.
        written: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

pub(crate) fn elsewhere(written: &str, resolved: &Path) -> String {
    if Path::new(written) == resolved {
        String::new()
    } else {
        format!(" (looked at `{}`)", resolved.display())
    }
}

/// Opens the regular file at a confined path.
///
/// # Errors
///
/// [`ReadError`] for what is missing, not a regular file, or led away by a link since it was judged.
pub fn open(at: &Confined) -> Result<File, ReadError> {
    open_stamped(at).map(|(file, _)| file)
}

/// Reads a whole regular file of at most `cap` bytes.
///
/// # Errors
///
/// As [`open`], and [`ReadError::TooLarge`]: also for a file that grows over the cap while it is read.
pub fn read(at: &Confined, cap: u64) -> Result<Vec<u8>, ReadError> {
    let (file, stamp) = open_stamped(at)?;
    read_open(file, &stamp, cap, at)
}

pub(crate) fn open_stamped(at: &Confined) -> Result<(File, Stamp), ReadError> {
    let written = || at.written.clone();
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadError::NotFound {
            written: written(),
            resolved: at.real.clone(),
        },
        _ => ReadError::Io {
            written: written(),
            source,
        },
    };
    let Some(name) = at.real.file_name().filter(|_| at.real != at.root) else {
        return Err(ReadError::Folder { written: written() });
    };
    let folder = parent(at).map_err(failed)?;
    // A socket cannot be opened at all, and opening a device may already do something: look first.
    refuse(folder.stamp(name).map_err(failed)?.kind, at)?;
    let file = folder.open(name).map_err(failed)?;
    let stamp = stamp_of(&file).map_err(failed)?;
    refuse(stamp.kind, at)?;
    Ok((file, stamp))
}

pub(crate) fn read_open(
    file: File,
    stamp: &Stamp,
    cap: u64,
    at: &Confined,
) -> Result<Vec<u8>, ReadError> {
    let too_large = |bytes| ReadError::TooLarge {
        written: at.written.clone(),
        bytes,
        cap,
    };
    if stamp.size > cap {
        return Err(too_large(stamp.size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0) + 1);
    file.take(cap + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| ReadError::Io {
            written: at.written.clone(),
            source,
        })?;
    let len = bytes.len() as u64;
    if len > cap {
        Err(too_large(len))
    } else {
        Ok(bytes)
    }
}

/// Opens the folder that holds a confined path, without following links.
pub(crate) fn parent(at: &Confined) -> io::Result<Folder> {
    let inside = at.real.strip_prefix(&at.root).map_err(io::Error::other)?;
    Folder::root(&at.root)?.below(inside.parent().unwrap_or(Path::new("")))
}

fn refuse(kind: Kind, at: &Confined) -> Result<(), ReadError> {
    let written = at.written.clone();
    match kind {
        Kind::File => Ok(()),
        Kind::Folder => Err(ReadError::Folder { written }),
        Kind::Special(kind) => Err(ReadError::Special { written, kind }),
        Kind::Link => Err(ReadError::Io {
            written,
            source: io::Error::other("a symbolic link appeared where there was none; try again"),
        }),
    }
}
