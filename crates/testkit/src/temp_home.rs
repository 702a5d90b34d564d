//! A home directory of one's own.

use std::{fs, path::Path};

/// A temporary home directory, removed when it is dropped.
pub struct TempHome {
    dir: tempfile::TempDir,
}

impl TempHome {
    /// Makes an empty home.
    ///
    /// # Panics
    ///
    /// When the system has no room for one.
    #[expect(
        clippy::new_without_default,
        reason = "makes a directory, which a default should not"
    )]
    pub fn new() -> Self {
        Self {
            dir: tempfile::Builder::new().prefix("home-").tempdir().unwrap(),
        }
    }

    /// Returns its path, real and absolute.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file in it, with its directories, and returns the file's path.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> std::path::PathBuf {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Returns the text of a file in it.
    ///
    /// # Panics
    ///
    /// When there is no such file.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        let path = self.dir.path().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_holds_files_and_goes_away() {
        let home = TempHome::new();
        let path = home.write(".cox/config.toml", "a = 1");
        assert_eq!(
            (home.read(".cox/config.toml").as_str(), path.is_absolute()),
            ("a = 1", true)
        );
        drop(home);
        assert!(!path.exists());
    }
}
