//! The walk that both searches share.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder, WalkState, types::Types};

use super::{Bounds, SearchError};

/// Threads used at most. More do not make a walk faster.
const MAX_THREADS: usize = 12;

/// What came of a walk.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Files that may not be read.
    pub(super) hidden: usize,
    /// Folders and files that could not be looked at.
    pub(super) failed: usize,
}

/// Walks files below `under`, which may be a file, and hands each to a visitor made once a thread.
pub(super) fn walk<V>(
    under: &Path,
    glob: Option<&PathGlob>,
    file_type: Option<Types>,
    bounds: &Bounds<'_>,
    make_visitor: impl Fn() -> V + Sync,
) -> Result<Walked, SearchError>
where
    V: FnMut(&DirEntry) + Send,
{
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MAX_THREADS);
    let mut walker = WalkBuilder::new(under);
    walker
        .hidden(false)
        .parents(true)
        .ignore(true)
        .git_ignore(true)
        .git_exclude(true)
        // A person's global excludes would make results differ from machine to machine.
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .threads(threads)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    if let Some(types) = file_type {
        walker.types(types);
    }
    let walker = walker.build_parallel();
    let (hidden, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let stopped = AtomicBool::new(false);
    walker.run(|| {
        let mut visit = make_visitor();
        let (hidden, failed, stopped) = (&hidden, &failed, &stopped);
        Box::new(move |entry| {
            if (bounds.cancelled)() {
                stopped.store(true, Ordering::Relaxed);
                return WalkState::Quit;
            }
            let Ok(entry) = entry else {
                failed.fetch_add(1, Ordering::Relaxed);
                return WalkState::Continue;
            };
            // Links are not followed, FIFOs and devices never opened.
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                return WalkState::Continue;
            }
            if glob.is_some_and(|glob| !glob.matches(under, entry.path())) {
                return WalkState::Continue;
            }
            if (bounds.may_read)(entry.path()) {
                visit(&entry);
            } else {
                hidden.fetch_add(1, Ordering::Relaxed);
            }
            WalkState::Continue
        })
    });
    if stopped.into_inner() {
        return Err(SearchError::Cancelled);
    }
    Ok(Walked {
        hidden: hidden.into_inner(),
        failed: failed.into_inner(),
    })
}

/// A glob over the names of files, or over their paths when it has a `/`; after a `!`, all others.
pub(super) struct PathGlob {
    matcher: GlobMatcher,
    whole_path: bool,
    absolute: bool,
    is_negated: bool,
}

impl PathGlob {
    pub(super) fn new(glob: &str) -> Result<Self, SearchError> {
        let (is_negated, pattern) = match glob.strip_prefix('!') {
            Some(pattern) => (true, pattern),
            None => (false, glob),
        };
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let matcher = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| SearchError::Glob {
                glob: glob.to_owned(),
                problem: error.kind().to_string(),
            })?
            .compile_matcher();
        Ok(Self {
            matcher,
            whole_path: pattern.contains('/'),
            absolute: pattern.starts_with('/'),
            is_negated,
        })
    }

    pub(super) fn matches(&self, under: &Path, path: &Path) -> bool {
        self.fits(under, path) != self.is_negated
    }

    fn fits(&self, under: &Path, path: &Path) -> bool {
        if self.absolute {
            return self.matcher.is_match(path);
        }
        if !self.whole_path {
            return path
                .file_name()
                .is_some_and(|name| self.matcher.is_match(Path::new(name)));
        }
        path.strip_prefix(under)
            .is_ok_and(|inside| self.matcher.is_match(inside))
    }
}
