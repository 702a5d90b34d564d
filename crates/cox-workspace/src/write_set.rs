//! Many files as one change: all of them, or none.
//!
//! The steps, in this order: judge every path again; read what is there and compare it with what the change was made from;
//! give the old bytes to the archive; write down what is about to be done; stage the new bytes beside; look again; replace;
//! take the record away. A failure at any step takes back what was done. Each file is at every instant whole, old or new,
//! and what a killed process leaves is told and mended by [`Unfinished`].

mod journal;
mod look;
mod recover;
mod replace;
mod stage;
#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

pub use journal::{Begun, Journal};
pub use recover::{
    FileState, Images, Keep, Mended, Progress, RecoverError, Recovery, Skipped, Standing,
    Unfinished, progress,
};

use crate::confine::{Access, ConfineError, Confined, Roots, confine_again};

/// Keeps the bytes that a change replaces, so that it can be undone.
pub trait PreImages {
    /// Puts kept bytes on the disk, for a file that is about to be written in place: a power cut may tear it.
    ///
    /// # Errors
    ///
    /// Whatever the disk fails with; the change is then not made.
    fn sync(&self, name: &str) -> io::Result<()> {
        let _ = name;
        Ok(())
    }

    /// Stores bytes and returns the name they can be had by.
    ///
    /// # Errors
    ///
    /// Whatever storing fails with; the change is then not made.
    fn keep(&self, path: &Path, bytes: &[u8]) -> io::Result<String>;
}

/// Changes to files that are made together.
#[derive(Debug)]
pub struct WriteSet<'r> {
    roots: &'r Roots,
    changes: Vec<Change>,
}

/// What is to become of one file.
#[derive(Debug)]
pub(crate) enum Change {
    Create {
        at: Confined,
        bytes: Vec<u8>,
        birth: Birth,
    },
    Update {
        at: Confined,
        old: Vec<u8>,
        new: Vec<u8>,
    },
    Delete {
        at: Confined,
        old: Vec<u8>,
    },
}

/// What a new file is given besides its bytes.
#[derive(Debug)]
pub(crate) enum Birth {
    /// What every new file is given.
    Plain,
    /// Everybody who may read it may run it.
    Executable,
    /// What a file has that goes away in the same set.
    MovedFrom(Confined),
}

impl Change {
    pub(crate) fn at(&self) -> &Confined {
        match self {
            Self::Create { at, .. } | Self::Update { at, .. } | Self::Delete { at, .. } => at,
        }
    }
}

/// What was done, in the order it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// One entry a file.
    pub files: Vec<Written>,
}

/// What was done to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file, by its real path.
    pub path: PathBuf,
    /// What became of it.
    pub kind: WrittenKind,
    /// The name of its old bytes; none for a file that did not exist.
    pub preimage: Option<String>,
    /// Whether it was written in place, because it has other names or cannot be replaced.
    pub in_place: bool,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenKind {
    /// It did not exist.
    Created,
    /// Its bytes changed.
    Changed,
    /// It is gone. A move is one file created and one deleted.
    Deleted,
}

