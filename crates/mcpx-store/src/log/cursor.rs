//! Reads what a log gained since a place in it.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{is_log_file, line, line::Entry};
use crate::{StateDir, state_dir::entries};

/// Most bytes of one file that are read at once. A line that is longer is none of ours.
pub(super) const MAX_READ_BYTES: usize = 4 << 20;

/// A place in the log: how far each file was read. Can be stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor {
    files: BTreeMap<String, u64>,
}

/// What a log gained.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct News {
    /// By their time.
    pub entries: Vec<Entry>,
    /// Lines that are no records.
    pub skipped: usize,
    /// Whether there may be more right now.
    pub is_more: bool,
}

impl Cursor {
    /// The beginning of what is kept.
    #[must_use]
    pub fn at_start() -> Self {
        Self::default()
    }

    /// The end of what is there now.
    #[must_use]
    pub fn at_end(state: &StateDir) -> Self {
        let files = log_files(state)
            .into_iter()
            .filter_map(|(name, path)| Some((name, path.metadata().ok()?.len())))
            .collect();
        Self { files }
    }

    /// Reads what came since, and moves on. A line that is not whole yet waits for the next time. Files that cannot be
    /// read have no news.
    pub fn read(&mut self, state: &StateDir) -> News {
        let mut news = News::default();
        let files = log_files(state);
        self.files
            .retain(|known, _| files.iter().any(|(name, _)| name == known));
        for (name, path) in files {
            let place = self.files.entry(name).or_default();
            let Ok(part) = read_from(&path, *place) else {
                continue;
            };
            *place = part.end;
            news.is_more |= part.is_more;
            for raw in part.lines() {
                match line::parse(raw) {
                    Some(entry) => news.entries.push(entry),
                    None => news.skipped += 1,
                }
            }
            news.skipped += usize::from(part.is_endless);
        }
        news.entries.sort_by_key(|entry| entry.ts);
        news
    }
}

/// Whole lines of a file.
pub(super) struct Part {
    bytes: Vec<u8>,
    /// The place after them.
    pub(super) end: u64,
    pub(super) is_more: bool,
    /// Whether what was read was one endless line, which is passed over.
    pub(super) is_endless: bool,
}

impl Part {
    /// Returns its lines that are not empty.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.iter().all(u8::is_ascii_whitespace))
    }
}

/// Reads whole lines from a place on, as many as fit; from the start when the file became shorter.
pub(super) fn read_from(path: &Path, place: u64) -> io::Result<Part> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let place = if place > len { 0 } else { place };
    file.seek(SeekFrom::Start(place))?;
    let mut bytes = Vec::new();
    file.take(MAX_READ_BYTES as u64).read_to_end(&mut bytes)?;
    let is_more = bytes.len() == MAX_READ_BYTES;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n');
    let is_endless = is_more && whole.is_none();
    let end = match whole {
        Some(last) => place + last as u64 + 1,
        None if is_endless => place + bytes.len() as u64,
        None => place,
    };
    bytes.truncate(whole.map_or(0, |last| last + 1));
    Ok(Part {
        bytes,
        end,
        is_more,
        is_endless,
    })
}

/// Returns the files of the log by name, oldest first.
pub(super) fn log_files(state: &StateDir) -> Vec<(String, std::path::PathBuf)> {
    entries(&state.logs_dir())
        .into_iter()
        .filter(|path| is_log_file(path))
        .filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), path)))
        .collect()
}
