//! What was found, row by row: how much of it is kept, and how it is written down.

use std::{
    io,
    path::{Path, PathBuf},
};

use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::{LineHits, LineQuery, Show};

/// Bytes kept of one search: text, and what is known of each row.
const MAX_KEPT: usize = 32 << 20;

/// Bytes that a row takes besides its text.
const ROW: usize = size_of::<Row>();

/// Bytes shown of one line; the rest is counted.
const MAX_LINE: usize = 1000;

#[derive(Default)]
pub(super) struct Found {
    pub(super) files: Vec<(PathBuf, InFile)>,
    pub(super) kept: usize,
    pub(super) matches: usize,
    pub(super) not_kept: usize,
    pub(super) failed: usize,
    pub(super) binary: usize,
    pub(super) cut: usize,
    /// Files that were not searched to their end, for want of time.
    pub(super) stopped: usize,
}

impl Found {
    pub(super) fn take(&mut self, path: PathBuf, file: InFile) {
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
pub(super) struct InFile {
    show: Show,
    pub(super) matches: usize,
    not_kept: usize,
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
    pub(super) fn new(show: Show) -> Self {
        Self {
            show,
            ..Self::default()
        }
    }

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
}

/// The rows of lines, sorted by path.
pub(super) fn render(
    mut found: Found,
    max_shown: usize,
    name: &dyn Fn(&Path) -> String,
) -> LineHits {
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
            let text = String::from_utf8_lossy(&file.text[from..end]).replace('\0', "\u{2400}");
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
pub(super) fn render_files(
    mut found: Found,
    query: &LineQuery,
    name: &dyn Fn(&Path) -> String,
) -> LineHits {
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
