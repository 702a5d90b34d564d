//! Folders as descriptors.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    path::{Component, Path},
};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RenameFlags};

use super::{Kind, Stamp};
use crate::failpoint::{Asked, refused, step};

/// A folder held open.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
}

#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

impl Folder {
    /// Opens a root, following the links of its path.
    pub(crate) fn root(path: &Path) -> io::Result<Self> {
        Ok(Self {
            fd: fs::open(path, LOOK, Mode::empty())?,
        })
    }

    /// Opens a folder below this one; a link anywhere on the way is an error.
    pub(crate) fn below(&self, path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            return self.step(OsStr::new("."));
        }
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let resolve =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match fs::openat2(&self.fd, path, LOOK, Mode::empty(), resolve) {
                Ok(fd) => return Ok(Self { fd }),
                // Old kernels do not have it, some sandboxes forbid it.
                Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut folder = self.step(OsStr::new("."))?;
        for component in path.components() {
            match component {
                Component::Normal(name) => folder = folder.step(name)?,
                Component::CurDir => {}
                _ => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
            }
        }
        Ok(folder)
    }

    /// Opens the folder `name` in this one; a link is an error.
    pub(crate) fn step(&self, name: &OsStr) -> io::Result<Self> {
        let fd = fs::openat(&self.fd, name, LOOK | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self { fd })
    }

    /// Makes the folder `name` in this one.
    pub(crate) fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        step();
        Ok(fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777))?)
    }

    /// Takes the empty folder `name` away.
    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        step();
        Ok(fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Opens `name` to be read. Never waits for the other end of a FIFO; a link is an error.
    pub(crate) fn open(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(fs::openat(&self.fd, name, flags, Mode::empty())?.into())
    }

    /// Opens the existing file `name` to be written in place; a link is an error.
    pub(crate) fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
        step();
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(fs::openat(&self.fd, name, flags, Mode::empty())?.into())
    }

    /// Creates the file `name`, which must not exist. The mode is narrowed by the process's umask.
    pub(crate) fn create(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        step();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
        Ok(fs::openat(&self.fd, name, flags, mode)?.into())
    }

    /// Returns what `name` is; a link is not followed.
    pub(crate) fn stamp(&self, name: &OsStr) -> io::Result<Stamp> {
        let stat = fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(to_stamp(&stat))
    }

    /// Says no when this process may not write the file `name`, although it might replace it.
    pub(crate) fn may_write(&self, name: &OsStr) -> io::Result<()> {
        use rustix::{fs::Access, io::Errno};
        match fs::accessat(&self.fd, name, Access::WRITE_OK, AtFlags::EACCESS) {
            Err(error @ (Errno::ACCESS | Errno::ROFS)) => Err(error.into()),
            // Not every system can tell; the act itself will.
            _ => Ok(()),
        }
    }

    /// Renames over whatever is there.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        step();
        refused(Asked::Rename)?;
        Ok(fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    /// Renames; fails when `to` exists.
    pub(crate) fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        step();
        Ok(fs::renameat_with(
            &self.fd,
            from,
            &self.fd,
            to,
            RenameFlags::NOREPLACE,
        )?)
    }

    /// Exchanges two entries in one instant.
    pub(crate) fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<()> {
        step();
        refused(Asked::Rename)?;
        Ok(fs::renameat_with(
            &self.fd,
            one,
            &self.fd,
            other,
            RenameFlags::EXCHANGE,
        )?)
    }

    /// Gives `from` a second name, which must be free.
    pub(crate) fn link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        step();
        Ok(fs::linkat(&self.fd, from, &self.fd, to, AtFlags::empty())?)
    }

    /// Takes the file `name` away.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        step();
        Ok(fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Puts the folder's entries on the disk. Best effort: not every file system can.
    pub(crate) fn sync(&self) {
        step();
        if !crate::failpoint::waits_for_the_disk() {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(fd) = fs::openat(&self.fd, ".", flags, Mode::empty()) {
            let _ = fs::fsync(fd);
        }
    }
}

/// Returns what an open file is.
pub(crate) fn stamp_of(file: &File) -> io::Result<Stamp> {
    Ok(to_stamp(&fs::fstat(file.as_fd())?))
}

/// Gives an open file what `old` has and a rename would lose: attributes and access lists, the mode and, where that is
/// allowed, the owner. Says whether everything fits.
///
/// The set-user and set-group bits are not taken along, as the system drops them from a program that is written to.
pub(crate) fn take_after(file: &File, like: &Stamp, old: &File) -> io::Result<bool> {
    let now = stamp_of(file)?;
    let may_give = refused(Asked::Owner).is_ok();
    let mut fits = may_give && (now.owner, now.group) == (like.owner, like.group);
    if may_give && !fits {
        let owner = fs::Uid::from_raw(like.owner);
        let group = fs::Gid::from_raw(like.group);
        fits = fs::fchown(file, Some(owner), Some(group)).is_ok();
    }
    fits &= copy_attributes(old, file);
    // After the owner: a change of owner clears bits.
    fs::fchmod(
        file,
        Mode::from_raw_mode((like.mode & 0o1777) as rustix::fs::RawMode),
    )?;
    Ok(fits)
}

/// Attributes that the system gives by itself, and the one that makes a program powerful.
#[cfg(any(target_os = "linux", target_os = "macos"))]
const NOT_COPIED: [&[u8]; 5] = [
    b"security.capability",
    b"security.selinux",
    b"security.ima",
    b"security.evm",
    b"com.apple.provenance",
];

/// Copies extended attributes, access lists among them. Says whether all were copied.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn copy_attributes(from: &File, to: &File) -> bool {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use rustix::{
        fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr},
        io::Errno,
    };

    // The most that Linux gives: XATTR_LIST_MAX and XATTR_SIZE_MAX of limits.h.
    const MOST: usize = 64 * 1024;
    let mut names = vec![0; MOST];
    let length = match flistxattr(from, names.as_mut_slice()) {
        Ok(length) => length,
        Err(Errno::NOTSUP | Errno::NOSYS | Errno::PERM) => return true,
        Err(_) => return false,
    };
    let mut value = Vec::new();
    names[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty() && !NOT_COPIED.contains(name))
        .all(|name| {
            value.resize(MOST, 0);
            let name = OsStr::from_bytes(name);
            fgetxattr(from, name, value.as_mut_slice())
                .and_then(|length| fsetxattr(to, name, &value[..length], XattrFlags::empty()))
                .is_ok()
        })
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn copy_attributes(_from: &File, _to: &File) -> bool {
    true
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the fields differ in width from system to system"
)]
#[allow(
    trivial_numeric_casts,
    reason = "the fields differ in width from system to system"
)]
fn to_stamp(stat: &fs::Stat) -> Stamp {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Special("FIFO"),
        FileType::Socket => Kind::Special("socket"),
        FileType::CharacterDevice => Kind::Special("character device"),
        FileType::BlockDevice => Kind::Special("block device"),
        FileType::Unknown => Kind::Special("special file"),
    };
    Stamp {
        kind,
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        size: stat.st_size as u64,
        modified: i128::from(stat.st_mtime) * 1_000_000_000 + stat.st_mtime_nsec as i128,
        mode: stat.st_mode as u32 & 0o7777,
        links: stat.st_nlink as u64,
        owner: stat.st_uid,
        group: stat.st_gid,
    }
}
