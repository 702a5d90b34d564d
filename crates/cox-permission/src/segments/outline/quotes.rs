//! Quotes and substitutions: where they end, and the commands in them.

use super::{Cut, Scan};

impl Scan<'_> {
    pub(super) fn single_quoted(&mut self) -> Cut<()> {
        let start = self.at;
        self.at += 1;
        self.skip_to(b'\'')?;
        self.hold_no_document(start)
    }

    fn skip_to(&mut self, quote: u8) -> Cut<()> {
        loop {
            let byte = self.peek().ok_or("a quote is not closed")?;
            self.at += 1;
            if byte == quote {
                return Ok(());
            }
        }
    }

    /// A here-document begins behind the next line break; whether one in quotes counts differs.
    fn hold_no_document(&self, start: usize) -> Cut<()> {
        match !self.documents.is_empty() && self.bytes[start..self.at].contains(&b'\n') {
            true => Err("a here-document is more than this reader understands"),
            false => Ok(()),
        }
    }

    pub(super) fn double_quoted(&mut self) -> Cut<()> {
        let start = self.at;
        self.at += 1;
        self.text(Some(b'"'))?;
        self.hold_no_document(start)
    }

    /// Scans text in which substitutions are made, up to a quote, or to the end.
    pub(super) fn text(&mut self, quote: Option<u8>) -> Cut<()> {
        loop {
            match self.peek() {
                None if quote.is_none() => return Ok(()),
                None => return Err("a quote is not closed"),
                byte if byte == quote => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.at = self.end.min(self.at + 2),
                Some(b'$') => self.dollar(true)?,
                Some(b'`') => self.backticks()?,
                Some(_) => self.at += 1,
            }
        }
    }

    /// Scans what a dollar begins. `is_quoted` is whether it stands between double quotes.
    pub(super) fn dollar(&mut self, is_quoted: bool) -> Cut<()> {
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.ahead(1) == Some(b'(') => self.arithmetic(),
            Some(b'(') => {
                self.at += 1;
                self.substitution()
            }
            Some(b'{') => self.expansion(),
            Some(b'\'') if !is_quoted => self.ansi_quoted(),
            Some(b'[') => Err("arithmetic is more than this reader understands"),
            Some(b'#' | b'$' | b'!' | b'?' | b'*' | b'@' | b'-') => {
                self.at += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// `$'…'`. A shell that does not know it ends it at a quote behind a backslash.
    fn ansi_quoted(&mut self) -> Cut<()> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err("a quote is not closed"),
                Some(b'\n') => return Err("a line break stands in `$'…'`"),
                Some(b'\'') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') if self.ahead(1) == Some(b'\'') => {
                    return Err("a backslash stands before a quote");
                }
                Some(b'\\') => self.at = self.end.min(self.at + 2),
                Some(_) => self.at += 1,
            }
        }
    }

    /// `$((…))` of numbers, names and operators.
    fn arithmetic(&mut self) -> Cut<()> {
        const NOT_READ: Cut<()> = Err("arithmetic is more than this reader understands");
        self.at += 2;
        let mut open = 2_usize;
        while open > 0 {
            match self.peek() {
                Some(b'(') => open += 1,
                Some(b')') => open -= 1,
                Some(byte) if byte.is_ascii_alphanumeric() => {}
                Some(
                    b' ' | b'\t' | b'_' | b'$' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>'
                    | b'=' | b'!' | b'&' | b'|' | b'^' | b'~' | b',' | b'?' | b':',
                ) if open > 1 => {}
                _ => return NOT_READ,
            }
            self.at += 1;
        }
        Ok(())
    }

    /// `${…}` without quotes or expansions in it.
    fn expansion(&mut self) -> Cut<()> {
        self.at += 1;
        // `${ a; }` runs a command in newer shells.
        if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            return Err("`${` stands for something else");
        }
        loop {
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                None | Some(b'\'' | b'"' | b'`' | b'\\' | b'$' | b'{' | b'\n' | b'<' | b'>') => {
                    return Err("`${` stands for something else");
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// The commands behind `$(` or `<(`, and the parenthesis that closes them.
    pub(super) fn substitution(&mut self) -> Cut<()> {
        self.commands(true)?;
        self.at += 1;
        Ok(())
    }

    /// A shell looks for the closing backtick first and for nothing else.
    pub(super) fn backticks(&mut self) -> Cut<()> {
        self.at += 1;
        let inside = &self.bytes[self.at..self.end];
        let length = inside
            .iter()
            .position(|byte| *byte == b'`')
            .ok_or("a backtick is not closed")?;
        if inside[..length].contains(&b'\\') {
            return Err("a backslash stands between backticks");
        }
        let end = std::mem::replace(&mut self.end, self.at + length);
        self.commands(false)?;
        self.end = end;
        self.at += 1;
        Ok(())
    }

    fn commands(&mut self, closes: bool) -> Cut<()> {
        let start = self.at;
        let documents = std::mem::take(&mut self.documents);
        let in_substitution = std::mem::replace(&mut self.in_substitution, true);
        self.list(closes)?;
        if !self.documents.is_empty() {
            return Err("a here-document is not closed");
        }
        self.in_substitution = in_substitution;
        self.documents = documents;
        self.hold_no_document(start)
    }
}
