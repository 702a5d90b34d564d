//! One daemon for a set of configuration files: a lock that is held for life, and the socket that is bound under it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tokio::net::UnixListener;

/// The longest path that a Unix socket can have everywhere, in bytes.
const LONGEST: usize = 100;

/// Won: the lock is held until this is dropped.
#[derive(Debug)]
pub struct Elected {
    _lock: File,
    /// Where clients connect.
    pub listener: UnixListener,
    /// The socket's file.
    pub bound: Bound,
}

/// The file of a socket that was bound, told from another one that is at its path later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Bound {
    fn at(path: &Path) -> io::Result<Self> {
        let file = std::fs::symlink_metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            device: file.dev(),
            inode: file.ino(),
        })
    }

    /// Removes the file; a successor's, where somebody took this one away, stays.
    pub fn remove(&self) {
        if Self::at(&self.path).is_ok_and(|there| there == *self) {
            // One that stays hinders nobody.
            let _stays = remove(&self.path);
        }
    }
}

/// Why there is no election to win.
#[derive(Debug, thiserror::Error)]
pub enum ElectionError {
    /// Another daemon serves these files.
    #[error("a daemon for these configuration files runs already")]
    Lost,
    /// The lock or the socket cannot be made.
    #[error("`{}` cannot be made: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Where the daemon of `key` listens: in the state folder, or, when that path is too long for a socket, in a folder of
/// the system's temporary one that only its owner may enter.
#[must_use]
pub fn socket_path(state: &Path, temporary: &Path, key: &str) -> PathBuf {
    let path = state.join(format!("daemon-{key}.sock"));
    if path.as_os_str().len() <= LONGEST {
        return path;
    }
    use sha2::{Digest as _, Sha256};
    use std::fmt::Write as _;
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let short = digest.iter().take(8).fold(String::new(), |mut text, byte| {
        let _never_fails = write!(text, "{byte:02x}");
        text
    });
    temporary.join(format!("mcpx-{short}")).join("s")
}

/// Becomes the daemon that listens at `socket`.
///
/// # Errors
/// When another one is it, or a file cannot be made.
pub fn elect(lock: &Path, socket: &Path) -> Result<Elected, ElectionError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ElectionError::Io { path, source }
    };
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(lock)
        .map_err(failed(lock))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Err(ElectionError::Lost),
        Err(error) => return Err(failed(lock)(error.into())),
    }
    if let Some(folder) = socket.parent()
        && !folder.exists()
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700)
            .create(folder)
            .map_err(failed(folder))?;
    }
    // Whoever left it is gone: the lock is ours.
    match remove(socket) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(socket)(error)),
    }
    let listener = UnixListener::bind(socket).map_err(failed(socket))?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))
        .map_err(failed(socket))?;
    Ok(Elected {
        _lock: file,
        listener,
        bound: Bound::at(socket).map_err(failed(socket))?,
    })
}

#[allow(clippy::disallowed_methods, reason = "the daemon's own socket")]
fn remove(socket: &Path) -> io::Result<()> {
    std::fs::remove_file(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_of_many_is_elected_and_a_left_socket_does_not_hinder_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let (lock, socket) = (folder.path().join("l"), folder.path().join("s"));
        let elected = elect(&lock, &socket).expect("the first");
        assert!(matches!(elect(&lock, &socket), Err(ElectionError::Lost)));
        let mode = std::fs::metadata(&socket)
            .expect("a socket")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(elected);
        assert!(socket.exists(), "left over");
        elect(&lock, &socket).expect("the next");
    }

    #[tokio::test]
    async fn a_daemon_whose_files_were_taken_away_leaves_those_of_its_successor() {
        let folder = tempfile::tempdir().expect("a folder");
        let (lock, socket) = (folder.path().join("l"), folder.path().join("s"));
        let old = elect(&lock, &socket).expect("the first");
        for file in [&lock, &socket] {
            remove(file).expect("it is there");
        }
        let new = elect(&lock, &socket).expect("its successor");
        old.bound.remove();
        assert!(socket.exists());
        new.bound.remove();
        assert!(!socket.exists());
    }

    #[test]
    fn a_socket_is_where_its_path_is_short_enough() {
        let short = socket_path(Path::new("/s"), Path::new("/tmp"), "k");
        assert_eq!(short, Path::new("/s/daemon-k.sock"));
        let long = socket_path(
            Path::new(&format!("/{}", "x".repeat(120))),
            Path::new("/tmp"),
            "k",
        );
        assert!(long.starts_with("/tmp") && long.as_os_str().len() < LONGEST);
    }
}
