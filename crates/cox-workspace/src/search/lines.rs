//! Lines that match a pattern.

mod rows;

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Mutex,
};

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};

use self::rows::{Found, InFile, render, render_files};
use super::{
    Bounds, SearchError,
    walk::{Narrow, PathGlob, walk},
    watched::{Watched, open},
};
use crate::file::{Encoding, HEAD_BYTES};

/// What to look for.
#[derive(Clone, Debug)]
pub struct LineQuery {
    /// A regular expression in Rust's syntax. One that names a line break searches across lines.
    pub pattern: String,
    /// The folder or file to look in, by its real path.
    pub under: PathBuf,
    /// Only files whose name (or, with a `/`, path below `under`) fits.
    pub glob: Option<String>,
    /// Lines of context on both sides.
    pub context: usize,
    /// Matching lines in the short text; rows of it for [`Show::Files`] and [`Show::Counts`].
    pub max_shown: usize,
    /// Only files of this type, such as `rust`.
    pub file_type: Option<String>,
    /// Whether the pattern is searched across lines and `.` matches line breaks too.
    pub multiline: bool,
    /// What a row is.
    pub show: Show,
}

/// What a row of the result is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// A line that matches.
    #[default]
    Lines,
    /// A file with a match.
    Files,
    /// A file with a match, and how many of its lines do.
    Counts,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineHits {
    /// `path:line:text`, context as `path-line-text`, `--` between groups; sorted by path; at most `max_shown` matches.
    pub shown: String,
    /// The same with every match; `None` when `shown` has them all.
    pub all: Option<String>,
    /// Matching lines, all of them.
    pub matches: usize,
    /// Matching lines in `shown`.
    pub shown_matches: usize,
    /// Files with a match.
    pub files: usize,
    /// Matches that are in no text, because the text would be too long.
    pub not_kept: usize,
    /// Whether there are files below that may not be read. Does not depend on what is looked for, so that nobody can guess
    /// their names by it.
    pub has_denied: bool,
    /// Whether time ran out: not every file was searched, or not to its end.
    pub timed_out: bool,
    /// Files and folders that could not be read.
    pub failed: usize,
    /// Binary files, which are not searched.
    pub binary: usize,
    /// Files searched in part, because a line of theirs (or, across lines, the file) is over [`MAX_HEAP`].
    pub cut: usize,
}

/// Bytes that a pattern may take, compiled.
const MAX_PATTERN: usize = 16 << 20;

/// Bytes of states that a pattern may gather on each thread while it runs.
const MAX_STATES: usize = 32 << 20;

/// Bytes that one line may take in memory on each thread; a file with a longer one is not searched to its end.
pub const MAX_HEAP: usize = 64 << 20;

/// Searches files for lines.
///
/// `name` turns a real path into the one to print.
///
/// # Errors
///
/// [`SearchError`] for a pattern or glob that cannot be read, or a search that was stopped.
pub fn search_lines(
    query: &LineQuery,
    name: &(dyn Fn(&Path) -> String + Sync),
    bounds: &Bounds<'_>,
) -> Result<LineHits, SearchError> {
    let narrow = Narrow {
        glob: given(query.glob.as_deref())
            .map(PathGlob::new)
            .transpose()?,
        file_type: given(query.file_type.as_deref())
            .map(super::file_type::only)
            .transpose()?,
    };
    let (matcher, across_lines) = matcher(&query.pattern, query.multiline)?;
    let context = match query.show {
        Show::Lines => query.context,
        Show::Files | Show::Counts => 0,
    };
    let found: Mutex<Found> = Mutex::default();
    let walked = walk(&query.under, &narrow, bounds, || {
        let mut searcher = searcher(context, across_lines);
        let mut head = Vec::new();
        let matcher = Watched::new(matcher.clone(), bounds);
        let found = &found;
        move |entry: &ignore::DirEntry| {
            let mut file = InFile::new(query.show);
            let searched = open(entry.path()).and_then(|mut opened| {
                head.clear();
                (&mut opened)
                    .take(HEAD_BYTES as u64)
                    .read_to_end(&mut head)?;
                if is_binary(&head) {
                    return Ok(false);
                }
                let watched = Watched::new(head.as_slice().chain(opened), bounds);
                searcher.search_reader(&matcher, watched, &mut file)?;
                Ok(true)
            });
            match searched {
                Ok(true) => {}
                Ok(false) => lock(found).binary += 1,
                // What was found before the long line, or before the end of the time, is worth having.
                Err(error) if is_over_limit(&error) => lock(found).cut += 1,
                Err(_) if matcher.stopped.replace(false) || bounds.says_stop() => {
                    lock(found).stopped += 1;
                }
                Err(_) => {
                    lock(found).failed += 1;
                    return;
                }
            }
            if file.matches > 0 {
                lock(found).take(entry.path().to_owned(), file);
            }
        }
    })?;
    let found = found
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let timed_out = walked.timed_out || found.stopped > 0;
    let mut hits = match query.show {
        Show::Lines => render(found, query.max_shown, name),
        Show::Files | Show::Counts => render_files(found, query, name),
    };
    hits.has_denied = walked.has_denied;
    hits.timed_out = timed_out;
    hits.failed += walked.failed;
    Ok(hits)
}

