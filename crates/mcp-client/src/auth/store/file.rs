//! Records as files that only their owner can read, one for each key, replaced as a whole.
//!
//! `NAME-DIGEST.json` is the record. Beside it are two empty files that are only locked: `….lock` by whoever renews,
//! `….swap` for the moment of a replacement. Locks are those of the system (`flock`), so they end with their process.
#![allow(
    clippy::disallowed_methods,
    reason = "this is the door to the files that keep credentials"
)]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::{TokenStore, Version};
use crate::auth::record::Record;
use crate::auth::secret::{Secret, sha256};

/// Largest record that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// Keeps records in a folder (0700) as files (0600).
#[derive(Debug, Clone)]
pub struct FileStore {
    folder: PathBuf,
}

impl FileStore {
    /// Keeps records in `folder`, which is made when it is first needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The file of a key: readable characters of it, and a digest that tells keys apart.
    fn path(&self, key: &str, ending: &str) -> PathBuf {
        let plain: String = key
            .chars()
            .filter(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_'))
            .take(40)
            .collect();
        let digest: String = sha256(key).chars().take(16).collect();
        self.folder.join(format!("{plain}-{digest}.{ending}"))
    }

    /// Makes the folder, and narrows it if it is wider.
    fn prepare(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
            builder.mode(0o700).create(&self.folder)?;
            let mode = fs::metadata(&self.folder)?.permissions().mode();
            if mode & 0o077 != 0 {
                fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700))?;
            }
            Ok(())
        }
        #[cfg(not(unix))]
        builder.create(&self.folder)
    }

    fn lock_file(&self, key: &str, ending: &str) -> io::Result<File> {
        self.prepare()?;
        private().create(true).open(self.path(key, ending))
    }

    /// Takes the lock on replacing. Others hold it for the moment of their own replacement only.
    pub(super) fn hold_swap(&self, key: &str) -> io::Result<File> {
        let swap = self.lock_file(key, "swap")?;
        swap.lock()?;
        Ok(swap)
    }

    fn replace(
        &self,
        key: &str,
        was: Option<&Version>,
        new: Option<&Record>,
    ) -> io::Result<Result<Option<Version>, ()>> {
        let _swap = self.hold_swap(key)?;
        let path = self.path(key, "json");
        let is = read(&path)?.map(|written| Version::of(&written));
        if is.as_ref() != was {
            return Ok(Err(()));
        }
        let Some(record) = new else {
            if is.is_some() {
                fs::remove_file(&path)?;
            }
            sync_folder(&self.folder)?;
            return Ok(Ok(None));
        };
        let written = record.to_json();
        self.write(&path, &written)?;
        Ok(Ok(Some(Version::of(&written))))
    }

    /// Writes beside, waits for the disk, renames.
    fn write(&self, path: &Path, written: &str) -> io::Result<()> {
        let name = Secret::random().map_err(io::Error::other)?;
        let beside = path.with_extension(format!("{}.new", &name.expose()[..12]));
        let result = (|| {
            let mut file = private().create_new(true).open(&beside)?;
            file.write_all(written.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, path)
        })();
        if let Err(error) = result {
            let _gone_or_never_there = fs::remove_file(&beside);
            return Err(error);
        }
        sync_folder(&self.folder)
    }
}

impl TokenStore for FileStore {
    fn load(&self, key: &str) -> Result<(Option<Record>, Option<Version>), String> {
        let path = self.path(key, "json");
        match read(&path) {
            Ok(None) => Ok((None, None)),
            Ok(Some(written)) => Ok((Record::from_json(&written), Some(Version::of(&written)))),
            Err(error) => Err(format!("`{}`: {error}", path.display())),
        }
    }

    fn swap(
        &self,
        key: &str,
        was: Option<&Version>,
        new: Option<&Record>,
    ) -> Result<Option<Version>, Option<String>> {
        match self.replace(key, was, new) {
            Ok(Ok(version)) => Ok(version),
            Ok(Err(())) => Err(None),
            Err(error) => Err(Some(format!(
                "`{}`: {error}",
                self.path(key, "json").display()
            ))),
        }
    }

    fn try_lock(&self, key: &str) -> Result<Option<Box<dyn Send + Sync>>, String> {
        let named = |error: io::Error| format!("`{}`: {error}", self.path(key, "lock").display());
        let file = self.lock_file(key, "lock").map_err(named)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(named(error)),
        }
    }
}

/// How files of ours are opened: for reading and writing, by nobody else.
fn private() -> OpenOptions {
    let mut options = File::options();
    options.read(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata()?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(io::Error::other(format!(
                "others may read it (mode {mode:o}, expected 600); remove it and sign in again"
            )));
        }
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Makes a rename durable. Where a folder cannot be opened (Windows), the system does it.
fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _nothing_to_do = folder;
    Ok(())
}
