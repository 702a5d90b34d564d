//! Finds the repository that a folder is in, from what is on disk alone.
//!
//! The rules are git's own: a `.git` directory, a `.git` file that points to one (worktrees, submodules), or a folder that
//! is one itself (bare). No process is started and no variable is read: git refuses folders of other users and follows
//! the `GIT_DIR` of whoever started the daemon. Other file systems are not entered on the way up, as git does by default.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

/// Largest `.git` file or `commondir` that is read, in bytes; paths are far shorter.
const MAX_POINTER: u64 = 16 * 1024;

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// What all its worktrees have in common, without symbolic links. A submodule has its own.
    pub(super) common: PathBuf,
    /// The top folder of the worktree, without symbolic links; none in a bare repository and inside of `.git`.
    pub(super) worktree: Option<PathBuf>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    Repository(Repository),
    Nothing,
    /// Something that says it is a repository and is none. What is above it is not it: git stops here too.
    Broken {
        at: PathBuf,
        why: String,
    },
}

/// Looks in a folder and above it. `folder` is absolute and without symbolic links.
pub(super) fn find(folder: &Path) -> Found {
    let device = device(folder);
    for dir in folder.ancestors() {
        if self::device(dir) != device {
            return Found::Nothing;
        }
        match look_in(dir) {
            Ok(None) => {}
            Ok(Some(repository)) => return Found::Repository(repository),
            Err((at, why)) => return Found::Broken { at, why },
        }
    }
    Found::Nothing
}

type Looked = Result<Option<Repository>, (PathBuf, String)>;

fn look_in(dir: &Path) -> Looked {
    let dot_git = dir.join(".git");
    let worktree = || Some(dir.to_owned());
    if let Ok(metadata) = fs::metadata(&dot_git) {
        if metadata.is_file() {
            let git_dir = pointed_to(&dot_git)?;
            let Some(common) = common(&git_dir) else {
                let why = format!(
                    "points to {}, which is no git directory",
                    super::shown(&git_dir)
                );
                return Err((dot_git, why));
            };
            return Ok(Some(Repository {
                common,
                worktree: worktree(),
            }));
        }
        // An empty `.git` folder is no repository, and is passed by.
        if metadata.is_dir()
            && let Some(common) = common(&dot_git)
        {
            return Ok(Some(Repository {
                common,
                worktree: worktree(),
            }));
        }
    }
    Ok(common(dir).map(|common| Repository {
        common,
        worktree: None,
    }))
}

/// The git directory that a `.git` file names.
fn pointed_to(file: &Path) -> Result<PathBuf, (PathBuf, String)> {
    let broken = |why: String| (file.to_owned(), why);
    let text = read_pointer(file).map_err(|error| broken(format!("cannot be read: {error}")))?;
    let path = text
        .strip_prefix("gitdir:")
        .map(str::trim)
        .filter(|path| !path.is_empty())
        .ok_or_else(|| broken("does not begin with `gitdir: ` and a path".to_owned()))?;
    let beside = file.parent().unwrap_or(file);
    Ok(beside.join(path))
}

/// The common directory of a git directory; none when it is no git directory. It is one when it has a `HEAD`, and it or
/// its common directory has `objects` and `refs`.
fn common(git_dir: &Path) -> Option<PathBuf> {
    // `HEAD` may be a symbolic link to a branch without commits.
    let head = fs::symlink_metadata(git_dir.join("HEAD")).ok()?;
    if head.is_dir() {
        return None;
    }
    let pointer = git_dir.join("commondir");
    let common = match read_pointer(&pointer) {
        Ok(text) => git_dir.join(text.trim()),
        Err(_) => git_dir.to_owned(),
    };
    let has = |name: &str| common.join(name).is_dir();
    (has("objects") && has("refs"))
        .then(|| common.canonicalize().ok())
        .flatten()
}

/// The text of a small regular file. Pipes and devices are not opened.
fn read_pointer(path: &Path) -> std::io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let mut text = String::new();
    File::open(path)?
        .take(MAX_POINTER)
        .read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(unix)]
fn device(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    Some(fs::metadata(path).ok()?.dev())
}

#[cfg(not(unix))]
fn device(_path: &Path) -> Option<u64> {
    None
}
