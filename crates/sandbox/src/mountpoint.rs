//! Empty folders that exist only while a command runs, so that something can be mounted where nothing is.
//!
//! A folder is removed when its last user has gone and it is still empty. Two programs in one workspace do not know of
//! each other: the first to end removes the folder under the other, which then loses the block, not its work.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

static IN_USE: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

/// A folder to mount on. Removed on drop if this process made it.
#[derive(Debug)]
pub(crate) struct MountPoint {
    path: PathBuf,
}

impl MountPoint {
    /// Makes sure that the folder exists.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        if !in_use.contains_key(path) {
            fs::create_dir(path)?;
        }
        *in_use.entry(path.to_owned()).or_default() += 1;
        Ok(Self {
            path: path.to_owned(),
        })
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let users = in_use.entry(self.path.clone()).or_default();
        *users = users.saturating_sub(1);
        if *users == 0 {
            in_use.remove(&self.path);
            // Not empty means that somebody outside put something there: theirs.
            let _not_empty = fs::remove_dir(&self.path);
        }
    }
}
