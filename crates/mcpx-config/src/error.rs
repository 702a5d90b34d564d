//! What is wrong with a configuration, and where.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use untrusted_text::terminal::one_line;

/// Most characters of foreign text that a message shows.
const SHOWN_CHARS: usize = 120;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file; `line` and `column` (in characters) count from 1, and are 0 for the file as a whole.
    File {
        /// As it was found, not as its links resolve.
        path: PathBuf,
        /// 1-based.
        line: u32,
        /// 1-based.
        column: u32,
    },
    /// An environment variable.
    Variable(String),
    /// A flag, as a person would type it.
    Flag(String),
    /// A preset and the flag in it.
    Preset(String),
    /// A request while the daemon runs.
    Request,
}

impl Place {
    /// The file as a whole.
    #[must_use]
    pub fn whole_file(path: &Path) -> Self {
        Self::File {
            path: path.to_owned(),
            line: 0,
            column: 0,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line, column } => {
                write!(f, "{}", quoted_path(path))?;
                if *line > 0 {
                    write!(f, ":{line}")?;
                    if *column > 0 {
                        write!(f, ":{column}")?;
                    }
                }
                Ok(())
            }
            Self::Variable(name) => write!(f, "the variable `{name}`"),
            Self::Flag(name) => write!(f, "the flag `{name}`"),
            Self::Preset(name) => write!(f, "the preset `{name}`"),
            Self::Request => f.write_str("the request"),
        }
    }
}

/// The place before a message. Who asked just now knows where.
fn before(place: &Place) -> String {
    match place {
        Place::Request => String::new(),
        place => format!("{place}: "),
    }
}

/// Why a configuration cannot be used: the person's to mend; the same try fails again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{found}; expected {expected}{}", before(place), hint_line(.hint.as_deref()))]
pub struct ConfigError {
    /// Where it is written.
    pub place: Place,
    /// What was found there.
    pub found: String,
    /// What would have been right.
    pub expected: String,
    /// What to do next, when that is not plain from the rest.
    pub hint: Option<String>,
}

impl ConfigError {
    pub(crate) fn new(place: Place, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            place,
            found: found.into(),
            expected: expected.into(),
            hint: None,
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The file, when it is one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::File { path, .. } => Some(path),
            _ => None,
        }
    }

    /// The line in the file, from 1.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        match &self.place {
            Place::File { line, .. } if *line > 0 => Some(*line),
            _ => None,
        }
    }
}

/// What does not stop anything and should be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where it is written.
    pub place: Place,
    /// What was not taken, or may be a mistake, and what to do.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// A message of this crate and what to do, which it writes behind it as `hint: …`.
#[must_use]
pub fn hint_apart(text: &str) -> (&str, Option<&str>) {
    match text.split_once("\nhint: ") {
        Some((message, hint)) => (message, Some(hint)),
        None => (text, None),
    }
}

fn hint_line(hint: Option<&str>) -> String {
    hint.map(|hint| format!("\nhint: {hint}"))
        .unwrap_or_default()
}

/// Foreign text in backticks, on one line and cut.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", one_line(text, SHOWN_CHARS))
}

/// A path for a message, without control characters and whole.
pub(crate) fn quoted_path(path: &Path) -> String {
    one_line(&path.to_string_lossy(), 4096)
}
