//! Keeps every path that a model names inside the roots.
//!
//! A path is judged twice: as words, with `..` taken away, and by where it leads once every link on the way is
//! followed. Both must lie inside a root. Nothing here opens a file; whoever does checks again by
//! `crate::folder::Folder`, because a link may appear between this judgement and the act.

#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    fmt, io,
    path::{Component, Path, PathBuf},
};

/// The folders that may be read and written. All absolute and real (no links).
#[derive(Clone, Debug)]
pub struct Roots {
    /// Relative paths start here. Lies in the first readable root.
    pub cwd: PathBuf,
    /// The person's home, for `~/`.
    pub home: PathBuf,
    /// Folders that may be read.
    pub readable: Vec<PathBuf>,
    /// Folders that may be written.
    pub writable: Vec<PathBuf>,
}

/// What a path is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To be read.
    Read,
    /// To be created, changed or deleted.
    Write,
}

/// A path that lies inside a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// As the model wrote it.
    pub written: String,
    /// Absolute and lexically normal; links not followed.
    pub lexical: PathBuf,
    /// Absolute, with the links of its deepest existing ancestor resolved; work on this one.
    pub real: PathBuf,
    /// The root it lies in.
    pub root: PathBuf,
}

impl Confined {
    /// Says whether the path itself, not a folder on its way, is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.lexical
            .symlink_metadata()
            .is_ok_and(|meta| meta.is_symlink())
    }
}

/// A path that may not be touched.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// Nothing was given.
    #[error("the path is empty\nhint: `.` is the working directory")]
    Empty,
    /// The path holds a NUL byte.
    #[error("the path `{written}` holds a NUL character, which no file name can")]
    Nul {
        /// The path as written, NUL shown as `␀`.
        written: String,
    },
    /// The path starts with a drive, a network share or a device prefix.
    #[error(
        "`{written}` starts with a drive, share or device prefix\nhint: use a path relative to the working directory, or one that starts with `/`"
    )]
    Prefix {
        /// The path as written.
        written: String,
    },
    /// The path leads out of the roots.
    #[error(
        "`{written}` is outside the folders that may be {}{}: {}\nhint: stay inside, or ask the person to start cox with `--add-dir {}`",
        verb(*access), Arrow { written, resolved }, Folders(roots), folder_of(resolved)
    )]
    Outside {
        /// The path as written.
        written: String,
        /// Where it leads.
        resolved: PathBuf,
        /// What it was wanted for.
        access: Access,
        /// The folders that would have been allowed.
        roots: Vec<PathBuf>,
    },
    /// The path may be read but not written.
    #[error(
        "`{written}` may be read but not written{}; the folders that may be written: {}",
        Arrow { written, resolved }, Folders(roots)
    )]
    ReadOnly {
        /// The path as written.
        written: String,
        /// Where it leads.
        resolved: PathBuf,
        /// The writable folders.
        roots: Vec<PathBuf>,
    },
    /// Links lead in a circle, or through more than 40 links.
    #[error("`{written}` passes through more than {MAX_LINKS} symbolic links at `{}`", at.display())]
    TooManyLinks {
        /// The path as written.
        written: String,
        /// The link that was one too many.
        at: PathBuf,
    },
    /// Where the path leads cannot be told.
    #[error("cannot tell where `{written}` leads: looking at `{}` failed", at.display())]
    Unresolved {
        /// The path as written.
        written: String,
        /// What could not be looked at.
        at: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What was judged a moment ago leads elsewhere now.
    #[error("`{written}` led to `{}` when it was judged and leads to `{}` now; nothing was done\nhint: look at the links on the way, then try again", before.display(), now.display())]
    Moved {
        /// The path as written.
        written: String,
        /// Where it led.
        before: PathBuf,
        /// Where it leads.
        now: PathBuf,
    },
}

/// Links followed before a path counts as a circle. Linux gives up after 40 too.
/// Source: path_resolution(7).
const MAX_LINKS: usize = 40;

/// Returns where `written` leads, if that is inside the roots for `access`.
///
/// `~/` is the person's home; a relative path starts at `roots.cwd`; what does not exist is taken as written, so a
/// new file can be named. `link/../x` means what it means to the system: next to where `link` leads.
///
/// # Errors
///
/// [`ConfineError`] names the path as written and as resolved, and the roots.
pub fn confine(roots: &Roots, written: &str, access: Access) -> Result<Confined, ConfineError> {
    refuse_strange(written)?;
    let joined = absolute(roots, written);
    let allowed = match access {
        Access::Read => &roots.readable,
        Access::Write => &roots.writable,
    };
    let lexical = lexically_normal(&joined);
    let refuse = |resolved: PathBuf| {
        let readable = access == Access::Write && root_of(&roots.readable, &resolved).is_some();
        let (written, roots) = (written.to_owned(), allowed.clone());
        if readable {
            ConfineError::ReadOnly {
                written,
                resolved,
                roots,
            }
        } else {
            ConfineError::Outside {
                written,
                resolved,
                access,
                roots,
            }
        }
    };
    let lexical = if root_of(allowed, &lexical).is_some() {
        lexical
    } else {
        through_root_alias(allowed, &lexical).ok_or_else(|| refuse(lexical.clone()))?
    };
    let real = resolve(&joined, written)?;
    let Some(root) = root_of(allowed, &real) else {
        return Err(refuse(real));
    };
    Ok(Confined {
        written: written.to_owned(),
        lexical,
        root: root.to_owned(),
        real,
    })
}

