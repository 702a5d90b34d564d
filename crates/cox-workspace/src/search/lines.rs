//! Lines that match a pattern.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Mutex,
};

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind,
    SinkFinish, SinkMatch,
};

use super::{
    Bounds, SearchError,
    walk::{PathGlob, walk},
};

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
    /// Files that may not be read and were not searched.
    pub hidden: usize,
    /// Files and folders that could not be read.
    pub failed: usize,
    /// Binary files, which are not searched.
    pub binary: usize,
    /// Files searched in part, because a line of theirs (or, across lines, the file) is over [`MAX_HEAP`].
    pub cut: usize,
}

/// Bytes kept of one search: text, and what is known of each row.
const MAX_KEPT: usize = 32 << 20;

/// Bytes that a row takes besides its text.
const ROW: usize = size_of::<Row>();

/// Bytes shown of one line; the rest is counted.
const MAX_LINE: usize = 1000;

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
    let glob = query
        .glob
        .as_deref()
        .filter(|glob| !glob.is_empty())
        .map(PathGlob::new);
    let glob = glob.transpose()?;
    let file_type = query
        .file_type
        .as_deref()
        .filter(|name| !name.is_empty())
        .map(super::file_type::only);
    let file_type = file_type.transpose()?;
    let (matcher, across_lines) = matcher(&query.pattern, query.multiline)?;
    let context = match query.show {
        Show::Lines => query.context,
        Show::Files | Show::Counts => 0,
    };
    let found: Mutex<Found> = Mutex::default();
    let walked = walk(&query.under, glob.as_ref(), file_type, bounds, || {
        let mut searcher = searcher(context, across_lines);
        let matcher = matcher.clone();
        let found = &found;
        move |entry: &ignore::DirEntry| {
            let mut file = InFile {
                show: query.show,
                ..InFile::default()
            };
            let searched = searcher.search_path(&matcher, entry.path(), &mut file);
            if file.is_binary {
                lock(found).binary += 1;
                return;
            }
            match searched {
                Ok(()) => {}
                // What was found before the long line is worth having.
                Err(error) if is_over_limit(&error) => lock(found).cut += 1,
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
    let mut hits = match query.show {
        Show::Lines => render(found, query.max_shown, name),
        Show::Files | Show::Counts => render_files(found, query, name),
    };
    hits.hidden = walked.hidden;
    hits.failed += walked.failed;
    Ok(hits)
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

/// A pattern is searched line by line where that is the same, because it is faster.
fn matcher(pattern: &str, multiline: bool) -> Result<(RegexMatcher, bool), SearchError> {
    let builder = || {
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).dot_matches_new_line(multiline);
        builder
    };
    let bad = |error: grep_regex::Error| SearchError::Pattern {
        pattern: pattern.to_owned(),
        problem: error.to_string().trim().to_owned(),
    };
    if multiline {
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

fn searcher(context: usize, across_lines: bool) -> Searcher {
    SearcherBuilder::new()
        .line_terminator(LineTerminator::byte(b'\n'))
        .line_number(true)
        .multi_line(across_lines)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        // Mapping many small files is slower than reading them, and a file cut meanwhile would be fatal.
        .memory_map(MmapChoice::never())
        .heap_limit(Some(MAX_HEAP))
        .build()
}

#[derive(Default)]
struct Found {
    files: Vec<(PathBuf, InFile)>,
    kept: usize,
    matches: usize,
    not_kept: usize,
    failed: usize,
    binary: usize,
    cut: usize,
}

impl Found {
    fn take(&mut self, path: PathBuf, file: InFile) {
        self.matches += file.matches;
        let size = file.size() + path.as_os_str().len() * (file.rows.len() + 1);
        if self.kept + size > MAX_KEPT {
            self.not_kept += file.matches;
            self.files.push((
                path,
                InFile {
                    matches: file.matches,
                    ..InFile::default()
                },
            ));
        } else {
            self.kept += size;
            self.not_kept += file.not_kept;
            self.files.push((path, file));
        }
    }
}

/// The rows of one file.
#[derive(Default)]
struct InFile {
    show: Show,
    matches: usize,
    not_kept: usize,
    is_binary: bool,
    /// The rows' texts, one after the other.
    text: Vec<u8>,
    rows: Vec<Row>,
}

#[derive(Clone, Copy)]
enum Row {
    Match { line: u64, end: usize },
    Context { line: u64, end: usize },
    Break,
}

impl InFile {
    fn size(&self) -> usize {
        self.text.len() + self.rows.len() * ROW
    }

    fn is_full(&self) -> bool {
        self.size() > MAX_KEPT / 4
    }

    fn push(&mut self, bytes: &[u8]) -> usize {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() <= MAX_LINE {
            self.text.extend_from_slice(line);
        } else {
            let mut cut = MAX_LINE;
            while cut > MAX_LINE - 4 && line[cut] & 0xC0 == 0x80 {
                cut -= 1;
            }
            self.text.extend_from_slice(&line[..cut]);
            self.text
                .extend_from_slice(format!(" … ({} bytes more)", line.len() - cut).as_bytes());
        }
        self.text.len()
    }
}

impl Sink for &mut InFile {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let first = found.line_number().unwrap_or(0);
        for (nth, line) in found.lines().enumerate() {
            self.matches += 1;
            match self.show {
                Show::Lines => {}
                // One match is all that is asked for.
                Show::Files => return Ok(false),
                Show::Counts => continue,
            }
            if self.is_full() {
                self.not_kept += 1;
                continue;
            }
            let end = self.push(line);
            self.rows.push(Row::Match {
                line: first + nth as u64,
                end,
            });
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        debug_assert!(!matches!(context.kind(), SinkContextKind::Other));
        if !self.is_full() {
            let end = self.push(context.bytes());
            self.rows.push(Row::Context {
                line: context.line_number().unwrap_or(0),
                end,
            });
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if !self.is_full() {
            self.rows.push(Row::Break);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn render(mut found: Found, max_shown: usize, name: &dyn Fn(&Path) -> String) -> LineHits {
    found.files.sort_by(|a, b| a.0.cmp(&b.0));
    let mut all = String::new();
    let mut shown_end = None;
    let mut written = 0;
    let groups = found.files.iter().any(|(_, file)| {
        file.rows
            .iter()
            .any(|row| !matches!(row, Row::Match { .. }))
    });
    for (index, (path, file)) in found.files.iter().enumerate() {
        if groups && index > 0 && !file.rows.is_empty() {
            all.push_str("--\n");
        }
        let path = name(path);
        let mut from = 0;
        for row in &file.rows {
            let (mark, line, end) = match *row {
                Row::Match { line, end } => {
                    if written == max_shown && shown_end.is_none() {
                        shown_end = Some(all.len());
                    }
                    written += 1;
                    (':', line, end)
                }
                Row::Context { line, end } => ('-', line, end),
                Row::Break => {
                    all.push_str("--\n");
                    continue;
                }
            };
            let text = String::from_utf8_lossy(&file.text[from..end]);
            all.push_str(&path);
            all.push(mark);
            all.push_str(&line.to_string());
            all.push(mark);
            all.push_str(&text);
            all.push('\n');
            from = end;
        }
    }
    let mut hits = LineHits {
        matches: found.matches,
        files: found.files.len(),
        not_kept: found.not_kept,
        failed: found.failed,
        binary: found.binary,
        cut: found.cut,
        shown_matches: written.min(max_shown),
        ..LineHits::default()
    };
    match shown_end {
        Some(end) => {
            let shown = all[..end].trim_end_matches("--\n");
            hits.shown = shown.to_owned();
            hits.all = Some(all);
        }
        None => hits.shown = all,
    }
    hits
}

/// The files, without their lines.
fn render_files(mut found: Found, query: &LineQuery, name: &dyn Fn(&Path) -> String) -> LineHits {
    found.files.sort_by(|a, b| a.0.cmp(&b.0));
    let mut all = String::new();
    let mut shown_end = 0;
    let mut shown_matches = 0;
    for (index, (path, file)) in found.files.iter().enumerate() {
        all.push_str(&name(path));
        if query.show == Show::Counts {
            all.push_str(&format!(":{}", file.matches));
        }
        all.push('\n');
        if index < query.max_shown {
            shown_end = all.len();
            shown_matches += file.matches;
        }
    }
    let is_whole = shown_end == all.len();
    LineHits {
        shown: all[..shown_end].to_owned(),
        all: (!is_whole).then_some(all),
        matches: found.matches,
        shown_matches,
        files: found.files.len(),
        failed: found.failed,
        binary: found.binary,
        cut: found.cut,
        ..LineHits::default()
    }
}
