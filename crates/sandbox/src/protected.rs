//! What stays read-only inside a writable root: what decides what runs later, outside the sandbox.

use std::{
    fs,
    path::{Component, Path, PathBuf},
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

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The links on the way, each by its real folder and its name.
    pub(crate) links: Vec<PathBuf>,
    /// Where it ends: a real path as far as it exists.
    pub(crate) end: PathBuf,
}

/// Most links that are followed, as the kernel does.
const MAX_LINKS: usize = 40;

impl Way {
    /// Follows an absolute path.
    pub(crate) fn of(path: &Path) -> Self {
        let mut way = Self {
            links: Vec::new(),
            end: PathBuf::from("/"),
        };
        let mut rest: Vec<PathBuf> = parts(path);
        while let Some(part) = rest.pop() {
            if part.as_os_str() == ".." {
                way.end.pop();
                continue;
            }
            let next = way.end.join(&part);
            match fs::read_link(&next) {
                Ok(target) if way.links.len() < MAX_LINKS => {
                    if target.is_absolute() {
                        way.end = PathBuf::from("/");
                    }
                    way.links.push(next);
                    rest.extend(parts(&target));
                }
                _ => way.end = next,
            }
        }
        way
    }
}

/// Returns the parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    parts.collect()
}

fn read_small(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_POINTER {
        return None;
    }
    fs::read_to_string(path).ok()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_links_on_a_way_are_found_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/real")).unwrap();
        symlink("../second", root.join("a/first")).unwrap();
        symlink(root.join("a/real"), root.join("second")).unwrap();
        symlink("nowhere/at/all", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let check = |path: &str, links: &[&str], end: &str| {
            let expect = Way {
                links: links.iter().map(|link| root.join(link)).collect(),
                end: root.join(end),
            };
            assert_eq!(Way::of(&root.join(path)), expect, "{path}");
        };
        check("a/real", &[], "a/real");
        check("a/first/x", &["a/first", "second"], "a/real/x");
        check("a/../second", &["second"], "a/real");
        check("dangling", &["dangling"], "nowhere/at/all");
        assert_eq!(Way::of(&root.join("loop")).links.len(), MAX_LINKS);
    }
}
