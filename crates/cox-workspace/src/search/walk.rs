//! The walk that both searches share.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Instant,
};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder, WalkState, types::Types};

use super::{Bounds, SearchError};

/// Threads used at most. More do not make a walk faster.
const MAX_THREADS: usize = 12;

/// What came of a walk.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Whether there are files that may not be read.
    pub(super) has_denied: bool,
    /// Whether time ran out.
    pub(super) timed_out: bool,
    /// Folders and files that could not be looked at.
    pub(super) failed: usize,
}

/// Which files are wanted.
#[derive(Default)]
pub(super) struct Narrow {
    pub(super) glob: Option<PathGlob>,
    pub(super) file_type: Option<Types>,
}

impl Narrow {
    fn wants(&self, under: &Path, path: &Path) -> bool {
        let is_type = |types: &Types| !types.matched(path, false).is_ignore();
        self.file_type.as_ref().is_none_or(is_type)
            && self
                .glob
                .as_ref()
                .is_none_or(|glob| glob.matches(under, path))
    }
}

/// Walks files below `under`, which may be a file, and hands each to a visitor made once a thread.
pub(super) fn walk<V>(
    under: &Path,
    narrow: &Narrow,
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
    let walker = walker.build_parallel();
    let failed = AtomicUsize::new(0);
    let (has_denied, timed_out) = (AtomicBool::new(false), AtomicBool::new(false));
    let stopped = AtomicBool::new(false);
    walker.run(|| {
        let mut visit = make_visitor();
        let (failed, stopped) = (&failed, &stopped);
        let (has_denied, timed_out) = (&has_denied, &timed_out);
        Box::new(move |entry| {
            if (bounds.cancelled)() {
                stopped.store(true, Ordering::Relaxed);
                return WalkState::Quit;
            }
            if Instant::now() >= bounds.deadline {
                timed_out.store(true, Ordering::Relaxed);
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
            // Before anything depends on its name: what is said must not tell whether a guess at it was right.
            if !(bounds.may_read)(entry.path()) {
                has_denied.store(true, Ordering::Relaxed);
            } else if narrow.wants(under, entry.path()) {
                visit(&entry);
            }
            WalkState::Continue
        })
    });
    // Also when it was told to stop in the last file.
    if stopped.into_inner() || (bounds.cancelled)() {
        return Err(SearchError::Cancelled);
    }
    Ok(Walked {
        has_denied: has_denied.into_inner(),
        timed_out: timed_out.into_inner(),
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
        let bad = |problem: String| SearchError::Glob {
            glob: glob.to_owned(),
            problem,
        };
        if pattern.split('/').any(|part| part == "..") {
            return Err(bad(
                "`..` leads out of the folder that is searched; give that folder as `path`".into(),
            ));
        }
        let mut pattern = pattern.to_owned();
        if pattern.ends_with('/') {
            pattern.push_str("**");
        }
        let matcher = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| bad(error.kind().to_string()))?
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
