//! The files of the log: which one to write, when the next one begins, which ones go.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::{LogOptions, is_log_file};
use crate::{
    random,
    state_dir::{entries, private_dir, private_file, remove},
};

/// How the time stands in a file's name, so that names sort by it.
const NAME_TIME: &str = "%Y%m%dT%H%M%S%.6f";

/// The file that is written. It is locked for as long as this lives.
pub(super) struct Current {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) began: Timestamp,
    /// Bytes up to the end of the last whole write.
    pub(super) len: u64,
    pub(super) lines: u64,
    /// Whether it ends in the middle of a line.
    pub(super) ends_torn: bool,
}

impl Current {
    /// Says whether `bytes` in `lines` more belong into the next file.
    pub(super) fn is_full(
        &self,
        options: &LogOptions,
        now: Timestamp,
        bytes: u64,
        lines: u64,
    ) -> bool {
        self.len > 0
            && (self.len.saturating_add(bytes) > options.max_bytes
                || self.lines.saturating_add(lines) > options.max_lines
                || now.duration_since(self.began) > options.max_age)
    }
}

/// Opens the newest file that nobody writes and that has room, or a new one; removes those that are too many.
pub(super) fn open(folder: &Path, options: &LogOptions, now: Timestamp) -> io::Result<Current> {
    private_dir(folder)?;
    let newest = entries(folder).into_iter().rfind(|path| is_log_file(path));
    if let Some(current) = newest.and_then(|path| adopt(path, options, now)) {
        return Ok(current);
    }
    begin(folder, options, now)
}

/// Begins a new file and removes those that are too many.
pub(super) fn begin(folder: &Path, options: &LogOptions, now: Timestamp) -> io::Result<Current> {
    private_dir(folder)?;
    let suffix = random::hex()?;
    let name = format!(
        "{}-{}",
        now.strftime(NAME_TIME),
        suffix.get(..8).unwrap_or_default()
    );
    let path = folder.join(format!("{name}.jsonl"));
    // It gets its name when it is locked, so that nobody takes it for one that is not written.
    let temporary = folder.join(format!(".{name}.tmp"));
    let file = private_file(&temporary, OpenOptions::new().append(true))?;
    file.try_lock()?;
    fs::rename(&temporary, &path)?;
    prune(folder, options.keep);
    Ok(Current {
        path,
        file,
        began: now,
        len: 0,
        lines: 0,
        ends_torn: false,
    })
}

/// Goes on with a file that an earlier writer left; nothing when it is written, full or not understood.
fn adopt(path: PathBuf, options: &LogOptions, now: Timestamp) -> Option<Current> {
    let began = began(&path)?;
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .open(&path)
        .ok()?;
    file.try_lock().ok()?;
    // Who prunes holds the lock: it may be gone since it was opened.
    let len = fs::metadata(&path).ok()?.len();
    if len >= options.max_bytes {
        return None;
    }
    let (lines, ends_torn) = count_lines(&mut file).ok()?;
    let current = Current {
        path,
        file,
        began,
        len,
        lines,
        ends_torn,
    };
    (!current.is_full(options, now, 0, 1)).then_some(current)
}

/// Returns the time in a file's name.
fn began(path: &Path) -> Option<Timestamp> {
    let name = path.file_stem()?.to_str()?;
    let (time, _) = name.rsplit_once('-')?;
    let time = jiff::civil::DateTime::strptime(NAME_TIME, time).ok()?;
    jiff::tz::TimeZone::UTC.to_timestamp(time).ok()
}

fn count_lines(file: &mut File) -> io::Result<(u64, bool)> {
    file.seek(SeekFrom::Start(0))?;
    let mut buffer = vec![0; 64 << 10];
    let (mut lines, mut last) = (0, b'\n');
    loop {
        let taken = file.read(&mut buffer)?;
        let Some(read) = buffer.get(..taken).filter(|read| !read.is_empty()) else {
            return Ok((lines, last != b'\n'));
        };
        lines += read.iter().filter(|byte| **byte == b'\n').count() as u64;
        last = read.last().copied().unwrap_or(last);
    }
}

/// Removes the oldest files beyond `keep`, but none that is written.
fn prune(folder: &Path, keep: usize) {
    let files: Vec<PathBuf> = entries(folder)
        .into_iter()
        .filter(|path| is_log_file(path))
        .collect();
    let surplus = files.len().saturating_sub(keep.max(1));
    for path in files.into_iter().take(surplus) {
        let Ok(file) = OpenOptions::new().append(true).open(&path) else {
            continue;
        };
        if file.try_lock().is_ok() {
            drop(remove(&path));
        }
    }
}
