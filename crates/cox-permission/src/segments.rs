//! The simple commands of a shell line; "cannot tell" is an answer.
//!
//! A scanner cuts the line into words and leaves its comments out; then there are two readers. The strict one knows words,
//! quotes, pipes and lists of plain commands. The second one walks a syntax tree and knows subshells, loops, conditions,
//! functions, substitutions, here-documents and redirects as well; its words are held against those of the scanner. What
//! the strict one can read counts only if the second one reads the same. A program that runs another one
//! (`timeout 9 make`) gives two segments, so that a rule for either is seen and an allow for one does not lend itself to
//! the other.

use std::borrow::Cow;

use self::{outline::Outline, word::Command};
use crate::{PathTarget, Target};

mod lexer;
mod loose;
mod outline;
mod tree;
mod word;
mod wrappers;

pub(crate) use wrappers::is_shell;

/// Longest line that is read, in bytes.
pub const MAX_LINE_BYTES: usize = 10_000;

/// How deep lines may stand in lines: `sh -c "sh -c …"`.
const MAX_LINES: usize = 4;

/// One simple command of a shell line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The command as it stands in the line, or in the line that another command runs.
    pub text: String,
    /// Its words with quotes removed; never empty, the first is the program.
    pub words: Vec<String>,
    /// Which of `words` a shell makes out of something that cannot be told: a variable, a substitution. They stand there as
    /// written. Ascending, never 0.
    pub open: Vec<usize>,
    /// Whether one of the open words may become several words, or none.
    pub may_split: bool,
    /// Whether one of its words begins with a pattern, which a shell may turn into any name, one that looks like an
    /// option among them.
    pub begins_with_pattern: bool,
    /// How many of the commands behind it in the line are run by it; those that they run are counted too.
    pub runs: usize,
    /// The files that it is connected to by redirects, or told to write to by an option.
    pub redirects: Vec<Redirect>,
}

/// A file that a command is connected to by `<`, `>`, `>>`, `&>` or `>|`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The path as written, without quotes.
    pub written: String,
    /// Whether it is written to.
    pub writes: bool,
    /// The path as rules see it, an [`Target::Edit`] or a [`Target::Read`]; none until [`Segments::resolve`] found it.
    /// A redirect without a target asks.
    pub target: Option<Target>,
}

/// The simple commands of a line, or why they cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segments {
    /// Every simple command that the line would run; never empty.
    Known(Vec<Segment>),
    /// The line is more than this reader understands; such a line asks.
    CannotTell {
        /// What stopped the reader, in words for a person.
        why: String,
    },
}

impl Segments {
    /// Finds what the redirects lead to. `find` is given a path as written, and whether it is written to; it returns none
    /// for a path outside the workspace or one that cannot be told.
    pub fn resolve(&mut self, mut find: impl FnMut(&str, bool) -> Option<PathTarget>) {
        let Self::Known(segments) = self else { return };
        let moves = segments
            .iter()
            .any(|segment| matches!(segment.words[0].as_str(), "cd" | "pushd" | "popd"));
        for redirect in segments
            .iter_mut()
            .flat_map(|segment| &mut segment.redirects)
        {
            // After a `cd`, a relative path starts elsewhere.
            if moves && !redirect.written.starts_with(['/', '~']) {
                continue;
            }
            redirect.target =
                find(&redirect.written, redirect.writes).map(|path| match redirect.writes {
                    true => Target::Edit(path),
                    false => Target::Read(path),
                });
        }
    }
}

impl Segment {
    /// Says whether all of its words are known.
    pub fn is_literal(&self) -> bool {
        self.open.is_empty()
    }
}

/// Splits a line of bash, dash or sh into its simple commands.
pub fn segments(line: &str) -> Segments {
    told(read(line, 0))
}

/// Splits a line of any shell into its simple commands: only what all shells read alike can be told.
pub fn segments_of_any_shell(line: &str) -> Segments {
    let strict = lexer::commands(line);
    told(strict.and_then(|_| read(line, 0)))
}

fn told(read: Result<Vec<Segment>, String>) -> Segments {
    match read {
        Ok(segments) if segments.is_empty() => Segments::CannotTell {
            why: "there is no command in it".into(),
        },
        Ok(segments) => Segments::Known(segments),
        Err(why) => Segments::CannotTell { why },
    }
}

fn read(line: &str, depth: usize) -> Result<Vec<Segment>, String> {
    if depth > MAX_LINES {
        return Err("there are too many lines in it that run lines".into());
    }
    if line.len() > MAX_LINE_BYTES {
        return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
    }
    // What hides in a comment would hide from a person as well.
    for char in line.chars() {
        lexer::check_quoted(char)?;
    }
    let outline = match Outline::of(line) {
        Ok(outline) => outline,
        // The second reader has the plainer reasons.
        Err(why) => return Err(tree::refusal(line).unwrap_or_else(|| why.to_owned())),
    };
    let line = outline.bare.as_str();
    let walked = tree::commands(&outline);
    let commands = match lexer::commands(line) {
        Ok(strict) => {
            let walked = walked?;
            if !is_same(&strict, &walked) {
                return Err("two readings of it differ".into());
            }
            strict
        }
        Err(_) => walked?,
    };
    let mut segments = Vec::new();
    for command in &commands {
        wrappers::unfold(line, command, depth, &mut segments)?;
    }
    Ok(segments)
}

/// Says whether both readers found the same.
fn is_same(strict: &[Command], walked: &[Command]) -> bool {
    strict.len() == walked.len()
        && strict
            .iter()
            .zip(walked)
            .all(|(one, other)| other.files.is_empty() && texts(one).eq(texts(other)))
}

fn texts(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().map(|word| word.text.as_str())
}

/// Returns the words of `text` if it is one plain command.
pub(crate) fn plain_words(text: &str) -> Option<Vec<String>> {
    let commands = lexer::commands(text).ok()?;
    match commands.as_slice() {
        [command] => Some(command.words.iter().map(|word| word.text.clone()).collect()),
        _ => None,
    }
}

/// Says whether the strict reader reads a line.
pub(crate) fn is_plain(line: &str) -> bool {
    lexer::commands(&without_comments(line)).is_ok()
}

/// Returns what may be commands in a line, for rules that deny or ask.
pub(crate) fn loose_commands(line: &str) -> Vec<Vec<String>> {
    loose::commands(&without_comments(line))
}

/// Returns a line without its comments, and with blanks in place of a backslash and a line break; as it is where its
/// comments cannot be told.
fn without_comments(line: &str) -> Cow<'_, str> {
    let may_differ = line.contains('#') || line.contains("\\\n");
    match (may_differ && line.len() <= MAX_LINE_BYTES).then(|| Outline::of(line)) {
        Some(Ok(outline)) => outline.bare.into(),
        _ => line.into(),
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod oracle;
