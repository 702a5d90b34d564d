//! Files that a rule with a wildcard denies, found so that a sandbox can hide them.
//!
//! A sandbox hides paths, not patterns: the pattern is expanded anew for each command, within bounds. A folder that has
//! not changed since it was read is not read again, so that all but the first expansion cost a look at each folder.
//! Where the bounds are met, that is said ([`Expanded::stopped_by`]) and no command may run.

use std::{
    collections::{HashMap, VecDeque},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

/// Most paths that are hidden so. Each costs the start of every command a mount.
const MAX_FOUND: usize = 500;

/// Most bytes of all those paths together: the list is handed on as one argument, and the kernel takes 128 KiB.
const MAX_BYTES: usize = 64 * 1024;

/// Longest search.
const MAX_TIME: Duration = Duration::from_secs(3);

/// A folder may change twice within this without a newer time.
const TICK: Duration = Duration::from_millis(50);

/// Where denied files may lie, and who can tell.
#[derive(Clone)]
pub struct DeniedFiles {
    under: Vec<PathBuf>,
    is_denied: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
    max_time: Duration,
    known: Arc<Mutex<HashMap<PathBuf, Folder>>>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// Denied files and folders, those nearest to where the search began first. Nothing below a denied folder.
    pub paths: Vec<PathBuf>,
    /// The bound that ended the search; none when it came to its end.
    pub stopped_by: Option<Limit>,
}

/// A bound of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The most paths, or the most bytes of paths.
    Found,
    /// The time.
    Time,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found => write!(
                f,
                "there are more of them than can be hidden: {MAX_FOUND} paths, {MAX_BYTES} bytes of paths"
            ),
            Self::Time => write!(
                f,
                "the search for them did not end within {} s",
                MAX_TIME.as_secs()
            ),
        }
    }
}

/// What a folder held when it was read.
#[derive(Clone, Debug)]
struct Folder {
    /// When it had last changed.
    changed: Option<SystemTime>,
    /// When it was first seen to have changed then.
    first_seen: Instant,
    /// Whether the next change will show: it was read long enough after the last.
    is_settled: bool,
    denied: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl DeniedFiles {
    /// Makes a search of these folders. `is_denied` takes an absolute path, and answers the same each time.
    pub fn new(
        under: Vec<PathBuf>,
        is_denied: impl Fn(&Path) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            under,
            is_denied: Arc::new(is_denied),
            max_time: MAX_TIME,
            known: Arc::default(),
        }
    }

