//! The only place that prints: results on stdout, words for people on stderr.
//!
//! Text from outside is made safe for a terminal here, whoever hands it over, and so is JSON, where the characters that a
//! terminal acts on are escaped. A reader of stdout that has gone is an answer, not a failure.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is the door to the terminal"
)]

use std::fmt::Write as _;
use std::io::{self, BufRead as _, Write};

use mcp_wire::Raw;
use untrusted_text::terminal::for_terminal;

use crate::exit::{Exit, Failure};

/// Prints. Flushes after every piece, so nothing is lost at exit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Printer {
    /// Whether stdout holds one JSON document.
    pub(crate) json: bool,
    /// Whether to use colours on stdout.
    pub(crate) color: bool,
    /// How many characters a line of stdout may have, on a terminal; nothing when it is none.
    pub(crate) width: Option<usize>,
    /// Whether somebody can be asked: stdin and stderr are a terminal.
    pub(crate) can_ask: bool,
}

impl Printer {
    /// Prints a result for people on stdout, with a line break at its end.
    pub(crate) fn result(self, text: &str) -> Result<(), Failure> {
        let mut text = for_terminal(text);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        self.verbatim(text.as_bytes())
    }

    /// Prints what was painted; whoever painted it made the text safe before.
    pub(crate) fn painted(self, text: &str) -> Result<(), Failure> {
        self.verbatim(text.as_bytes())
    }

    /// Prints bytes on stdout as they are.
    pub(crate) fn verbatim(self, bytes: &[u8]) -> Result<(), Failure> {
        self.streamed(bytes).map(|_| ())
    }

    /// Prints a piece of what goes on, and says whether somebody still reads.
    pub(crate) fn streamed(self, bytes: &[u8]) -> Result<bool, Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::failed(format!(
                "stdout cannot be written: {error}"
            ))),
        }
    }

    /// Prints a JSON document on stdout, on a line of its own.
    pub(crate) fn document(self, document: &Raw) -> Result<(), Failure> {
        let mut text = escape_json(document.as_str());
        text.push('\n');
        self.verbatim(text.as_bytes())
    }

    /// Prints lines for people on stderr.
    pub(crate) fn note(self, text: &str) {
        let mut text = for_terminal(text);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let _closed = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Asks on stderr and reads the answer from stdin. No answer is no.
    pub(crate) fn confirms(self, question: &str) -> bool {
        if !self.can_ask {
            return false;
        }
        let text = format!("{} [y/N] ", for_terminal(question));
        let mut err = io::stderr().lock();
        let _closed = err.write_all(text.as_bytes()).and_then(|()| err.flush());
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
    }

    /// Tells a failure: with `--json` its document on stdout, else in words on stderr.
    pub(crate) fn failure(self, failure: &Failure) -> Exit {
        let told = self
            .json
            .then(|| self.document(&Raw::from(failure.document())));
        if !matches!(told, Some(Ok(()))) {
            self.note(&format!("error: {}", failure.error.message));
            for hint in failure.error.hint.iter().flat_map(|hint| hint.lines()) {
                self.note(&format!("hint: {hint}"));
            }
        }
        failure.exit
    }
}

/// Escapes what JSON allows in strings and a terminal or a line reader acts on. The document stays the same for a JSON
/// reader.
pub(crate) fn escape_json(json: &str) -> String {
    let acts = |char: char| matches!(char, '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}');
    if !json.contains(acts) {
        return json.to_owned();
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        if acts(char) {
            // Each has four hexadecimal digits at most.
            let _never_fails = write!(escaped, "\\u{:04x}", u32::from(char));
        } else {
            escaped.push(char);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_escaped_in_json_and_means_the_same() {
        let text = "a\u{202e}b\u{9b}2J\u{2028}c\u{1b}[2J 日本";
        let json = Raw::from(text);
        let escaped = escape_json(json.as_str());
        assert!(
            !escaped.contains(['\u{202e}', '\u{9b}', '\u{2028}', '\u{1b}']),
            "{escaped}"
        );
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }
}
