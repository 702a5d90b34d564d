//! Folders as paths, for systems without descriptors of folders.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io,
    path::{Component, Path, PathBuf},
};

use super::{Kind, Stamp};

/// A folder, by its path.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn root(path: &Path) -> io::Result<Self> {
        Self {
            path: path.to_owned(),
        }
        .checked()
    }

    pub(crate) fn below(&self, path: &Path) -> io::Result<Self> {
        let mut folder = Self {
            path: self.path.clone(),
        };
        for component in path.components() {
            match component {
                Component::Normal(name) => folder = folder.step(name)?,
                Component::CurDir => {}
                _ => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
            }
        }
        Ok(folder)
    }

    pub(crate) fn step(&self, name: &OsStr) -> io::Result<Self> {
        Self {
            path: self.path.join(name),
        }
        .checked()
    }

    fn checked(self) -> io::Result<Self> {
        if fs::symlink_metadata(&self.path)?.is_dir() {
            return Ok(self);
        }
        Err(io::Error::from(io::ErrorKind::NotADirectory))
    }

    /// The path of an entry that is no link. One that appears a moment later is followed: this system cannot tell.
    fn no_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        if fs::symlink_metadata(&path)?.is_symlink() {
            return Err(io::Error::other("it is a symbolic link"));
        }
        Ok(path)
    }

    pub(crate) fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::create_dir(self.path.join(name))
    }

    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir(self.path.join(name))
    }

    pub(crate) fn open(&self, name: &OsStr) -> io::Result<File> {
        File::open(self.no_link(name)?)
    }

    pub(crate) fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.no_link(name)?)
    }

    pub(crate) fn create(&self, name: &OsStr, _mode: u32) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(self.path.join(name))
    }

    pub(crate) fn stamp(&self, name: &OsStr) -> io::Result<Stamp> {
        Ok(to_stamp(&fs::symlink_metadata(self.path.join(name))?))
    }

    pub(crate) fn may_write(&self, _name: &OsStr) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    pub(crate) fn rename_to_new(&self, _from: &OsStr, _to: &OsStr) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub(crate) fn exchange(&self, _one: &OsStr, _other: &OsStr) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub(crate) fn link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::hard_link(self.path.join(from), self.path.join(to))
    }

    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    pub(crate) fn sync(&self) {}
}

pub(crate) fn stamp_of(file: &File) -> io::Result<Stamp> {
    Ok(to_stamp(&file.metadata()?))
}

pub(crate) fn take_after(_file: &File, _like: &Stamp, _old: &File) -> io::Result<bool> {
    Ok(true)
}

fn to_stamp(meta: &fs::Metadata) -> Stamp {
    let kind = if meta.is_dir() {
        Kind::Folder
    } else if meta.is_symlink() {
        Kind::Link
    } else {
        Kind::File
    };
    let modified = meta
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    Stamp {
        kind,
        device: 0,
        inode: 0,
        size: meta.len(),
        modified: modified.map_or(0, |time| time.as_nanos() as i128),
        mode: if meta.permissions().readonly() {
            0o444
        } else {
            0o666
        },
        links: 1,
        owner: 0,
        group: 0,
    }
}
