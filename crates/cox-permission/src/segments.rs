//! The simple commands of a shell line; "cannot tell" is an answer.
//!
//! The reader is strict: it knows words, quotes, pipes and lists of plain commands, and the harmless redirects
//! `2>&1` and `>/dev/null`. Anything that a shell would expand, substitute, assign or redirect makes a line that cannot be
//! told. A program that runs another one (`timeout 9 make`) gives two segments, so that a rule for either is seen and an
//! allow for one does not lend itself to the other.

mod lexer;
mod loose;
mod wrappers;

pub(crate) use loose::loose_commands;
pub(crate) use wrappers::is_shell;

/// Longest line that is read, in bytes.
pub const MAX_LINE_BYTES: usize = 10_000;

/// One simple command of a shell line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The command as it stands in the line.
    pub text: String,
    /// Its words with quotes removed; never empty, the first is the program.
    pub words: Vec<String>,
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

/// Splits a shell line into its simple commands.
pub fn segments(line: &str) -> Segments {
    let commands = lexer::commands(line).and_then(|commands| {
        let mut segments = Vec::new();
        for command in commands {
            wrappers::unfold(line, &command.words, command.end, 0, &mut segments)?;
        }
        Ok(segments)
    });
    match commands {
        Ok(segments) if segments.is_empty() => Segments::CannotTell {
            why: "there is no command in it".into(),
        },
        Ok(segments) => Segments::Known(segments),
        Err(why) => Segments::CannotTell { why },
    }
}

/// Returns the words of `text` if it is one plain command.
pub(crate) fn plain_words(text: &str) -> Option<Vec<String>> {
    let commands = lexer::commands(text).ok()?;
    match commands.as_slice() {
        [command] => Some(command.words.iter().map(|word| word.text.clone()).collect()),
        _ => None,
    }
}

/// Says whether a shell may turn an argument of a plain command into any name, one that looks like an option among them.
pub(crate) fn has_open_pattern(command: &str) -> bool {
    match lexer::commands(command) {
        Ok(commands) => commands
            .iter()
            .flat_map(|command| &command.words)
            .any(|word| word.begins_with_pattern),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests;