    /// Returns what is denied now. Searches, for three seconds at most; what was found until then shortens the next
    /// search.
    pub fn expand(&self) -> Expanded {
        let until = Instant::now() + self.max_time;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = HashMap::with_capacity(known.len());
        let mut found = Expanded::default();
        let mut bytes = 0;
        // Breadth first: where the time is not enough, what lies near is found.
        let mut folders: VecDeque<PathBuf> = self.under.clone().into();
        'search: while let Some(path) = folders.pop_front() {
            if seen.contains_key(&path) {
                continue;
            }
            if Instant::now() >= until {
                found.stopped_by = Some(Limit::Time);
                break;
            }
            let Ok(folder) = self.look(&path, known.remove(&path), until) else {
                continue;
            };
            let Some(folder) = folder else {
                found.stopped_by = Some(Limit::Time);
                break;
            };
            for denied in &folder.denied {
                bytes += denied.as_os_str().len();
                if found.paths.len() == MAX_FOUND || bytes > MAX_BYTES {
                    found.stopped_by = Some(Limit::Found);
                    break 'search;
                }
                found.paths.push(denied.clone());
            }
            folders.extend(folder.folders.iter().cloned());
            seen.insert(path, folder);
        }
        if found.stopped_by.is_some() {
            // What was not reached this time may still be as it was.
            seen.extend(known.drain());
        }
        *known = seen;
        found
    }

    /// Returns what a folder holds, from before where it has not changed; nothing when the time was up.
    fn look(
        &self,
        path: &Path,
        before: Option<Folder>,
        until: Instant,
    ) -> io::Result<Option<Folder>> {
        let changed = fs::metadata(path)?.modified().ok();
        let before = before.filter(|before| changed.is_some() && before.changed == changed);
        let now = Instant::now();
        let first_seen = match before {
            Some(before) if before.is_settled => return Ok(Some(before)),
            Some(before) => before.first_seen,
            None => now,
        };
        let mut folder = Folder {
            changed,
            first_seen,
            is_settled: now.duration_since(first_seen) > TICK,
            denied: Vec::new(),
            folders: Vec::new(),
        };
        for entry in fs::read_dir(path)?.flatten() {
            if Instant::now() >= until {
                return Ok(None);
            }
            let path = entry.path();
            if (self.is_denied)(&path) {
                folder.denied.push(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folder.folders.push(path);
            }
        }
        Ok(Some(folder))
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

    fn write(path: PathBuf) {
        drop(fs::File::create(path).unwrap());
    }

    fn denies(path: &Path) -> bool {
        path.ends_with(".env") || path.ends_with("secret")
    }

    /// Returns what a search finds, sorted, and what stopped it.
    fn found(search: &DeniedFiles) -> (Vec<PathBuf>, Option<Limit>) {
        let mut found = search.expand();
        found.paths.sort();
        (found.paths, found.stopped_by)
    }

    #[test]
    fn denied_files_and_folders_are_found_anew_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in ["a/secret/deep", "b"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for path in ["a/.env", "b/.env", "b/other", "a/secret/deep/.env"] {
            write(root.join(path));
        }
        let search = DeniedFiles::new(
            vec![root.to_owned(), root.join("missing"), root.join("a")],
            denies,
        );
        let check = |paths: &[&str]| {
            let paths = paths.iter().map(|path| root.join(path)).collect();
            assert_eq!(found(&search), (paths, None));
        };
        check(&["a/.env", "a/secret", "b/.env"]);
        check(&["a/.env", "a/secret", "b/.env"]);
        write(root.join(".env"));
        fs::create_dir(root.join("c")).unwrap();
        write(root.join("c/.env"));
        check(&[".env", "a/.env", "a/secret", "b/.env", "c/.env"]);
        // Until every folder has been read long after it changed.
        let until = Instant::now() + Duration::from_secs(10);
        let is_settled = || {
            let known = search.known.lock().unwrap();
            known.values().all(|folder| folder.is_settled)
        };
        while !is_settled() {
            assert!(Instant::now() < until, "a folder never settles");
            search.expand();
        }
        check(&[".env", "a/.env", "a/secret", "b/.env", "c/.env"]);
        let gone = tempfile::Builder::new()
            .prefix("x")
            .tempdir_in(root.join("b"))
            .unwrap();
        let name = format!("b/{}/.env", gone.path().file_name().unwrap().display());
        write(gone.path().join(".env"));
        check(&[".env", "a/.env", "a/secret", "b/.env", &name, "c/.env"]);
        drop(gone);
        check(&[".env", "a/.env", "a/secret", "b/.env", "c/.env"]);
    }

    #[test]
    fn a_file_made_right_after_a_search_is_found_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let search = DeniedFiles::new(vec![dir.path().to_owned()], denies);
        for number in 0..100 {
            let folder = dir.path().join(number.to_string());
            fs::create_dir(&folder).unwrap();
            search.expand();
            write(folder.join(".env"));
            assert_eq!(search.expand().paths.len(), number + 1);
        }
    }

    #[test]
    fn the_bounds_are_said() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..=MAX_FOUND {
            let folder = dir.path().join(number.to_string());
            fs::create_dir(&folder).unwrap();
            write(folder.join(".env"));
        }
        let mut search = DeniedFiles::new(vec![dir.path().to_owned()], denies);
        let (paths, stopped_by) = found(&search);
        assert_eq!((paths.len(), stopped_by), (MAX_FOUND, Some(Limit::Found)));
        search.max_time = Duration::ZERO;
        assert_eq!(search.expand().stopped_by, Some(Limit::Time));
    }
}
