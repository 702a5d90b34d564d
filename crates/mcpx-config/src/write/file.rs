//! Replaces a file whole, or not at all.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the door to the hub's configuration files"
)]

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::{Saved, WriteError};

/// The bytes of a file; `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, WriteError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(WriteError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Writes `after` in place of `before`. A link stays a link, the mode of a file that exists stays, and the folder is made.
pub(super) fn save(path: &Path, before: Option<&[u8]>, after: &[u8]) -> Result<Saved, WriteError> {
    let target = target_of(path);
    let io_error = |source| WriteError::Io {
        path: target.clone(),
        source,
    };
    if let Some(folder) = target.parent() {
        make_folder(folder).map_err(io_error)?;
    }
    let mode = fs::metadata(&target)
        .ok()
        .map(|metadata| metadata.permissions());
    // Another file would take its place although this one may not be written.
    if mode.as_ref().is_some_and(fs::Permissions::readonly) {
        let kind = io::ErrorKind::PermissionDenied;
        return Err(io_error(io::Error::new(kind, "it is read-only")));
    }
    let changed = || WriteError::Changed {
        path: target.clone(),
    };
    // Of two that change one file at the same time, the later one finds it changed. Held until the end of this function.
    // A file system without locks has none, and an editor does not ask for one: the content is compared as well. On
    // Windows a locked file can be neither read nor replaced.
    let lock = before
        .filter(|_| cfg!(unix))
        .and_then(|_| fs::File::open(&target).ok());
    if let Some(file) = &lock
        && matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock))
    {
        return Err(changed());
    }
    let staged = staged_name(&target, "new");
    let written = write_new(&staged, after, mode.as_ref())
        .map_err(io_error)
        .and_then(|()| {
            // As late as can be: what is not as it was read is somebody else's work.
            if read(&target)?.as_deref() != before {
                return Err(changed());
            }
            let backup = match before {
                None => None,
                Some(before) => Some(back_up(&target, before, mode.as_ref()).map_err(io_error)?),
            };
            fs::rename(&staged, &target).map_err(io_error)?;
            Ok(Saved {
                path: target.clone(),
                backup,
                is_changed: true,
            })
        });
    if written.is_err() {
        // It may not have been made; there is nothing else to do about it.
        drop(fs::remove_file(&staged));
    }
    written
}

/// Where a path leads, also when nothing is there yet.
fn target_of(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| match fs::read_link(path) {
        Ok(led_to) => path.parent().unwrap_or(Path::new("")).join(led_to),
        Err(_) => path.to_owned(),
    })
}

/// Keeps the old content under the same name and `.bak`, over an older one.
fn back_up(target: &Path, before: &[u8], mode: Option<&fs::Permissions>) -> io::Result<PathBuf> {
    let backup = beside(target, "", ".bak");
    let staged = staged_name(target, "bak");
    let written = write_new(&staged, before, mode).and_then(|()| fs::rename(&staged, &backup));
    if written.is_err() {
        drop(fs::remove_file(&staged));
    }
    written.map(|()| backup)
}

/// A name that nobody else in this process or in another one uses now.
fn staged_name(target: &Path, ending: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    beside(
        target,
        ".",
        &format!(".{}-{count}.{ending}", std::process::id()),
    )
}

fn beside(target: &Path, prefix: &str, suffix: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(prefix);
    name.push(target.file_name().unwrap_or_default());
    name.push(suffix);
    target.with_file_name(name)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A new file that nobody else can read before it has the mode of the old one.
fn write_new(path: &Path, bytes: &[u8], mode: Option<&fs::Permissions>) -> io::Result<()> {
    // Left over by a process that was killed and had our number.
    drop(fs::remove_file(path));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    if let Some(mode) = mode {
        file.set_permissions(mode.clone())?;
    }
    file.sync_all()
}
