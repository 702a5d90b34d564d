//! What stays read-only inside a writable root: what decides what runs later, outside the sandbox.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Names that are protected in every root.
pub const PROTECTED: [&str; 3] = [".git", ".cox", ".claude"];

/// Largest `.git` file that is read, in bytes. It holds one path.
const MAX_POINTER: u64 = 64 * 1024;

/// Returns what stays read-only in `root`: `.git`, `.cox` and `.claude`, there or not, and when `.git` is the pointer
/// file of a worktree or submodule, the folder it points to and that folder's common one.
pub fn default_read_only(root: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = PROTECTED.iter().map(|name| root.join(name)).collect();
    paths.extend(git_folders(&root.join(".git")));
    paths
}

/// Returns the folders that a `.git` pointer file leads to; none when it is a folder, missing or not a pointer.
pub(crate) fn git_folders(pointer: &Path) -> Vec<PathBuf> {
    let Some(target) = read_small(pointer) else {
        return Vec::new();
    };
    let Some(target) = target.strip_prefix("gitdir:").map(str::trim) else {
        return Vec::new();
    };
    let base = pointer.parent().unwrap_or(Path::new("/"));
    let Ok(folder) = base.join(target).canonicalize() else {
        return Vec::new();
    };
    let common = read_small(&folder.join("commondir"))
        .and_then(|common| folder.join(common.trim()).canonicalize().ok());
    let mut folders = vec![folder];
    folders.extend(common);
    folders
}

fn read_small(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_POINTER {
        return None;
    }
    fs::read_to_string(path).ok()
}
