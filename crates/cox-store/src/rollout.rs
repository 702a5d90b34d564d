//! The rollout: every event of a session as one line of JSON, `{"v":1,"seq":N,"ts":"…","event":{…}}`.
//!
//! Append-only, with one writer at a time held by a file lock. Reading never fails for the sake of a line: what cannot
//! be understood is skipped and named. The rollout is the truth; the index is made from it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

use cox_protocol::{Event, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    Clock, Home, StoreError,
    home::{private_dir, private_file},
};

/// Most numbers that lost lines can have left out in one place. A greater leap is a damaged number, and following it would
/// make every later line one of the past.
const MAX_LEAP: u64 = 1_000_000;

/// Version of the lines that this program writes, and the newest it reads.
const VERSION: u64 = 1;

/// The open rollout of a session; the only writer while it lives.
pub struct Rollout {
    session: SessionId,
    path: PathBuf,
    /// Opened for appending and locked; closing it gives the lock back.
    file: File,
    clock: Clock,
    next_seq: u64,
    /// Bytes up to the end of the last whole line.
    len: u64,
    /// Whether the file ends in the middle of a line, so that the next one must begin with a line break.
    ends_torn: bool,
    /// Whether the folder's entry for the file has been synced.
    is_entry_synced: bool,
}

/// One stored event.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Position, from 1, growing; gaps are possible after a skipped line.
    pub seq: u64,
    /// When it was written.
    pub ts: jiff::Timestamp,
    /// The event.
    pub event: Event,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// 1-based line number.
    pub line: usize,
    /// Why: torn, doubled, not JSON, of a newer version.
    pub why: String,
}

/// A rollout as read back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    /// Its events in order.
    pub events: Vec<Stored>,
    /// The lines that could not be read.
    pub skipped: Vec<Skipped>,
}

impl Rollout {
    /// Starts the rollout of a new session.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the home directory cannot be written, or when the session exists.
    pub fn create(home: &Home, session: SessionId, clock: Clock) -> Result<Self, StoreError> {
        private_dir(&home.sessions_dir())?;
        let path = home.rollout_path(session);
        let file = private_file(&path, OpenOptions::new().append(true))
            .map_err(|error| StoreError::io("create", &path, error))?;
        lock(&file, session, &path)?;
        Ok(Self {
            session,
            path,
            file,
            clock,
            next_seq: 1,
            len: 0,
            ends_torn: false,
            is_entry_synced: false,
        })
    }

    /// Opens the rollout of an earlier session for writing, and reads it.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when there is no such session, [`StoreError::Locked`] while another process has it open.
    pub fn resume(
        home: &Home,
        session: SessionId,
        clock: Clock,
    ) -> Result<(Self, Replay), StoreError> {
        let path = home.rollout_path(session);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(&path)
            .map_err(|error| not_found_or(session, &path, error))?;
        lock(&file, session, &path)?;
        let read = read_from(BufReader::new(&file))
            .map_err(|error| StoreError::io("read", &path, error))?;
        let rollout = Self {
            session,
            path,
            file,
            clock,
            next_seq: read.last_seq + 1,
            len: read.bytes,
            ends_torn: read.ends_torn,
            is_entry_synced: false,
        };
        Ok((rollout, read.replay))
    }

    /// Returns the session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an event with one write; when it returns, a killed process loses it no more. Returns its `seq`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the disk is full or may not be written. No half line stays behind where the system
    /// allows that; where it does not, the next line still begins on a line of its own.
    pub fn append(&mut self, event: &Event) -> Result<u64, StoreError> {
        let seq = self.next_seq;
        let line = to_line(seq, (self.clock)(), event, self.ends_torn)
            .map_err(|error| StoreError::io("write", &self.path, error))?;
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            let is_clean = self.file.set_len(self.len).is_ok();
            self.ends_torn |= !is_clean;
            return Err(StoreError::io("write", &self.path, error));
        }
        self.next_seq += 1;
        self.len += line.len() as u64;
        self.ends_torn = false;
        Ok(seq)
    }

    /// Makes what was appended survive a power cut.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the disk reports a failure.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.file
            .sync_data()
            .map_err(|error| StoreError::io("sync", &self.path, error))?;
        if !self.is_entry_synced {
            self.is_entry_synced = true;
            // Some file systems cannot sync a folder; the file itself is safe by then.
            if let Some(Ok(folder)) = self.path.parent().map(File::open) {
                drop(folder.sync_data());
            }
        }
        Ok(())
    }

    /// Reads a rollout without opening it for writing.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when there is no such session, [`StoreError::Io`] when its file cannot be read.
    pub fn read(home: &Home, session: SessionId) -> Result<Replay, StoreError> {
        let path = home.rollout_path(session);
        let file = File::open(&path).map_err(|error| not_found_or(session, &path, error))?;
        read_from(BufReader::new(file))
            .map(|read| read.replay)
            .map_err(|error| StoreError::io("read", &path, error))
    }
}

