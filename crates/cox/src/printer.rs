//! The only place that prints: results on stdout, words for people on stderr.
//!
//! Text from outside is made safe for a terminal here, whoever hands it over, and so is JSON,
//! where the characters that a terminal acts on are escaped. A closed stdout is an answer, not a panic.

use std::{
    fmt::{self, Write as _},
    io::{self, Write},
};

use serde_json::{Value, json};
use untrusted_text::terminal::for_terminal;

use crate::exit::Failure;

/// What was meant for stdout did not get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotPrinted {
    /// Nobody reads it any more: whoever did has what they wanted.
    ReaderGone,
    /// It could not be written, such as to a full disk.
    Failed(String),
}

impl fmt::Display for NotPrinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReaderGone => f.write_str("nobody reads stdout any more"),
            Self::Failed(why) => write!(f, "cannot write to stdout: {why}"),
        }
    }
}

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
    pub(crate) fn result(self, text: &str) -> Result<(), NotPrinted> {
        let mut text = for_terminal(text);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        write_out(text.as_bytes())
    }

    /// Prints bytes on stdout as they are.
    pub(crate) fn verbatim(self, bytes: &[u8]) -> Result<(), NotPrinted> {
        write_out(bytes)
    }

    /// Prints one JSON document on stdout, on lines of its own.
    pub(crate) fn document(self, value: &Value) -> Result<(), NotPrinted> {
        let mut text = escape_json(&format!("{value:#}"));
        text.push('\n');
        write_out(text.as_bytes())
    }

    /// Prints one line of JSON on stdout.
    pub(crate) fn json_line(self, line: &str) -> Result<(), NotPrinted> {
        let mut text = escape_json(line);
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

    /// Prints lines for people on stderr, and below them a text that is painted after it was made safe.
    pub(crate) fn note_painted(self, text: &str, below: &str, paint: impl Fn(&str) -> String) {
        let text = safe_and_painted(text, below, paint);
        // As with a note.
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

/// Makes both texts safe for a terminal; only what `paint` itself adds to the second acts on one.
fn safe_and_painted(text: &str, below: &str, paint: impl Fn(&str) -> String) -> String {
    let mut all = for_terminal(text);
    if !all.is_empty() && !all.ends_with('\n') {
        all.push('\n');
    }
    all.push_str(&paint(&for_terminal(below)));
    if !all.ends_with('\n') {
        all.push('\n');
    }
    all
}

/// Escapes what JSON allows in strings and a terminal or a line reader acts on: line separators, control characters beyond
/// those that JSON escapes anyway, and what changes the direction of text. The document stays the same for a JSON reader.
pub(crate) fn escape_json(json: &str) -> String {
    let acts = |char: char| matches!(char, '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}');
    if !json.contains(acts) {
        return json.to_owned();
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        if acts(char) {
            // All of them have four hexadecimal digits at most, and writing to a text cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(char));
        } else {
            escaped.push(char);
        }
    }
    escaped
}

fn write_out(bytes: &[u8]) -> Result<(), NotPrinted> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => NotPrinted::ReaderGone,
            _ => NotPrinted::Failed(error.to_string()),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_paint_reaches_the_terminal() {
        let paint = |safe: &str| format!("\u{1b}[31m{safe}\u{1b}[0m");
        assert_eq!(
            safe_and_painted(
                "a\u{1b}[2J",
                "-b\u{1b}]0;title\u{7}\u{1b}[7m\u{9b}1m c\u{202e}",
                paint
            ),
            "a\n\u{1b}[31m-b c<U+202E>\u{1b}[0m\n"
        );
    }

    #[test]
    fn what_a_terminal_acts_on_is_escaped_in_json_and_means_the_same() {
        #[track_caller]
        fn check(text: &str, expect: &str) {
            let json = Value::from(text).to_string();
            let escaped = escape_json(&json);
            assert_eq!(escaped, expect);
            assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), text);
        }
        check("plain naïve 日本", "\"plain naïve 日本\"");
        check("x\u{2028}y\u{2029}", "\"x\\u2028y\\u2029\"");
        check("\u{1b}[2J\u{9b}2J\u{7f}", "\"\\u001b[2J\\u009b2J\\u007f\"");
        check("a\u{202e}b\u{2066}", "\"a\\u202eb\\u2066\"");
    }
}
