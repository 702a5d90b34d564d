//! The only place that prints: results on stdout, words for people on stderr.
//!
//! Text from outside is made safe for a terminal here, whoever hands it over. A closed stdout is an answer, not a panic.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is the door to the terminal"
)]

use std::io::{self, Write};

use mcp_wire::Raw;
use untrusted_text::terminal::for_terminal;

use crate::exit::{Exit, Failure};

/// Prints. Flushes after every piece, so nothing is lost at exit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Printer {
    /// Whether stdout holds one JSON document.
    pub(crate) json: bool,
}

impl Printer {
    /// Prints a result for people on stdout, with a line break at its end.
    pub(crate) fn result(self, text: &str) {
        let mut text = for_terminal(text);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        self.verbatim(text.as_bytes());
    }

    /// Prints bytes on stdout as they are. Nobody who reads is left to be told when that fails.
    pub(crate) fn verbatim(self, bytes: &[u8]) {
        let mut out = io::stdout().lock();
        let _reader_gone = out.write_all(bytes).and_then(|()| out.flush());
    }

    /// Prints a JSON document on stdout, on a line of its own.
    pub(crate) fn document(self, document: &Raw) {
        let mut text = for_terminal(document.as_str());
        text.push('\n');
        self.verbatim(text.as_bytes());
    }

    /// Prints lines for people on stderr.
    pub(crate) fn note(self, text: &str) {
        let mut text = for_terminal(text);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let _closed = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Tells a failure: with `--json` its document on stdout, else in words on stderr.
    pub(crate) fn failure(self, failure: &Failure) -> Exit {
        if self.json {
            self.document(&Raw::from(failure.document()));
        } else {
            self.note(&format!("error: {}", failure.error.message));
            if let Some(hint) = &failure.error.hint {
                self.note(&format!("hint: {hint}"));
            }
        }
        failure.exit
    }
}