/// Says whether a file is not text, by its beginning, as reading one does.
fn is_binary(head: &[u8]) -> bool {
    head.contains(&0) && Encoding::by_mark(head).is_none()
}

/// Says whether a search failed because a line does not fit into the memory it may take. The searcher has no kind for it.
fn is_over_limit(error: &io::Error) -> bool {
    error.to_string().contains("allocation limit")
}

fn lock(found: &Mutex<Found>) -> std::sync::MutexGuard<'_, Found> {
    found
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// A pattern is searched line by line where that is the same, because it is faster.
fn matcher(pattern: &str, multiline: bool) -> Result<(RegexMatcher, bool), SearchError> {
    let builder = || {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .dot_matches_new_line(multiline)
            .size_limit(MAX_PATTERN)
            .dfa_size_limit(MAX_STATES);
        builder
    };
    let bad = |error: grep_regex::Error| {
        let problem = error.to_string();
        if problem.contains("size limit") {
            return SearchError::LargePattern {
                pattern: pattern.to_owned(),
            };
        }
        SearchError::Pattern {
            pattern: pattern.to_owned(),
            problem: in_words_of(pattern, problem.trim()),
        }
    };
    // What is wrong is told in terms of the pattern as it was written.
    builder().build(pattern).map_err(bad)?;
    let pattern = &dollar_before_crlf(pattern);
    if multiline || dot_crosses_lines(pattern) {
        let across = builder().build(pattern).map_err(bad)?;
        return Ok((across, true));
    }
    let by_line = builder().line_terminator(Some(b'\n')).build(pattern);
    match by_line {
        Ok(matcher) => Ok((matcher, false)),
        Err(error) if matches!(error.kind(), grep_regex::ErrorKind::NotAllowed(_)) => builder()
            .build(pattern)
            .map(|matcher| (matcher, true))
            .map_err(bad),
        Err(error) => Err(bad(error)),
    }
}

/// Takes out the group that the pattern is wrapped in on its way to the parser, with the columns that it takes.
fn in_words_of(pattern: &str, problem: &str) -> String {
    let wrapped = format!("    (?:{pattern})");
    if !problem.lines().any(|line| line == wrapped) {
        return problem.to_owned();
    }
    let lines = problem.lines().map(|line| match line {
        _ if line == wrapped => format!("    {pattern}"),
        _ if line.trim_start().starts_with('^') && line.starts_with("       ") => {
            line[3..].to_owned()
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Says whether a pattern itself turns on that `.` matches line breaks, as in `(?s)`.
fn dot_crosses_lines(pattern: &str) -> bool {
    pattern.split("(?").skip(1).any(|flags| {
        let on = flags.split(['-', ')', ':']).next().unwrap_or_default();
        on.contains('s') && on.chars().all(|flag| "imsRUux".contains(flag))
    })
}

/// Lets `$` fit before CR LF too, unless the pattern deals with CR itself.
fn dollar_before_crlf(pattern: &str) -> String {
    if pattern.contains('$') && !pattern.contains(r"\r") && !pattern.contains('\r') {
        format!("(?R){pattern}")
    } else {
        pattern.to_owned()
    }
}

fn searcher(context: usize, across_lines: bool) -> Searcher {
    SearcherBuilder::new()
        .line_terminator(LineTerminator::byte(b'\n'))
        .line_number(true)
        .multi_line(across_lines)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::none())
        // Mapping many small files is slower than reading them, and a file cut meanwhile would be fatal.
        .memory_map(MmapChoice::never())
        .heap_limit(Some(MAX_HEAP))
        .build()
}
