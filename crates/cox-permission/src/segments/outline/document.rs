//! Here-documents: their delimiters and their bodies.

use super::{Cut, Scan};

/// A here-document whose body is yet to come.
pub(super) struct Document {
    delimiter: Vec<u8>,
    /// Whether tabs before each line do not count.
    is_indented: bool,
    /// Whether its body stands for itself.
    is_quoted: bool,
}

impl Scan<'_> {
    /// Reads `<<` or `<<-` and the delimiter: a plain word, or one in quotes.
    pub(super) fn document(&mut self) -> Cut<()> {
        self.at += 2;
        let is_indented = self.peek() == Some(b'-');
        self.at += usize::from(is_indented);
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let quote = self
            .peek()
            .filter(|byte| matches!(byte, b'\'' | b'"' | b'\\'));
        self.at += usize::from(quote.is_some());
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        {
            self.at += 1;
        }
        let delimiter = self.bytes[start..self.at].to_vec();
        if let Some(quote @ (b'\'' | b'"')) = quote {
            if self.peek() != Some(quote) {
                return Err("the delimiter of a here-document is not plain");
            }
            self.at += 1;
        }
        let ends = matches!(
            self.peek(),
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b')')
        );
        if delimiter.is_empty() || !ends {
            return Err("the delimiter of a here-document is not plain");
        }
        self.documents.push(Document {
            delimiter,
            is_indented,
            is_quoted: quote.is_some(),
        });
        Ok(())
    }

    /// Reads the bodies that begin here, behind a line break.
    pub(super) fn read_documents(&mut self) -> Cut<()> {
        for document in std::mem::take(&mut self.documents) {
            self.body(&document)?;
        }
        Ok(())
    }

    fn body(&mut self, document: &Document) -> Cut<()> {
        let start = self.at;
        let end = loop {
            if self.at >= self.end {
                return Err("a here-document is not closed");
            }
            let line_start = self.at;
            while self.peek().is_some_and(|byte| byte != b'\n') {
                self.at += 1;
            }
            let mut line = &self.bytes[line_start..self.at];
            if document.is_indented {
                let tabs = line.iter().take_while(|byte| **byte == b'\t').count();
                line = &line[tabs..];
            }
            if line == document.delimiter {
                break line_start;
            }
            // Some shells take what follows the delimiter for the end of the substitution.
            if self.in_substitution && line.starts_with(&document.delimiter) {
                return Err("a line of a here-document begins as it ends");
            }
            if !document.is_quoted && line.ends_with(b"\\") {
                return Err("a backslash ends a line of a here-document");
            }
            self.at = self.end.min(self.at + 1);
        };
        if document.is_quoted {
            return Ok(());
        }
        let (after, whole) = (self.at, self.end);
        (self.at, self.end) = (start, end);
        self.text(None)?;
        (self.at, self.end) = (after, whole);
        Ok(())
    }
}
