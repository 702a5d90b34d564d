//! Finds programs in folders that the caller names.

use std::path::{Path, PathBuf};

/// Returns the first file called `name` in `dirs` that may be executed.
///
/// `name` is a bare name: one with a separator in it is never found. Nothing is looked up on `PATH` unless the caller
/// passes the folders of `PATH`.
pub fn find_program<D: AsRef<Path>>(
    name: &str,
    dirs: impl IntoIterator<Item = D>,
) -> Option<PathBuf> {
    if name.is_empty() || name.contains('/') || name.contains('\0') {
        return None;
    }
    dirs.into_iter()
        .map(|dir| dir.as_ref().join(name))
        .find(|path| path.is_file() && may_execute(path))
}

#[cfg(unix)]
fn may_execute(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn may_execute(_path: &Path) -> bool {
    true
}
