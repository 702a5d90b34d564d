//! Files that a rule with a wildcard denies, found so that a sandbox can hide them.
//!
//! A sandbox hides paths, not patterns: the pattern is expanded once, before the first command, within bounds. What lies
//! beyond them is said ([`Expanded::is_whole`]); what comes to exist later is judged per call where its reader is known.

use std::{
    collections::VecDeque,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

/// Most paths that are hidden so. Each costs the start of every command a mount.
const MAX_FOUND: usize = 500;

/// Most bytes of all those paths together: the list is handed on as one argument, and the kernel takes 128 KiB.
const MAX_BYTES: usize = 64 * 1024;

/// Longest search.
const MAX_TIME: Duration = Duration::from_millis(500);

/// Where denied files may lie, and who can tell.
#[derive(Clone)]
pub struct DeniedFiles {
    under: Vec<PathBuf>,
    is_denied: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
    found: Arc<OnceLock<Expanded>>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// Denied files and folders, those nearest to where the search began first. Nothing below a denied folder.
    pub paths: Vec<PathBuf>,
    /// Whether the search came to its end.
    pub is_whole: bool,
}

impl DeniedFiles {
    /// Makes a search of these folders. `is_denied` takes an absolute path.
    pub fn new(
        under: Vec<PathBuf>,
        is_denied: impl Fn(&Path) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            under,
            is_denied: Arc::new(is_denied),
            found: Arc::default(),
        }
    }

    /// Returns what is denied. The first call searches, for half a second at most.
    pub fn expand(&self) -> &Expanded {
        self.found.get_or_init(|| self.search())
    }

    fn search(&self) -> Expanded {
        let until = Instant::now() + MAX_TIME;
        let mut found = Expanded::default();
        let mut bytes = 0;
        // Breadth first: where the time is not enough, what lies near is found.
        let mut folders: VecDeque<PathBuf> = self.under.clone().into();
        while let Some(folder) = folders.pop_front() {
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            for entry in entries.flatten() {
                if Instant::now() >= until {
                    return found;
                }
                let path = entry.path();
                if (self.is_denied)(&path) {
                    bytes += path.as_os_str().len();
                    if found.paths.len() == MAX_FOUND || bytes > MAX_BYTES {
                        return found;
                    }
                    found.paths.push(path);
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push_back(path);
                }
            }
        }
        found.is_whole = true;
        found
    }
}

impl fmt::Debug for DeniedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeniedFiles")
            .field("under", &self.under)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denied_files_and_folders_are_found_within_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in ["a/secret/deep", "b"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let write = |path: &str| drop(fs::File::create(root.join(path)).unwrap());
        for path in ["a/.env", "b/.env", "b/other", "a/secret/deep/.env"] {
            write(path);
        }
        let denies = |path: &Path| path.ends_with(".env") || path.ends_with("secret");
        let search = || DeniedFiles::new(vec![root.to_owned(), root.join("missing")], denies);
        let mut found = search().expand().clone();
        found.paths.sort();
        let paths = ["a/.env", "a/secret", "b/.env"]
            .map(|path| root.join(path))
            .to_vec();
        assert_eq!(
            found,
            Expanded {
                paths,
                is_whole: true
            }
        );

        for number in 0..MAX_FOUND {
            fs::create_dir(root.join(format!("b/{number}"))).unwrap();
            write(&format!("b/{number}/.env"));
        }
        let found = search().expand().clone();
        assert!(!found.is_whole && found.paths.len() <= MAX_FOUND && found.paths.len() > 3);
    }
}
