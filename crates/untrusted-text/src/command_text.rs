//! What a command printed, as a model reads it: without escape sequences, progress bars in their last state, repeated
//! lines folded.
//!
//! Works on pieces, in bounded memory, and leaves out nothing that it does not say: [`CommandText::is_folded`]. The whole
//! output is the archive's part.

use crate::terminal::stream::Filter;

mod run;

use run::Run;

/// Longest line that is looked at as a whole, in bytes; a longer one passes as it comes.
const MAX_LINE: usize = 16 * 1024;

/// Share of bytes that are no UTF-8, in percent, from which an output counts as binary.
///
/// Text in an old encoding stays well below; compressed and random data are far above.
const BINARY_PERCENT: u64 = 30;

/// Turns the bytes that a command prints into text.
#[derive(Debug)]
pub struct CommandText {
    /// The beginning of a character whose end has not come.
    partial: Vec<u8>,
    filter: Filter,
    /// The line so far.
    line: String,
    /// Whether a carriage return came after it: what follows overwrites it.
    is_returned: bool,
    /// Whether the line is too long to be looked at and its beginning has been passed on.
    is_overlong: bool,
    run: Run,
    is_collapsed: bool,
    bytes: u64,
    nul: bool,
    invalid: u64,
}

impl CommandText {
    /// Starts with nothing printed.
    pub fn new() -> Self {
        Self {
            partial: Vec::new(),
            filter: Filter::new(true),
            line: String::new(),
            is_returned: false,
            is_overlong: false,
            run: Run::default(),
            is_collapsed: false,
            bytes: 0,
            nul: false,
            invalid: 0,
        }
    }

    /// Takes the next bytes and adds what is decided by now to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        self.bytes += bytes.len() as u64;
        self.nul = self.nul || bytes.contains(&0);
        if self.nul {
            // What comes of it is one line that says so.
            return;
        }
        let joined;
        let bytes = if self.partial.is_empty() {
            bytes
        } else {
            joined = [&self.partial, bytes].concat();
            self.partial.clear();
            &joined
        };
        let mut clean = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.filter.push(chunk.valid(), &mut clean);
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && is_beginning(invalid) {
                self.partial = invalid.to_owned();
            } else if !invalid.is_empty() {
                self.invalid += invalid.len() as u64;
                self.filter.push("\u{fffd}", &mut clean);
            }
        }
        self.take(&clean, out);
    }

    /// Ends the output.
    pub fn finish(&mut self, out: &mut String) {
        let mut clean = String::new();
        if !self.partial.is_empty() {
            self.invalid += self.partial.len() as u64;
            self.partial.clear();
            self.filter.push("\u{fffd}", &mut clean);
        }
        self.filter.finish(&mut clean);
        self.take(&clean, out);
        let line = std::mem::take(&mut self.line);
        if self.is_overlong {
            out.push_str(&line);
        } else if !line.is_empty() {
            self.run.line(&line, false, out);
        }
        self.run.flush(out);
    }

    /// Says whether the output is no text: it holds a NUL, or much that is no UTF-8.
    pub fn is_binary(&self) -> bool {
        self.nul || self.invalid * 100 > self.bytes * BINARY_PERCENT
    }

    /// Says whether lines were folded or overwritten ones left out.
    pub fn is_folded(&self) -> bool {
        self.is_collapsed || self.run.has_folded()
    }

    fn take(&mut self, clean: &str, out: &mut String) {
        for piece in clean.split_inclusive(['\n', '\r']) {
            let text = piece.trim_end_matches(['\n', '\r']);
            if !text.is_empty() {
                if std::mem::take(&mut self.is_returned) {
                    self.overwrite(out);
                }
                self.line.push_str(text);
                if self.line.len() > MAX_LINE || self.is_overlong {
                    self.pass_on(out);
                }
            }
            if piece.ends_with('\r') {
                self.is_returned = true;
            } else if piece.ends_with('\n') {
                self.end_line(out);
            }
        }
    }

    /// Forgets the line: something else is printed over it.
    fn overwrite(&mut self, out: &mut String) {
        if std::mem::take(&mut self.is_overlong) {
            out.push('\n');
        } else if !self.line.is_empty() {
            self.is_collapsed = true;
        }
        self.line.clear();
    }

    fn end_line(&mut self, out: &mut String) {
        self.is_returned = false;
        if std::mem::take(&mut self.is_overlong) {
            out.push('\n');
        } else {
            self.run.line(&self.line, true, out);
        }
        self.line.clear();
    }

    fn pass_on(&mut self, out: &mut String) {
        self.run.flush(out);
        out.push_str(&self.line);
        self.line.clear();
        self.is_overlong = true;
    }
}

impl Default for CommandText {
    fn default() -> Self {
        Self::new()
    }
}

/// Says whether bytes can become a character when more come.
fn is_beginning(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests;
