//! Empty folders that exist only while a command runs, so that something can be mounted where nothing is.
//!
//! Several commands, of one program or of many, may need the same folder. Each holds a shared lock on it; who lets go
//! last takes the lock for itself and removes it. A folder is known by its mode (sticky and not writable) and by being
//! empty: one that a killed program left behind is taken up by the next.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

/// The mode of a folder that was made to be mounted on. Nobody makes such a folder by hand.
const MODE: u32 = 0o1555;

/// How often a folder that another program removes meanwhile is made again.
const TRIES: usize = 100;

/// A folder to mount on. Removed when its last user drops it.
#[derive(Debug)]
pub(crate) struct MountPoint {
    path: PathBuf,
    folder: File,
}

/// What stands at a path, by one look at it: between two of them another program may have removed and made the folder.
#[derive(Debug, PartialEq, Eq)]
enum There {
    Nothing,
    MountPoint,
    Other,
}

impl There {
    fn at(path: &Path) -> Self {
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if is_gone(&error) => return Self::Nothing,
            Err(_) => return Self::Other,
        };
        if !metadata.is_dir() || metadata.permissions().mode() & 0o1222 != 0o1000 {
            return Self::Other;
        }
        match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
            Ok(true) => Self::MountPoint,
            Ok(false) => Self::Other,
            Err(error) if is_gone(&error) => Self::Nothing,
            Err(_) => Self::Other,
        }
    }
}

/// Says whether a folder is there only to be mounted on, by this program or another.
pub(crate) fn is_mount_point(path: &Path) -> bool {
    There::at(path) == There::MountPoint
}

impl MountPoint {
    /// Makes sure that the folder exists, and keeps it so.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] when something else is there; the system's when the folder cannot be made.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        for _ in 0..TRIES {
            match DirBuilder::new().mode(MODE).create(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    match There::at(path) {
                        There::Other => return Err(error),
                        There::Nothing => continue,
                        There::MountPoint => {}
                    }
                }
                made => made?,
            }
            let folder = match File::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            // Where folders cannot be locked, the first to end removes the folder under the others, as before.
            let _unlockable = flock(&folder, FlockOperation::LockShared);
            if is_at(&folder, path) {
                return Ok(Self {
                    path: path.to_owned(),
                    folder,
                });
            }
        }
        Err(io::Error::other(
            "another program removes it again and again",
        ))
    }
}

/// Says whether an open folder is still the one at this path. Who holds a lock on it keeps it there.
fn is_at(folder: &File, path: &Path) -> bool {
    match (folder.metadata(), fs::symlink_metadata(path)) {
        (Ok(held), Ok(now)) => now.ino() == held.ino() && now.dev() == held.dev(),
        _ => false,
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        // Letting go first: of two that end at once, one gets the lock and removes the folder, or a third holds it.
        let _unlockable = flock(&self.folder, FlockOperation::Unlock);
        let alone = flock(&self.folder, FlockOperation::NonBlockingLockExclusive);
        // The folder may have been removed and another one made, which somebody else holds.
        if alone != Err(rustix::io::Errno::WOULDBLOCK) && is_at(&self.folder, &self.path) {
            // Not empty means that somebody outside put something there: theirs.
            let _not_empty = fs::remove_dir(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("point");
        (dir, path)
    }

    #[test]
    fn the_last_user_removes_it() {
        let (_dir, path) = folder();
        // Each opens the folder for itself, as two programs would.
        let (first, second) = (
            MountPoint::make(&path).unwrap(),
            MountPoint::make(&path).unwrap(),
        );
        assert!(is_mount_point(&path));
        drop(first);
        assert!(is_mount_point(&path));
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_program_left_is_taken_up() {
        let (_dir, path) = folder();
        DirBuilder::new().mode(MODE).create(&path).unwrap();
        drop(MountPoint::make(&path).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn what_a_person_made_stays() {
        let (_dir, path) = folder();
        fs::create_dir(&path).unwrap();
        let refused = MountPoint::make(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert!(path.exists() && !is_mount_point(&path));
        fs::write(path.join("file"), "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(MODE)).unwrap();
        assert!(!is_mount_point(&path));
    }

    #[test]
    fn many_at_once_leave_nothing() {
        let (_dir, path) = folder();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..400 {
                        let point = MountPoint::make(&path).unwrap();
                        assert!(path.is_dir());
                        drop(point);
                    }
                });
            }
        });
        assert!(!path.exists());
    }
}
