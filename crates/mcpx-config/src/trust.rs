//! What of a project's files the person accepted.

use std::{collections::BTreeSet, path::PathBuf};

/// The digests of the entries that the person accepted. The file that keeps them belongs to the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    digests: BTreeSet<String>,
}

impl Trust {
    /// Nothing was accepted.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Says whether the entry with this digest was accepted.
    #[must_use]
    pub fn contains(&self, digest: &str) -> bool {
        self.digests.contains(digest)
    }
}

impl<S: Into<String>> FromIterator<S> for Trust {
    fn from_iter<I: IntoIterator<Item = S>>(digests: I) -> Self {
        Self {
            digests: digests.into_iter().map(Into::into).collect(),
        }
    }
}

/// One entry of a project's file that waits for the person's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untrusted {
    /// The project's file.
    pub file: PathBuf,
    /// Where the entry begins, from 1.
    pub line: u32,
    /// What it is.
    pub asked: Asked,
    /// What to put into [`Trust`] to accept it as it is written now. It covers the paths of file and folder and everything in the entry
    /// that decides what is started or contacted; a change of that asks again. It does not cover the content of a program
    /// that the entry names.
    pub digest: String,
}

/// What an untrusted entry wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A server, with what it would start or contact. Variables are not expanded. Command, arguments and environment are
    /// whole, because any of them can choose a program; literals of headers and credentials are not shown.
    Server {
        /// Its name in the file.
        name: String,
        /// The command line, the URL, or the server it is another view of.
        launch: String,
    },
    /// A setting that could widen what the hub does.
    Setting {
        /// Its path, or the key of `pool`.
        path: String,
        /// The value as it is written.
        text: String,
    },
}
