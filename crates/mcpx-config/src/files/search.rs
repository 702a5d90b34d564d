//! Which files are read, nearest first.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::{ConfigError, Place, Surroundings};

/// Names at each level of the walk, in their order.
const AT_LEVEL: [&str; 4] = [
    ".config/mcpx/config.json",
    ".mcpx.json",
    ".mcpx/config.json",
    ".mcp.json",
];

/// Where the configuration of the whole machine is.
const OF_MACHINE: &str = "/etc/mcpx/config.json";

/// Most bytes of a configuration file.
const MAX_BYTES: u64 = 16 << 20;

/// Whose word a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// The person's: in their home directory, their configuration folder, the machine's, or named by them.
    User,
    /// Whoever wrote the project's: found by walking up from the current folder.
    Project,
}

/// A file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// As it was found.
    pub path: PathBuf,
    /// With its links resolved.
    pub resolved: PathBuf,
    /// What relative paths in it are relative to: the folder of the level, not a `.mcpx` in it.
    pub folder: PathBuf,
    /// Whose word it is.
    pub kind: FileKind,
}

/// Where to look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Where {
    /// This file alone.
    pub only: Option<PathBuf>,
    /// These files, and the files in these folders, instead of the walk.
    pub listed: Vec<PathBuf>,
}

/// Finds the files, nearest first, each once: of two paths to one file the first is kept.
///
/// # Errors
///
/// Only for a file that was named and is not there.
pub fn search(surroundings: &Surroundings, place: &Where) -> Result<Vec<Found>, ConfigError> {
    let absolute = |path: &Path| surroundings.cwd.join(path);
    if let Some(only) = &place.only {
        let path = absolute(only);
        if !path.is_file() {
            return Err(ConfigError::new(
                Place::whole_file(&path),
                "there is no such file",
                "the configuration file that `--config` or `MCPX_CONFIG` names",
            ));
        }
        return Ok(found(path.clone(), parent(&path), FileKind::User)
            .into_iter()
            .collect());
    }
    let mut all: Vec<Found> = if place.listed.is_empty() {
        walk(surroundings)
    } else {
        place
            .listed
            .iter()
            .map(|path| absolute(path))
            .flat_map(|path| listed(&path))
            .collect()
    };
    let mut seen = BTreeSet::new();
    all.retain(|file| seen.insert(file.resolved.clone()));
    Ok(all)
}

fn walk(surroundings: &Surroundings) -> Vec<Found> {
    let users = users(surroundings);
    let home = surroundings.home.as_deref().map(resolved);
    let mut all = Vec::new();
    for level in surroundings.cwd.ancestors() {
        let is_home = home.as_ref().is_some_and(|home| *home == resolved(level));
        for name in AT_LEVEL {
            let kind = if is_home {
                FileKind::User
            } else {
                FileKind::Project
            };
            let Some(mut file) = found(level.join(name), level.to_owned(), kind) else {
                continue;
            };
            // A link in a project to the person's own file is still the person's, and leads nothing into the project.
            if let Some(own) = users.iter().find(|own| own.resolved == file.resolved) {
                file.kind = FileKind::User;
                file.folder.clone_from(&own.folder);
            }
            all.push(file);
        }
    }
    all.extend(users);
    all
}

/// The files of the person and the machine.
fn users(surroundings: &Surroundings) -> Vec<Found> {
    let mut paths = Vec::new();
    // The specification of the folders ignores a relative one.
    if let Some(config) = surroundings
        .variable("XDG_CONFIG_HOME")
        .map(Path::new)
        .filter(|path| path.is_absolute())
    {
        paths.push(config.join("mcpx/config.json"));
    }
    if let Some(home) = &surroundings.home {
        paths.push(home.join(".config/mcpx/config.json"));
        paths.push(home.join(".mcpx.json"));
    }
    paths.push(PathBuf::from(OF_MACHINE));
    paths
        .into_iter()
        .filter_map(|path| found(path.clone(), parent(&path), FileKind::User))
        .collect()
}

/// The person's own file, where `--persist user` and `init --global` write; `None` without a home.
#[must_use]
pub fn user_file(surroundings: &Surroundings) -> Option<PathBuf> {
    let folder = surroundings
        .variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(surroundings.home.as_ref()?.join(".config")))?;
    Some(folder.join("mcpx/config.json"))
}

/// The project's file, where `--persist project` writes: the nearest that is there and is ours alone, otherwise
/// `.mcpx.json` in the current folder. `.mcp.json` belongs to other hosts too and is never it.
#[must_use]
pub fn project_file(surroundings: &Surroundings) -> PathBuf {
    walk(surroundings)
        .into_iter()
        .find(|file| {
            file.kind == FileKind::Project
                && file
                    .path
                    .file_name()
                    .is_some_and(|name| name != ".mcp.json")
        })
        .map_or_else(|| surroundings.cwd.join(".mcpx.json"), |file| file.path)
}

fn listed(path: &Path) -> Vec<Found> {
    if !path.is_dir() {
        return found(path.to_owned(), parent(path), FileKind::User)
            .into_iter()
            .collect();
    }
    std::iter::once("config.json")
        .chain(AT_LEVEL)
        .filter_map(|name| found(path.join(name), path.to_owned(), FileKind::User))
        .collect()
}

fn found(path: PathBuf, folder: PathBuf, kind: FileKind) -> Option<Found> {
    path.is_file().then(|| Found {
        resolved: resolved(&path),
        path,
        folder,
        kind,
    })
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("/")).to_owned()
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Reads a file that was found.
pub(crate) fn read(path: &Path) -> Result<String, ConfigError> {
    let problem = |error: std::io::Error| unreadable(path, error.to_string());
    let bytes = std::fs::metadata(path).map_err(problem)?.len();
    if bytes > MAX_BYTES {
        return Err(unreadable(
            path,
            format!("{bytes} bytes, the limit is {MAX_BYTES}"),
        ));
    }
    text(path, std::fs::read(path).map_err(problem)?)
}

/// The text of a file that was read.
pub(crate) fn text(path: &Path, bytes: Vec<u8>) -> Result<String, ConfigError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        unreadable(path, format!("text that is not UTF-8, from byte {at} on"))
    })
}

fn unreadable(path: &Path, found: String) -> ConfigError {
    ConfigError::new(
        Place::whole_file(path),
        found,
        "a file of JSON that can be read",
    )
}

#[cfg(test)]
mod tests;
