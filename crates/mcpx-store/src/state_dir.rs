//! The directory that holds everything, and the only ways to read and replace a file in it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::random;

/// Tells the time; passed in so that tests can choose it.
pub type Clock = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// Ending of a file that is being written.
pub(crate) const TEMPORARY: &str = ".tmp";

/// A file that is being written for longer was left behind by a killed process.
const KEEP_TEMPORARY: Duration = Duration::from_secs(3600);

/// How deep folders lie in the directory: `tasks/KEY`.
const MAX_DEPTH: usize = 2;

/// The hub's state directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    root: PathBuf,
}

/// A file, or a part of one, that could not be used, and what that means. For a warning; nothing has to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, what was done about it, and what is missing because of it.
    pub reason: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

/// The store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system failed.
    #[error("cannot {verb} {}: {source}{}", path.display(), hint(source))]
    Io {
        /// What was being done.
        verb: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// The failure.
        source: io::Error,
    },
    /// Another process held the lock of a file for too long.
    #[error(
        "{} was locked by another process for {} s\nhint: another daemon may hang; `mcpx daemons` lists them",
        path.display(),
        waited.as_secs()
    )]
    Locked {
        /// The lock.
        path: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A file is larger than one of ours gets.
    #[error("{} has {bytes} bytes, at most {max} are read", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// A record belongs to another process that lives.
    #[error(
        "the daemon record {} belongs to process {pid}, which runs\nhint: `mcpx stop` ends it",
        path.display()
    )]
    Occupied {
        /// The record.
        path: PathBuf,
        /// Whose it is.
        pid: u32,
    },
    /// A name that cannot be part of a file's name.
    #[error(
        "`{name}` is no {what}: expected 1 to 128 of a-z, A-Z, 0-9, `-`, `_` and `.`, not beginning with `.`"
    )]
    BadName {
        /// What it should have been.
        what: &'static str,
        /// What it was, shortened.
        name: String,
    },
    /// The system gave no random numbers.
    #[error("the system gives no random numbers\nhint: another try may help")]
    NoRandomness,
    /// The index of the log failed.
    #[error("the log index {}: {message}\nhint: it can be deleted, it is made anew from the log", path.display())]
    Index {
        /// Its file.
        path: PathBuf,
        /// What SQLite said.
        message: String,
    },
}

impl StoreError {
    /// Wraps a failure of the system with what was being done.
    pub(crate) fn io(verb: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            verb,
            path: path.to_owned(),
            source,
        }
    }
}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Io { source, .. } => source.kind(),
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// Says what to do about a disk that takes nothing.
fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "\nhint: free some space, or choose another state directory"
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "\nhint: the hub keeps its state there: make it writable for you, or choose another state directory"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "\nhint: a file lies where a folder is needed: move it away, or choose another state directory"
        }
        _ => "",
    }
}

impl StateDir {
    /// Makes the directory where there is none, closes it to others, and makes sure that it can be written.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when it cannot be made, belongs to somebody else, or cannot be written.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let dir = Self::at(root);
        private_dir(&dir.root)?;
        close_to_others(&dir.root)?;
        let probe = dir
            .root
            .join(format!(".probe-{}{TEMPORARY}", random::hex()?));
        let written = private_file(&probe, OpenOptions::new().write(true))
            .and_then(|mut file| file.write_all(b"x"));
        drop(fs::remove_file(&probe));
        written.map_err(|error| StoreError::io("write in", &dir.root, error))?;
        Ok(dir)
    }

    /// Names a state directory for reading; touches nothing on disk.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns where the file or folder `name` lies.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Returns the folder of the log.
    #[must_use]
    pub fn logs_dir(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Opens a file to append to, such as `daemon.log`, which a starting daemon prints to. One that is larger than
    /// `max_bytes` becomes `NAME.old` first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] and [`StoreError::BadName`].
    pub fn append(&self, name: &str, max_bytes: u64) -> Result<File, StoreError> {
        let path = self.path(checked_name("file name", name)?);
        if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > max_bytes) {
            let old = self.path(&format!("{name}.old"));
            fs::rename(&path, &old).map_err(|error| StoreError::io("rename", &path, error))?;
        }
        private_file_or_open(&path, OpenOptions::new().append(true))
            .map_err(|error| StoreError::io("open", &path, error))
    }

    /// Returns the end of a file as text, at most `max_bytes` of it, from a line's beginning on. Empty when it cannot be
    /// read. Text from outside.
    #[must_use]
    pub fn tail(&self, name: &str, max_bytes: u64) -> String {
        let read = || {
            let mut file = File::open(self.path(name))?;
            let from = file.metadata()?.len().saturating_sub(max_bytes);
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(max_bytes).read_to_end(&mut bytes)?;
            Ok::<_, io::Error>((bytes, from > 0))
        };
        let (bytes, is_cut) = read().unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        match text.split_once('\n') {
            Some((_, rest)) if is_cut => rest.to_owned(),
            _ => text.into_owned(),
        }
    }

    /// Removes what killed processes left half written, here and in the folders below, once it is an hour old.
    /// Returns how many files that were. What cannot be read or removed stays.
    pub fn sweep(&self, now: jiff::Timestamp) -> usize {
        let mut swept = 0;
        let mut folders = vec![(self.root.clone(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            for path in entries(&folder) {
                let is_folder = fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir());
                if is_folder && depth < MAX_DEPTH {
                    folders.push((path, depth + 1));
                } else if is_left_behind(&path, now) && fs::remove_file(&path).is_ok() {
                    swept += 1;
                }
            }
        }
        swept
    }
}

