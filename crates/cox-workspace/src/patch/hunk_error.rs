//! Why a hunk does not go into a file, in words that help to mend it.

use std::fmt;

use crate::{in_words::lines_listed, locate::Strictness, recode::Unwritable};

/// Why a hunk could not be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HunkError {
    /// Its lines do not stand in the file.
    #[error(
        "hunk {hunk} (line {line} of the patch) does not fit: its lines do not stand in the file, also not when white space and quotes are ignored{}",
        Similar(near)
    )]
    NotFound {
        /// Which hunk of the file, from 1.
        hunk: usize,
        /// 1-based line of the patch.
        line: usize,
        /// The most similar places.
        near: Vec<crate::edit::Near>,
    },
    /// Its lines stand in several places.
    #[error("hunk {hunk} (line {line} of the patch) fits in {} places when matched {strictness}: {}\nhint: add context lines, or an `@@` line that names the function around it", lines.len(), lines_listed(lines))]
    Ambiguous {
        /// Which hunk of the file, from 1.
        hunk: usize,
        /// 1-based line of the patch.
        line: usize,
        /// How the places were found.
        strictness: Strictness,
        /// 1-based first line of every place.
        lines: Vec<usize>,
    },
    /// Two hunks are for the same lines.
    #[error(
        "hunk {hunk} (line {line} of the patch) changes lines that another hunk of this file changes too\nhint: make them one hunk"
    )]
    Overlap {
        /// Which hunk of the file, from 1.
        hunk: usize,
        /// 1-based line of the patch.
        line: usize,
    },
    /// It only adds lines and does not say where.
    #[error(
        "hunk {hunk} (line {line} of the patch) only adds lines, and `@@ {header}` does not name one line of the file\nhint: add a context line"
    )]
    Nowhere {
        /// Which hunk of the file, from 1.
        hunk: usize,
        /// 1-based line of the patch.
        line: usize,
        /// The header that was not found.
        header: String,
    },
    /// A line that comes cannot be written into the file.
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
    /// It says how the file ends, and the file does not end so.
    #[error(
        "hunk {hunk} (line {line} of the patch) says `\\ No newline at end of file`, and {}\nhint: leave that line out, or read the file again",
        if *elsewhere { "its lines do not stand at the end of the file" } else { "the file ends with a newline" }
    )]
    OtherEnd {
        /// Which hunk of the file, from 1.
        hunk: usize,
        /// 1-based line of the patch.
        line: usize,
        /// Whether the hunk stands elsewhere; else the file has a final newline.
        elsewhere: bool,
    },
}

struct Similar<'a>(&'a [crate::edit::Near]);

impl fmt::Display for Similar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("; nothing in it is similar");
        }
        f.write_str("; the most similar places (· is a space, → a tab, ␍ a carriage return):")?;
        for near in self.0 {
            write!(f, "\n{near}")?;
        }
        f.write_str("\nhint: read these lines again; context must be copied from the file")
    }
}