/// Why no file was changed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The path may not be written, or no longer.
    #[error(transparent)]
    Confined(#[from] ConfineError),
    /// Two changes of the set are for one file.
    #[error(
        "`{written}` is changed twice in one set of changes\nhint: put both changes of a file into one"
    )]
    Twice {
        /// The path as written the second time.
        written: String,
    },
    /// A file to be created is there already.
    #[error("`{written}` exists already; nothing was written")]
    Exists {
        /// The path as written.
        written: String,
    },
    /// A file to be changed or deleted is gone.
    #[error("`{written}` does not exist any more; nothing was written")]
    Gone {
        /// The path as written.
        written: String,
    },
    /// A file is not as it was when the change was computed.
    #[error(
        "`{written}` changed while the edit was being made; nothing was written\nhint: read it again"
    )]
    ChangedMeanwhile {
        /// The path as written.
        written: String,
    },
    /// It is a folder, FIFO, socket or device.
    #[error("`{written}` is a {kind}, not a regular file; nothing was written")]
    NotAFile {
        /// The path as written.
        written: String,
        /// What it is.
        kind: &'static str,
    },
    /// What should be its folder is a file.
    #[error(
        "`{written}` is to stand below a file; nothing was written\nhint: look at the folders in the path with `glob`"
    )]
    BelowAFile {
        /// The path as written.
        written: String,
    },
    /// Nobody may write the file, or not this process: replacing it would go around that.
    #[error(
        "`{written}` is write-protected (mode {mode:04o}); nothing was written\nhint: ask the person before changing its mode"
    )]
    WriteProtected {
        /// The path as written.
        written: String,
        /// Its permission bits.
        mode: u32,
    },
    /// The old bytes could not be stored.
    #[error("the old content of `{written}` could not be kept, so nothing was written")]
    Keep {
        /// The path as written.
        written: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The record of the change could not be stored.
    #[error("the change could not be written down first, so nothing was written")]
    Journal {
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system failed; what was replaced before was put back.
    #[error("{what} `{written}` failed; nothing was changed")]
    Io {
        /// What was being done.
        what: &'static str,
        /// The path as written.
        written: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system failed, and then failed again while putting files back.
    #[error("{what} `{written}` failed, and these could not be put back: {}\nhint: their old content is in the archive; `cox doctor` tells how to undo the rest", stuck.join(", "))]
    HalfDone {
        /// What was being done.
        what: &'static str,
        /// The path as written.
        written: String,
        /// Files that hold new bytes or are missing, with their pre-image.
        stuck: Vec<String>,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl<'r> WriteSet<'r> {
    /// Makes an empty set over these roots.
    pub fn new(roots: &'r Roots) -> Self {
        Self {
            roots,
            changes: Vec::new(),
        }
    }

    /// Adds a file that does not exist. Missing folders are made.
    pub fn create(&mut self, at: Confined, bytes: Vec<u8>) {
        let birth = Birth::Plain;
        self.changes.push(Change::Create { at, bytes, birth });
    }

    /// Adds a program that does not exist. Missing folders are made.
    pub fn create_executable(&mut self, at: Confined, bytes: Vec<u8>) {
        let birth = Birth::Executable;
        self.changes.push(Change::Create { at, bytes, birth });
    }

    /// Adds a file whose bytes change from what was read to something else.
    pub fn update(&mut self, at: Confined, old: Vec<u8>, new: Vec<u8>) {
        self.changes.push(Change::Update { at, old, new });
    }

    /// Adds a file that is deleted, with the bytes it had when that was decided.
    pub fn delete(&mut self, at: Confined, old: Vec<u8>) {
        self.changes.push(Change::Delete { at, old });
    }

    /// Adds a file that moves, with new bytes. Its mode and attributes move along.
    pub fn relocate(&mut self, from: Confined, old: Vec<u8>, to: Confined, new: Vec<u8>) {
        self.changes.push(Change::Create {
            at: to,
            bytes: new,
            birth: Birth::MovedFrom(from.clone()),
        });
        self.delete(from, old);
    }

    /// Makes all changes, or none.
    ///
    /// # Errors
    ///
    /// [`WriteError`] names the file. Apart from [`WriteError::HalfDone`] every file is as it was.
    pub fn apply(
        self,
        preimages: &dyn PreImages,
        journal: &dyn Journal,
    ) -> Result<Receipt, WriteError> {
        let mut named: HashSet<&Path> = HashSet::with_capacity(self.changes.len());
        for change in &self.changes {
            let at = change.at();
            if !named.insert(&at.real) {
                return Err(WriteError::Twice {
                    written: at.written.clone(),
                });
            }
        }
        self.judge_again()?;
        let plans = look::look(&self.changes, preimages)?;
        if plans.is_empty() {
            return Ok(Receipt::default());
        }
        let mut record = look::record(&plans);
        let durable = plans.len() > 1;
        let failed = |source| WriteError::Journal { source };
        let mut begun = journal.begin(&record.to_bytes(), durable).map_err(failed)?;
        let done = self.make(&plans, preimages, &mut record, begun.as_mut());
        // Files that could not be put back are for the next start: the record stays.
        if !matches!(done, Err(WriteError::HalfDone { .. })) {
            begun.end();
        }
        done
    }

    fn make(
        &self,
        plans: &[look::Plan<'_>],
        preimages: &dyn PreImages,
        record: &mut journal::Record,
        begun: &mut dyn Begun,
    ) -> Result<Receipt, WriteError> {
        let mut staged = stage::Staged::default();
        for plan in plans {
            stage::stage(&mut staged, plan)?;
        }
        staged.sync()?;
        if staged.keep_new(preimages, record)? {
            begun
                .rewrite(&record.to_bytes())
                .map_err(|source| WriteError::Journal { source })?;
        }
        self.judge_again()?;
        replace::replace(staged)
    }

    /// Says whether every path still leads where it led.
    fn judge_again(&self) -> Result<(), WriteError> {
        for change in &self.changes {
            confine_again(self.roots, change.at(), Access::Write)?;
        }
        Ok(())
    }
}