fn is_left_behind(path: &Path, now: jiff::Timestamp) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with('.') && name.ends_with(TEMPORARY))
        && age(path, now).is_some_and(|age| age > KEEP_TEMPORARY)
}

/// Returns what lies in a folder, sorted; nothing for one that cannot be read.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths
}

/// Returns how long ago a file was last written; nothing when that cannot be told.
pub(crate) fn age(path: &Path, now: jiff::Timestamp) -> Option<Duration> {
    let modified = jiff::Timestamp::try_from(fs::metadata(path).ok()?.modified().ok()?).ok()?;
    // One from the future was written now.
    Some(Duration::try_from(now.duration_since(modified)).unwrap_or_default())
}

/// Replaces a file whole, by a rename, so that it also survives a power cut. Its folder is made where there is none.
pub(crate) fn replace(path: &Path, parts: &[&[u8]]) -> Result<(), StoreError> {
    // A rename that survives a power cut while the content does not would leave an empty file.
    replace_then(path, parts, File::sync_data)
}

/// As [`replace`], for what a power cut may take away: does not wait for the disk.
pub(crate) fn replace_unsynced(path: &Path, parts: &[&[u8]]) -> Result<(), StoreError> {
    replace_then(path, parts, |_| Ok(()))
}

fn replace_then(
    path: &Path,
    parts: &[&[u8]],
    finish: impl FnOnce(&File) -> io::Result<()>,
) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    private_dir(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}{TEMPORARY}", random::hex()?));
    let written = private_file(&temporary, OpenOptions::new().write(true)).and_then(|mut file| {
        for part in parts {
            file.write_all(part)?;
        }
        finish(&file)
    });
    let done = written.and_then(|()| fs::rename(&temporary, path));
    if done.is_err() {
        drop(fs::remove_file(&temporary));
    }
    done.map_err(|error| StoreError::io("write", path, error))
}

/// Reads a file; nothing when there is none.
pub(crate) fn read(path: &Path, max: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("read", path, error)),
    };
    let mut bytes = Vec::new();
    let taken = file
        .take(max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| StoreError::io("read", path, error))?;
    if taken as u64 > max {
        let bytes = fs::metadata(path).map_or(taken as u64, |metadata| metadata.len());
        return Err(StoreError::TooLarge {
            path: path.to_owned(),
            bytes,
            max,
        });
    }
    Ok(Some(bytes))
}

/// Removes a file. Returns whether there was one.
pub(crate) fn remove(path: &Path) -> Result<bool, StoreError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("remove", path, error)),
    }
}

/// Moves a broken file out of the way, as `NAME.broken-DATE`. Returns where it lies now.
pub(crate) fn set_aside(path: &Path, now: jiff::Timestamp) -> Result<PathBuf, StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = path.with_file_name(format!("{name}.broken-{}", now.strftime("%Y%m%dT%H%M%SZ")));
    fs::rename(path, &aside).map_err(|error| StoreError::io("set aside", path, error))?;
    Ok(aside)
}

/// Makes a directory, with its parents, for its owner only. One that exists is left as it is.
pub(crate) fn private_dir(path: &Path) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(path)
        .map_err(|error| StoreError::io("create", path, error))
}

/// Creates a new file for its owner only; one that exists is an error.
pub(crate) fn private_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.create_new(true).open(path)
}

/// Opens a file, and creates it for its owner only where there is none.
pub(crate) fn private_file_or_open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.create(true).open(path)
}

#[cfg(unix)]
fn close_to_others(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = fs::metadata(path).map_err(|error| StoreError::io("read", path, error))?;
    if metadata.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
        .map_err(|error| StoreError::io("close to other users", path, error))
}

#[cfg(not(unix))]
fn close_to_others(_: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// Lets only names pass that are a file's name anywhere and lead nowhere else.
pub(crate) fn checked_name<'a>(what: &'static str, name: &'a str) -> Result<&'a str, StoreError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if (1..=128).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with('.') {
        return Ok(name);
    }
    Err(StoreError::BadName {
        what,
        name: name.escape_debug().to_string().chars().take(60).collect(),
    })
}

#[cfg(test)]
mod tests;