/// Returns every session that has a rollout, newest first. A home that does not exist has none.
///
/// # Errors
///
/// [`StoreError::Io`] when the folder cannot be read.
pub fn list_ids(home: &Home) -> Result<Vec<SessionId>, StoreError> {
    let folder = home.sessions_dir();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("read", &folder, error)),
    };
    let mut ids: Vec<SessionId> = entries
        .filter_map(|entry| {
            entry
                .ok()?
                .file_name()
                .to_str()?
                .strip_suffix(".jsonl")?
                .parse()
                .ok()
        })
        .collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    Ok(ids)
}

/// Returns the session last written to among those that began in `cwd`. Reads only first lines.
///
/// # Errors
///
/// [`StoreError::Io`] when the folder of the sessions cannot be read; a session that cannot be read is passed over.
pub fn latest_for(home: &Home, cwd: &Path) -> Result<Option<SessionId>, StoreError> {
    let mut by_use: Vec<_> = list_ids(home)?
        .into_iter()
        .filter_map(|id| {
            Some((
                fs::metadata(home.rollout_path(id)).ok()?.modified().ok()?,
                id,
            ))
        })
        .collect();
    by_use.sort_unstable_by(|a, b| b.cmp(a));
    let found = by_use.into_iter().find(|(_, id)| {
        first_cwd(&home.rollout_path(*id)).is_some_and(|begun_in| Path::new(&begun_in) == cwd)
    });
    Ok(found.map(|(_, id)| id))
}

fn first_cwd(path: &Path) -> Option<String> {
    let mut line = Vec::new();
    // It is the first line, some hundred bytes long; where that is damaged, a later process of the session said it again.
    let start = io::Read::take(File::open(path).ok()?, 1024 * 1024);
    let mut start = BufReader::new(start);
    while start.read_until(b'\n', &mut line).ok()? > 0 {
        if let Line::Event(Stored {
            event: Event::SessionStarted { cwd, .. },
            ..
        }) = from_line(&line)
        {
            return Some(cwd);
        }
        line.clear();
    }
    None
}

#[derive(Serialize)]
struct LineOut<'a> {
    v: u64,
    seq: u64,
    ts: String,
    event: &'a Event,
}

#[derive(Deserialize)]
struct LineIn<'a> {
    v: u64,
    seq: u64,
    ts: String,
    #[serde(borrow)]
    event: &'a RawValue,
}

/// The part of a line that every version shares.
#[derive(Deserialize)]
struct AnyVersion {
    v: u64,
    #[serde(default)]
    seq: u64,
}

/// Says whether an event may have this number when the one before it had `last`.
pub(crate) fn may_follow(last: u64, seq: u64) -> bool {
    seq <= last.saturating_add(MAX_LEAP)
}

/// What a line turned out to be.
#[expect(clippy::large_enum_variant, reason = "lives for one step of a loop")]
pub(crate) enum Line {
    Event(Stored),
    /// Understood so far that its number is known (0 when not), but not its event.
    Foreign {
        seq: u64,
        why: String,
    },
    Unreadable {
        why: String,
    },
}