/// Judges a confined path again and says whether it still leads to the same place.
///
/// # Errors
///
/// [`ConfineError::Moved`] when it does not, and whatever [`confine`] refuses now.
pub fn confine_again(roots: &Roots, before: &Confined, access: Access) -> Result<(), ConfineError> {
    let now = confine(roots, &before.written, access)?;
    if now.real == before.real {
        return Ok(());
    }
    Err(ConfineError::Moved {
        written: before.written.clone(),
        before: before.real.clone(),
        now: now.real,
    })
}

/// Returns the innermost root that holds `path`.
pub fn root_of<'a>(roots: &'a [PathBuf], path: &Path) -> Option<&'a Path> {
    roots
        .iter()
        .filter(|root| path.starts_with(root))
        .max_by_key(|root| root.components().count())
        .map(PathBuf::as_path)
}

fn refuse_strange(written: &str) -> Result<(), ConfineError> {
    if written.is_empty() {
        return Err(ConfineError::Empty);
    }
    if written.contains('\0') {
        return Err(ConfineError::Nul {
            written: written.replace('\0', "␀"),
        });
    }
    let bytes = written.as_bytes();
    let drive = bytes.len() >= 3
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/');
    let share = written.starts_with(r"\\")
        || written.starts_with(r"\??\")
        || (written.starts_with("//") && !written.starts_with("///"));
    if drive || share {
        return Err(ConfineError::Prefix {
            written: written.to_owned(),
        });
    }
    Ok(())
}

fn absolute(roots: &Roots, written: &str) -> PathBuf {
    if written == "~" {
        roots.home.clone()
    } else if let Some(rest) = written.strip_prefix("~/") {
        roots.home.join(rest.trim_start_matches('/'))
    } else {
        roots.cwd.join(written)
    }
}

/// Takes `.` and `..` away without looking at the disk. `..` at the top stays at the top.
fn lexically_normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// A root may be reached under another name (`/var` is `/private/var` on macOS): returns the path under the root.
fn through_root_alias(roots: &[PathBuf], lexical: &Path) -> Option<PathBuf> {
    lexical.ancestors().find_map(|ancestor| {
        let real = ancestor.canonicalize().ok()?;
        let rest = lexical.strip_prefix(ancestor).ok()?;
        roots.contains(&real).then(|| {
            if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            }
        })
    })
}

/// Follows every link of an absolute path the way the system does, and keeps going by words below what is missing.
fn resolve(path: &Path, written: &str) -> Result<PathBuf, ConfineError> {
    let mut todo: Vec<OsString> = owned_components(path);
    let mut real = PathBuf::new();
    let mut links = 0;
    while let Some(name) = todo.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        match next.symlink_metadata() {
            Ok(meta) if meta.file_type().is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(ConfineError::TooManyLinks {
                        written: written.to_owned(),
                        at: next,
                    });
                }
                let target = next
                    .read_link()
                    .map_err(|source| ConfineError::Unresolved {
                        written: written.to_owned(),
                        at: next,
                        source,
                    })?;
                if target.is_absolute() {
                    real = PathBuf::new();
                }
                todo.extend(owned_components(&target));
            }
            Ok(_) => real = next,
            Err(error) if is_missing(&error) => real = next,
            Err(source) => {
                return Err(ConfineError::Unresolved {
                    written: written.to_owned(),
                    at: next,
                    source,
                });
            }
        }
    }
    Ok(real)
}

/// The components in reverse order, so that the next one is popped; `.` left out.
fn owned_components(path: &Path) -> Vec<OsString> {
    let mut parts: Vec<OsString> = path
        .components()
        .filter(|part| !matches!(part, Component::CurDir))
        .map(|part| part.as_os_str().to_owned())
        .collect();
    parts.reverse();
    parts
}

/// A name that is too long for the system cannot exist either; opening it says so.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename
    )
}

fn verb(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "written",
    }
}

fn folder_of(resolved: &Path) -> String {
    let folder = if resolved.is_dir() {
        Some(resolved)
    } else {
        resolved.parent()
    };
    folder.unwrap_or(resolved).display().to_string()
}

/// ` (it leads to …)`, unless that is what was written.
struct Arrow<'a> {
    written: &'a str,
    resolved: &'a Path,
}

impl fmt::Display for Arrow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if Path::new(self.written) == self.resolved {
            return Ok(());
        }
        write!(f, " (it leads to `{}`)", self.resolved.display())
    }
}

struct Folders<'a>(&'a [PathBuf]);

impl fmt::Display for Folders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (index, root) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}`{}`", root.display())?;
        }
        Ok(())
    }
}
