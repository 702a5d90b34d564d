//! Patches: what a model writes to change several files, read and computed. Pure: no disk.
//!
//! Two grammars are read, V4A (`*** Begin Patch`) and the unified diff, both leniently in their envelope — code fences, a shell's
//! heredoc around it, numbered headers, hunks out of order — and strictly in their content: a hunk that does not stand in
//! the file, or stands there twice, is an error, and line numbers are hints at most.

mod file_end;
mod hunk_error;
mod hunks;
mod parse;
#[cfg(test)]
mod tests;
mod unified;

pub use hunk_error::HunkError;
pub use hunks::{Patched, apply};

/// A patch as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// One entry a file, in the order written, never empty.
    pub operations: Vec<Operation>,
}

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The file, as written.
    pub path: String,
    /// 1-based line of the patch that names it.
    pub line: usize,
    /// What is done.
    pub action: Action,
}

/// What is done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is created with this content.
    Add {
        /// The content.
        content: String,
        /// Whether it is to be a program, as git's `new file mode 100755` says.
        executable: bool,
    },
    /// It is deleted.
    Delete {
        /// What a unified diff says stands in it; empty when nothing is said.
        hunks: Vec<Hunk>,
    },
    /// It is changed, moved, or both.
    Update {
        /// Where it moves to.
        move_to: Option<String>,
        /// The changes; empty only for a move.
        hunks: Vec<Hunk>,
    },
}

/// One change: lines that stand in the file and what becomes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// 1-based line of the patch where it begins.
    pub line: usize,
    /// Texts after `@@`: lines that stand before the change, outermost first.
    pub headers: Vec<String>,
    /// The line number of a numbered header.
    pub old_start: Option<usize>,
    /// The lines.
    pub lines: Vec<HunkLine>,
    /// Whether the change is said to be at the end of the file.
    pub at_end: bool,
    /// Whether `\ No newline at end of file` is said of the file before the change.
    pub old_ends_bare: bool,
    /// Whether it is said of the file after the change.
    pub new_ends_bare: bool,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkLine {
    /// It stays.
    Keep(String),
    /// It goes.
    Remove(String),
    /// It comes.
    Add(String),
}

/// A patch that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the patch: expected {expected}, received `{received}`")]
pub struct PatchError {
    /// 1-based line.
    pub line: usize,
    /// What may stand there.
    pub expected: String,
    /// What stands there, cut.
    pub received: String,
}

impl PatchError {
    fn behind_the_end(line: usize, received: &str) -> Self {
        let expected = "no more lines of the file behind `\\ No newline at end of file`";
        Self::new(line, expected, received)
    }

    fn new(line: usize, expected: impl Into<String>, received: &str) -> Self {
        let mut shown: String = received.chars().take(120).collect();
        if shown.len() < received.len() {
            shown.push('…');
        }
        if shown.is_empty() {
            shown.push_str("an empty line");
        }
        Self {
            line,
            expected: expected.into(),
            received: shown,
        }
    }
}

impl Patch {
    /// Reads a patch of either grammar.
    ///
    /// # Errors
    ///
    /// [`PatchError`] names the line and what was expected there. A path named twice is an error too.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        let inside = parse::from_json(text);
        let lines = parse::unwrap_envelope(inside.as_deref().unwrap_or(text));
        let operations = if unified::is_unified(&lines) {
            unified::parse(&lines)?
        } else {
            parse::parse(&lines)?
        };
        let mut named: Vec<&str> = Vec::new();
        for operation in &operations {
            for path in operation.paths() {
                if named.contains(&path) {
                    return Err(PatchError::new(
                        operation.line,
                        "each file once, with all its hunks together",
                        path,
                    ));
                }
                named.push(path);
            }
        }
        Ok(Self { operations })
    }

    /// Returns every path that is created, changed or deleted, in order.
    pub fn paths(&self) -> Vec<&str> {
        self.operations.iter().flat_map(Operation::paths).collect()
    }

    /// Returns how many files are deleted; a move deletes none.
    pub fn deletions(&self) -> usize {
        self.operations
            .iter()
            .filter(|operation| matches!(operation.action, Action::Delete { .. }))
            .count()
    }
}

impl Hunk {
    /// Says whether a line may follow: none of the old ones does once the end of the old file is told, nor of the new ones.
    fn takes(&self, line: &HunkLine) -> bool {
        match line {
            HunkLine::Keep(_) => !self.old_ends_bare && !self.new_ends_bare,
            HunkLine::Remove(_) => !self.old_ends_bare,
            HunkLine::Add(_) => !self.new_ends_bare,
        }
    }

    /// Notes `\ No newline at end of file`, which is about the line before it.
    fn ends_bare(&mut self) {
        let (old, new) = match self.lines.last() {
            Some(HunkLine::Keep(_)) => (true, true),
            Some(HunkLine::Remove(_)) => (true, false),
            Some(HunkLine::Add(_)) => (false, true),
            None => return,
        };
        self.at_end = true;
        self.old_ends_bare |= old;
        self.new_ends_bare |= new;
    }
}

impl Operation {
    fn paths(&self) -> impl Iterator<Item = &str> {
        let moved = match &self.action {
            Action::Update { move_to, .. } => move_to.as_deref(),
            _ => None,
        };
        let moved = moved.filter(|to| *to != self.path);
        std::iter::once(self.path.as_str()).chain(moved)
    }
}
