//! The file system as a confined command sees it: which path is what, outer paths first.
//!
//! Computed once per command from the policy and what exists, and held by whichever backend can mount.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    Mode, Policy,
    mountpoint::is_mount_point,
    protected::{Way, git_folders},
};

/// What a path is inside. Ordered: where two meet on one path, the later one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Place {
    /// As outside, writable.
    Writable,
    /// As outside, not writable.
    ReadOnly,
    /// Does not exist outside and cannot come to exist: an empty folder that cannot be written.
    Blocked,
    /// A link that nothing can take the place of.
    Link,
    /// An empty private folder.
    Fresh,
    /// A file that cannot be read.
    HiddenFile,
    /// A folder that cannot be entered.
    HiddenFolder,
    /// A folder that cannot be listed, on the way to something that is not hidden.
    HiddenPassage,
}

/// Every path that is not simply readable, in an order in which they can be mounted. Paths are real.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct View {
    /// Each path once; a folder before what lies in it.
    pub(crate) places: Vec<(PathBuf, Place)>,
}

/// Folders that are private to each command.
pub(crate) const FRESH: [&str; 2] = ["/tmp", "/run"];

/// What stays visible of `/run`: nothing with a socket of an agent, a container engine or a bus in it.
const KEPT_OF_RUN: [&str; 3] = [
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
];

/// What names the resolver; often a link into `/run`.
const RESOLVER: &str = "/etc/resolv.conf";

impl View {
    /// Computes the view. `visible` must be seen although it may lie in a folder that is private: the working
    /// directory and the programs of the wrap.
    pub(crate) fn new(policy: &Policy, cwd: &Path, visible: &[&Path]) -> Self {
        let mut places: BTreeMap<PathBuf, Place> = BTreeMap::new();
        let mut put = |path: PathBuf, place: Place| {
            places
                .entry(path)
                .and_modify(|old| *old = place.max(*old))
                .or_insert(place);
        };
        let roots: Vec<PathBuf> = real(&policy.writable)
            .filter(|path| path != Path::new("/"))
            .collect();
        let is_writable = policy.mode == Mode::WorkspaceWrite;
        for root in &roots {
            if is_writable {
                put(root.clone(), Place::Writable);
            } else {
                put(root.clone(), Place::ReadOnly);
            }
        }
        let visible: Vec<PathBuf> = visible
            .iter()
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        let hidden: Vec<PathBuf> = real(&policy.hidden).collect();
        let around = |path: &Path| hidden.iter().any(|folder| path.starts_with(folder));
        for path in visible.iter().cloned().chain(cwd.canonicalize().ok()) {
            let is_covered = FRESH
                .iter()
                .any(|fresh| path.starts_with(fresh) && path != Path::new(fresh))
                || visible.contains(&path) && around(&path);
            if is_covered && !roots.iter().any(|root| path.starts_with(root)) {
                put(path, Place::ReadOnly);
            }
        }
        let resolver = Path::new(RESOLVER).canonicalize().ok();
        let kept = KEPT_OF_RUN
            .iter()
            .map(PathBuf::from)
            .filter(|path| path.exists());
        for kept in kept.chain(resolver.filter(|path| path.starts_with("/run"))) {
            put(kept, Place::ReadOnly);
        }
        if is_writable {
            for (path, place) in protected(policy).iter().flat_map(|path| held(path)) {
                let inside = |root: &&PathBuf| path.starts_with(root) && path != **root;
                let Some(root) = roots
                    .iter()
                    .filter(inside)
                    .max_by_key(|root| root.components().count())
                else {
                    continue;
                };
                // A folder on the way could be renamed, and another put in its place: as a mount it cannot.
                for around in path.ancestors().skip(1).take_while(|around| around != root) {
                    put(around.to_owned(), Place::Writable);
                }
                put(path, place);
            }
        }
        for path in &hidden {
            if !path.is_dir() {
                put(path.clone(), Place::HiddenFile);
            } else if roots
                .iter()
                .chain(&visible)
                .any(|kept| kept.starts_with(path) && kept != path)
            {
                put(path.clone(), Place::HiddenPassage);
            } else {
                put(path.clone(), Place::HiddenFolder);
            }
        }
        for fresh in FRESH
            .iter()
            .map(Path::new)
            .filter(|path| path.is_dir() && !path.is_symlink())
        {
            put(fresh.to_owned(), Place::Fresh);
        }
        let places = places.into_iter().collect::<Vec<_>>();
        Self {
            places: places
                .iter()
                .filter(|place| !is_moot(place, &places))
                .cloned()
                .collect(),
        }
    }

    /// Returns the paths that are of this kind.
    pub(crate) fn of(&self, wanted: Place) -> impl Iterator<Item = &Path> {
        self.places
            .iter()
            .filter(move |(_, place)| *place == wanted)
            .map(|(path, _)| path.as_path())
    }
}

/// Whether a place needs nothing because what lies around it already decides: something to hide where nothing is seen.
fn is_moot((path, place): &(PathBuf, Place), places: &[(PathBuf, Place)]) -> bool {
    let around = places
        .iter()
        .filter(|(outer, _)| path.starts_with(outer) && outer != path)
        .max_by_key(|(outer, _)| outer.components().count());
    match around.map(|(_, place)| place) {
        Some(Place::Fresh) => *place >= Place::HiddenFile,
        Some(Place::HiddenFolder | Place::Blocked) => *place != Place::Writable,
        Some(Place::HiddenPassage) => !matches!(place, Place::Writable | Place::ReadOnly),
        _ => false,
    }
}

/// Returns everything that stays read-only: what the policy names and where its `.git` pointers lead.
fn protected(policy: &Policy) -> Vec<PathBuf> {
    let mut paths = policy.read_only_within.clone();
    for pointer in policy
        .read_only_within
        .iter()
        .filter(|path| path.ends_with(".git"))
    {
        paths.extend(git_folders(pointer));
    }
    paths
}

/// Returns what has to be kept so that a path leads where it leads now: each link on its way, and its end.
fn held(path: &Path) -> Vec<(PathBuf, Place)> {
    let way = Way::of(path);
    let end = if is_mount_point(&way.end) {
        // Another command, perhaps of another program, has blocked it: it must stay blocked for this one.
        Some((way.end, Place::Blocked))
    } else if way.end.exists() {
        Some((way.end, Place::ReadOnly))
    } else if way.links.is_empty() {
        // Where not even its folder exists, nothing can be mounted.
        let has_folder = way.end.parent().is_some_and(Path::is_dir);
        has_folder.then_some((way.end, Place::Blocked))
    } else {
        // A link to nowhere: what could come to exist there is blocked where it would begin.
        let missing = way.end.ancestors().take_while(|path| !path.exists()).last();
        missing.map(|path| (path.to_owned(), Place::Blocked))
    };
    let links = way.links.into_iter().map(|link| (link, Place::Link));
    links.chain(end).collect()
}

fn real(paths: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    paths.iter().filter_map(|path| path.canonicalize().ok())
}
