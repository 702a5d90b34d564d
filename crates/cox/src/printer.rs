//! The only place that prints: results on stdout, words for people on stderr.
//!
//! Text from outside is made safe for a terminal here, whoever hands it over. A closed stdout is an answer, not a panic.

use std::io::{self, Write};

use serde_json::{Value, json};
use untrusted_text::terminal::for_terminal;

use crate::exit::Failure;

/// Nobody reads stdout any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// Prints. Flushes after every piece, so nothing is lost at exit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Printer {
    /// Whether stdout holds JSON.
    pub(crate) json: bool,
    /// Whether to print more on stderr.
    pub(crate) verbose: bool,
}

impl Printer {
    /// Prints a result for people on stdout, with a line break at its end.
    pub(crate) fn result(self, text: &str) -> Result<(), Closed> {
        let mut text = for_terminal(text);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        write_out(text.as_bytes())
    }

    /// Prints bytes on stdout as they are.
    pub(crate) fn verbatim(self, bytes: &[u8]) -> Result<(), Closed> {
        write_out(bytes)
    }

    /// Prints one JSON document on stdout, on lines of its own.
    pub(crate) fn document(self, value: &Value) -> Result<(), Closed> {
        let mut text = escape_separators(&format!("{value:#}"));
        text.push('\n');
        write_out(text.as_bytes())
    }

    /// Prints one line of JSON on stdout.
    pub(crate) fn json_line(self, line: &str) -> Result<(), Closed> {
        let mut text = escape_separators(line);
        text.push('\n');
        write_out(text.as_bytes())
    }

    /// Prints lines for people on stderr.
    pub(crate) fn note(self, text: &str) {
        let mut text = for_terminal(text);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        // Nothing can be done about a closed stderr, and nobody would read about it.
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }

    /// Prints a warning on stderr.
    pub(crate) fn warn(self, text: &str) {
        self.note(&format!("warning: {text}"));
    }

    /// Prints a failure: on stderr for people, and as a document on stdout where that holds JSON.
    pub(crate) fn failure(self, failure: &Failure) {
        if self.json {
            let document = json!({ "error": failure.message, "exit_code": failure.exit.code() });
            if self.document(&document).is_err() {
                self.note(&format!("error: {failure}"));
            }
        } else {
            self.note(&format!("error: {failure}"));
        }
    }
}

/// Escapes the two line separators that JSON allows in strings and line readers may split at.
pub(crate) fn escape_separators(json: &str) -> String {
    if json.contains(['\u{2028}', '\u{2029}']) {
        json.replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029")
    } else {
        json.to_owned()
    }
}

fn write_out(bytes: &[u8]) -> Result<(), Closed> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|_| Closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_separators_inside_json_strings_are_escaped() {
        assert_eq!(
            escape_separators("{\"a\":\"x\u{2028}y\u{2029}\"}"),
            "{\"a\":\"x\\u2028y\\u2029\"}"
        );
    }
}