fn to_line(
    seq: u64,
    ts: jiff::Timestamp,
    event: &Event,
    begins_with_break: bool,
) -> Result<String, io::Error> {
    let out = LineOut {
        v: VERSION,
        seq,
        ts: format!("{ts:.3}"),
        event,
    };
    let mut line = serde_json::to_string(&out)?;
    // In JSON they stand only inside strings; some readers of lines take them for line breaks.
    if line.contains(['\u{2028}', '\u{2029}']) {
        line = line
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029");
    }
    if begins_with_break {
        line.insert(0, '\n');
    }
    line.push('\n');
    Ok(line)
}

/// Reads one line, with or without its line break.
pub(crate) fn from_line(line: &[u8]) -> Line {
    let parsed: LineIn<'_> = match serde_json::from_slice(line) {
        Ok(parsed) => parsed,
        Err(error) => return not_of_this_version(line, &error),
    };
    let seq = parsed.seq;
    let foreign = |why| Line::Foreign { seq, why };
    if parsed.v != VERSION {
        return foreign(of_version(parsed.v));
    }
    let Ok(ts) = parsed.ts.parse() else {
        return foreign(format!("`{}` is not a time", parsed.ts));
    };
    match serde_json::from_str(parsed.event.get()) {
        Ok(event) => Line::Event(Stored { seq, ts, event }),
        Err(error) => foreign(format!("an event this version does not know: {error}")),
    }
}

fn not_of_this_version(line: &[u8], error: &serde_json::Error) -> Line {
    match serde_json::from_slice::<AnyVersion>(line) {
        Ok(any) if any.v != VERSION => Line::Foreign {
            seq: any.seq,
            why: of_version(any.v),
        },
        _ if error.is_eof() => Line::Unreadable {
            why: "torn".to_owned(),
        },
        _ => Line::Unreadable {
            why: format!("not a line of a rollout: {error}"),
        },
    }
}

fn of_version(version: u64) -> String {
    format!("written in version {version} of the format, this cox reads version {VERSION}")
}

struct Read {
    replay: Replay,
    last_seq: u64,
    bytes: u64,
    ends_torn: bool,
}

fn read_from(mut reader: impl BufRead) -> io::Result<Read> {
    let mut read = Read {
        replay: Replay::default(),
        last_seq: 0,
        bytes: 0,
        ends_torn: false,
    };
    let mut raw = Vec::new();
    for line in 1.. {
        raw.clear();
        let taken = reader.read_until(b'\n', &mut raw)?;
        if taken == 0 {
            break;
        }
        read.bytes += taken as u64;
        read.ends_torn = raw.last() != Some(&b'\n');
        if raw.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let why = match from_line(&raw) {
            Line::Event(Stored { seq, .. }) | Line::Foreign { seq, .. }
                if !may_follow(read.last_seq, seq) =>
            {
                format!("its number {seq} cannot follow {}", read.last_seq)
            }
            Line::Event(stored) if stored.seq > read.last_seq => {
                read.last_seq = stored.seq;
                read.replay.events.push(stored);
                continue;
            }
            Line::Event(stored) => {
                let earlier = &read.replay.events;
                match earlier.binary_search_by_key(&stored.seq, |event| event.seq) {
                    Ok(at) if earlier[at] == stored => format!("doubled: event {}", stored.seq),
                    _ => format!("out of order: event {} after {}", stored.seq, read.last_seq),
                }
            }
            Line::Foreign { seq, why } => {
                read.last_seq = read.last_seq.max(seq);
                why
            }
            Line::Unreadable { why } => why,
        };
        read.replay.skipped.push(Skipped { line, why });
    }
    Ok(read)
}

fn lock(file: &File, session: SessionId, path: &Path) -> Result<(), StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(fs::TryLockError::WouldBlock) => Err(StoreError::Locked { session }),
        Err(fs::TryLockError::Error(error)) => Err(StoreError::io("lock", path, error)),
    }
}

fn not_found_or(session: SessionId, path: &Path, error: io::Error) -> StoreError {
    if error.kind() == io::ErrorKind::NotFound {
        StoreError::NotFound(format!(
            "no session {session}\nhint: `cox sessions` lists them"
        ))
    } else {
        StoreError::io("read", path, error)
    }
}

impl std::fmt::Debug for Rollout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rollout")
            .field("session", &self.session)
            .field("path", &self.path)
            .field("next_seq", &self.next_seq)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
