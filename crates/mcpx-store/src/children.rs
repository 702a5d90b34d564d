//! What a daemon started, in a file that survives its death: `children/NONCE.jsonl`, a line for each start and each end.
//!
//! The daemon holds a lock on its file while it lives, however it dies. A file that nobody locks was left behind, and
//! what is in it may still run: [`left`] returns it to who can prove by pid, start time and nonce that a process is ours.
//! No arguments are kept: they may hold secrets.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Problem, StateDir, StoreError,
    state_dir::{TEMPORARY, checked_name, entries, private_dir, private_file, remove},
};

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Lines after which a file is written anew without those that ended.
const LINES_BEFORE_REWRITE: usize = 10_000;

/// A process that was started for a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Child {
    /// Its number, which is also that of its group.
    pub pid: u32,
    /// When it started, as [`crate::process::started`] says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_started: Option<u64>,
    /// The mark in its environment.
    pub nonce: String,
    /// The server it was started for.
    pub server: String,
    /// The program, without its arguments.
    pub command: String,
    /// When.
    #[serde(with = "crate::time")]
    pub at: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line<C> {
    Started(C),
    Ended(u32),
}

/// The file of one daemon, open for as long as it lives.
#[derive(Debug)]
pub struct Children {
    path: PathBuf,
    /// Locked.
    file: File,
    running: BTreeMap<u32, Child>,
    lines: usize,
    ends_torn: bool,
}

/// What a daemon left behind, locked while it is held.
#[derive(Debug)]
pub struct Left {
    /// Processes that were started and are not known to have ended. Their numbers may mean others by now.
    pub children: Vec<Child>,
    /// What could not be read.
    pub problem: Option<Problem>,
    path: PathBuf,
    _lock: File,
}

impl Children {
    /// Begins the file of a daemon. `nonce` is that of its record.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when it cannot be written; [`StoreError::BadName`].
    pub fn open(state: &StateDir, nonce: &str) -> Result<Self, StoreError> {
        let folder = state.path("children");
        private_dir(&folder)?;
        let path = folder.join(format!("{}.jsonl", checked_name("nonce", nonce)?));
        // Its name comes last, or another daemon takes the file for one that was left before it is locked.
        let file = locked_file(&path, &[])?;
        Ok(Self {
            path,
            file,
            running: BTreeMap::new(),
            lines: 0,
            ends_torn: false,
        })
    }

    /// Writes down that a process was started. When it returns, a killed daemon does not forget it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`]: the process is remembered by this value, and not by the disk.
    pub fn started(&mut self, child: Child) -> Result<(), StoreError> {
        let written = self.append(&Line::Started(&child));
        self.running.insert(child.pid, child);
        written
    }

    /// Writes down that a process ended, with everything that it started.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub fn ended(&mut self, pid: u32) -> Result<(), StoreError> {
        if self.running.remove(&pid).is_none() {
            return Ok(());
        }
        self.append(&Line::Ended(pid))?;
        if self.lines >= LINES_BEFORE_REWRITE.max(self.running.len() * 2) {
            self.rewrite()?;
        }
        Ok(())
    }

    /// Returns what was started and has not ended, by number.
    pub fn running(&self) -> impl Iterator<Item = &Child> {
        self.running.values()
    }

    /// Removes the file of a daemon whose children have all ended. With one that runs it stays, to be found.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub fn close(self) -> Result<(), StoreError> {
        if self.running.is_empty() {
            remove(&self.path)?;
        }
        Ok(())
    }

    fn append(&mut self, line: &Line<&Child>) -> Result<(), StoreError> {
        let mut text = Vec::new();
        if self.ends_torn {
            text.push(b'\n');
        }
        serde_json::to_writer(&mut text, line)
            .map_err(|error| StoreError::io("write", &self.path, error.into()))?;
        text.push(b'\n');
        // Half a line that a full disk took is ended by the next one.
        let written = self.file.write_all(&text);
        self.ends_torn = written.is_err();
        self.lines += 1;
        written.map_err(|error| StoreError::io("write", &self.path, error))
    }

    /// Writes the file anew, without those that ended.
    fn rewrite(&mut self) -> Result<(), StoreError> {
        let mut text = Vec::new();
        for child in self.running.values() {
            serde_json::to_writer(&mut text, &Line::Started(child))
                .map_err(|error| StoreError::io("write", &self.path, error.into()))?;
            text.push(b'\n');
        }
        self.file = locked_file(&self.path, &text)?;
        self.lines = self.running.len();
        self.ends_torn = false;
        Ok(())
    }
}

/// Makes a file that is locked before it has its name, over one that has it.
fn locked_file(path: &Path, content: &[u8]) -> Result<File, StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}{TEMPORARY}"));
    remove(&temporary)?;
    let make = || {
        let mut file = private_file(&temporary, OpenOptions::new().append(true))?;
        file.try_lock()?;
        file.write_all(content)?;
        fs::rename(&temporary, path)?;
        Ok(file)
    };
    make().map_err(|error| StoreError::io("write", path, error))
}

/// Returns what daemons left behind that are gone, and removes files that name nothing. Never fails: what cannot be read
/// is told.
#[must_use]
pub fn left(state: &StateDir) -> Vec<Left> {
    entries(&state.path("children"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .filter_map(|path| {
            let file = OpenOptions::new()
                .read(true)
                .append(true)
                .open(&path)
                .ok()?;
            // Its daemon lives, or another one looks after it.
            file.try_lock().ok()?;
            let (children, problem) = match read_children(&file) {
                Ok((children, 0)) => (children, None),
                Ok((children, torn)) => (
                    children,
                    Some(format!("{torn} of its lines could not be read")),
                ),
                Err(error) => (Vec::new(), Some(error.to_string())),
            };
            if children.is_empty() && problem.is_none() {
                drop(remove(&path));
                return None;
            }
            let problem = problem.map(|reason| Problem {
                path: path.clone(),
                reason,
            });
            Some(Left {
                children,
                problem,
                path,
                _lock: file,
            })
        })
        .collect()
}

impl Left {
    /// Removes the file, once its processes were ended or turned out to be others.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub fn forget(self) -> Result<(), StoreError> {
        remove(&self.path).map(drop)
    }
}

/// Returns the children that did not end, and how many lines could not be read.
fn read_children(file: &File) -> io::Result<(Vec<Child>, usize)> {
    let mut running = BTreeMap::new();
    let mut unread = 0;
    let mut reader = BufReader::new(file.take(MAX_BYTES));
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        match serde_json::from_slice::<Line<Child>>(&line) {
            Ok(Line::Started(child)) => drop(running.insert(child.pid, child)),
            Ok(Line::Ended(pid)) => drop(running.remove(&pid)),
            Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Err(_) => unread += 1,
        }
        line.clear();
    }
    Ok((running.into_values().collect(), unread))
}

#[cfg(test)]
mod tests;
