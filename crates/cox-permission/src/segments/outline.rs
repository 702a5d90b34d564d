//! Where the comments and the words of a line are, as bash, dash and sh cut it.
//!
//! A scanner that knows quotes, substitutions, here-documents and where a word begins, and no grammar beyond. Both readers
//! see the line without its comments and with blanks in place of a backslash and a line break, so that a verdict depends
//! on neither; and what the second one takes for a word must be a word here, whatever its own grammar says. What shells cut differently from each other, or from their own
//! older versions, cannot be told: such a line keeps its comments and asks.

mod document;
mod quotes;

use std::ops::Range;

use self::document::Document;

/// How deep substitutions and subshells may be nested.
const MAX_DEPTH: usize = 60;

type Cut<T> = Result<T, &'static str>;

/// A line without its comments.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The line: of a comment, nothing is left but the line break behind it; a backslash and a line break between words
    /// are two blanks.
    pub(super) bare: String,
    /// The words in it, those of substitutions too, in bytes of `bare`; ascending.
    words: Vec<(usize, usize)>,
}

impl Outline {
    /// Cuts a line.
    ///
    /// # Errors
    ///
    /// What stopped the scanner.
    pub(super) fn of(line: &str) -> Cut<Self> {
        let mut scan = Scan {
            bytes: line.as_bytes(),
            at: 0,
            end: line.len(),
            depth: 0,
            in_substitution: false,
            comments: Vec::new(),
            joints: Vec::new(),
            words: Vec::new(),
            documents: Vec::new(),
        };
        scan.list(false)?;
        if !scan.documents.is_empty() {
            return Err("a here-document is not closed");
        }
        let Scan {
            comments,
            joints,
            mut words,
            ..
        } = scan;
        words.sort_unstable();
        let mut bare = String::with_capacity(line.len());
        let mut kept = 0;
        let gone = comments.iter().map(|comment| (comment.clone(), ""));
        let joined = joints.iter().map(|at| (*at..at + 2, "  "));
        let mut edits: Vec<_> = gone.chain(joined).collect();
        edits.sort_unstable_by_key(|(place, _)| place.start);
        for (place, instead) in edits {
            bare.push_str(line.get(kept..place.start).unwrap_or_default());
            bare.push_str(instead);
            kept = place.end;
        }
        bare.push_str(line.get(kept..).unwrap_or_default());
        shift(&mut words, &comments);
        Ok(Self { bare, words })
    }

    /// Says whether a word stands at this place.
    pub(super) fn is_word(&self, start: usize, end: usize) -> bool {
        self.words.binary_search(&(start, end)).is_ok()
    }
}

/// Moves words to where they stand once the comments are gone.
fn shift(words: &mut [(usize, usize)], comments: &[Range<usize>]) {
    if comments.is_empty() {
        return;
    }
    // How much is gone up to the end of each comment.
    let mut gone = vec![0];
    for comment in comments {
        gone.push(gone[gone.len() - 1] + comment.len());
    }
    let moved = |at: usize| at - gone[comments.partition_point(|comment| comment.end <= at)];
    for (start, end) in words {
        (*start, *end) = (moved(*start), moved(*end));
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the part that is being scanned ends.
    end: usize,
    depth: usize,
    /// Whether this part is found by its closing parenthesis or backtick, by older shells before they look for comments.
    in_substitution: bool,
    comments: Vec<Range<usize>>,
    /// Where a backslash and a line break stand between words.
    joints: Vec<usize>,
    words: Vec<(usize, usize)>,
    /// Here-documents that begin behind the next line break.
    documents: Vec<Document>,
}

/// Where a list of commands is.
#[derive(Default)]
struct Place {
    /// Whether a plain word stands before in the same command: then `[[` is none of the grammar.
    has_program: bool,
    /// Whether the next word is a name, behind `for` and `function`.
    is_name: bool,
    /// Between `[[` and `]]`.
    in_test: bool,
    /// The `case`s that are open.
    cases: Vec<Case>,
}

/// What comes next in a `case`.
#[derive(Clone, Copy, PartialEq)]
enum Case {
    Subject,
    In,
    Pattern,
    Body,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Option<u8> {
        let at = self.at + by;
        match at < self.end {
            true => self.bytes.get(at).copied(),
            false => None,
        }
    }

    fn follows(&self, text: &[u8]) -> bool {
        self.bytes
            .get(self.at..self.end)
            .is_some_and(|rest| rest.starts_with(text))
    }

    /// Scans commands up to the end, or up to the parenthesis that closes them.
    fn list(&mut self, closes: bool) -> Cut<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("it is nested too deep");
        }
        let mut place = Place::default();
        loop {
            match self.peek() {
                None if closes => return Err("a parenthesis is not closed"),
                None => break,
                Some(b')') if place.cases.last() == Some(&Case::Pattern) => {
                    self.at += 1;
                    place.case(Case::Body);
                    place.has_program = false;
                }
                Some(b')') if closes => break,
                Some(b')') => return Err("a parenthesis is not opened"),
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.ahead(1) == Some(b'\n') => self.joint()?,
                Some(b'\n') => {
                    self.at += 1;
                    self.read_documents()?;
                    place.has_program = false;
                }
                Some(b'#') => self.comment(&place)?,
                Some(b'(') => self.parenthesis(&mut place)?,
                Some(b';' | b'&' | b'|') => self.separator(&mut place),
                Some(b'<' | b'>') if self.ahead(1) != Some(b'(') => self.redirect(&place)?,
                Some(_) => self.word(&mut place)?,
            }
        }
        self.depth -= 1;
        match place.in_test || !place.cases.is_empty() {
            true => Err("a test or a `case` is not closed"),
            false => Ok(()),
        }
    }

    fn before(&self) -> Option<u8> {
        let at = self.at.checked_sub(1)?;
        self.bytes.get(at).copied()
    }

    /// Behind anything but a blank, a shell joins what stands on both sides.
    fn joint(&mut self) -> Cut<()> {
        if !matches!(self.before(), None | Some(b' ' | b'\t' | b'\n')) {
            return Err("a backslash is more than this reader understands");
        }
        self.joints.push(self.at);
        self.at += 2;
        Ok(())
    }

    /// A comment ends before the line break; a backslash before that means nothing.
    fn comment(&mut self, place: &Place) -> Cut<()> {
        let start = self.at;
        if place.in_test || matches!(self.before(), Some(b'<' | b'>')) {
            return Err("a `#` is more than this reader understands");
        }
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
        let comment = start..self.at;
        let is_plain = |byte: &u8| {
            !matches!(
                byte,
                b'\'' | b'"' | b'`' | b'\\' | b'(' | b')' | b'{' | b'}' | b'<'
            )
        };
        // Older shells look for the end of a substitution in its comments too.
        if self.in_substitution && !self.bytes[comment.clone()].iter().all(is_plain) {
            return Err("a comment in a substitution holds more than words");
        }
        self.comments.push(comment);
        Ok(())
    }

    fn parenthesis(&mut self, place: &mut Place) -> Cut<()> {
        self.at += 1;
        place.has_program = false;
        if place.cases.last() == Some(&Case::Pattern) {
            return Ok(());
        }
        if place.in_test || self.peek() == Some(b'(') {
            return Err("arithmetic is more than this reader understands");
        }
        self.list(true)?;
        self.at += 1;
        Ok(())
    }

    fn separator(&mut self, place: &mut Place) {
        if self.follows(b"&>") {
            self.at += 1;
            return;
        }
        let ends_case = self.follows(b";;") || self.follows(b";&");
        self.at += if ends_case { 2 } else { 1 };
        place.has_program = false;
        if ends_case && place.cases.last() == Some(&Case::Body) {
            place.case(Case::Pattern);
            // `;;&`
            self.at += usize::from(self.peek() == Some(b'&'));
        }
    }

    fn redirect(&mut self, place: &Place) -> Cut<()> {
        if self.follows(b"<<<") {
            self.at += 3;
            return Ok(());
        }
        if self.follows(b"<<") {
            return match place.in_test {
                true => Err("a here-document is more than this reader understands"),
                false => self.document(),
            };
        }
        self.at += 1;
        if matches!(self.peek(), Some(b'&' | b'|' | b'>')) {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, place: &mut Place) -> Cut<()> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'(' if self.ahead(1) == Some(b')') => break,
                b'(' => return Err("a parenthesis here is more than this reader understands"),
                b'<' | b'>' if self.ahead(1) == Some(b'(') => {
                    self.at += 2;
                    self.substitution()?;
                }
                b'<' | b'>' => break,
                b'\\' if self.ahead(1) == Some(b'\n') => {
                    return Err("a backslash is more than this reader understands");
                }
                b'\\' => self.at = self.end.min(self.at + 2),
                b'\'' => self.single_quoted()?,
                b'"' => self.double_quoted()?,
                b'`' => self.backticks()?,
                b'$' => self.dollar(false)?,
                _ => self.at += 1,
            }
        }
        let text = &self.bytes[start..self.at];
        if matches!(self.peek(), Some(b'<' | b'>')) {
            if text.iter().all(u8::is_ascii_digit) {
                return Ok(());
            }
            if text.starts_with(b"{") && text.ends_with(b"}") && text != b"{}" {
                return Err("braces are more than this reader understands");
            }
        }
        self.words.push((start, self.at));
        place.after(text, self.in_substitution)
    }
}

impl Place {
    fn case(&mut self, next: Case) {
        if let Some(case) = self.cases.last_mut() {
            *case = next;
        }
    }

    /// Notes what a word means for the words behind it.
    fn after(&mut self, text: &[u8], in_substitution: bool) -> Cut<()> {
        if self.in_test {
            self.in_test = text != b"]]";
            return Ok(());
        }
        match self.cases.last() {
            Some(Case::Subject) => {
                self.case(Case::In);
                return Ok(());
            }
            Some(Case::In) => {
                self.case(Case::Pattern);
                return match text {
                    b"in" => Ok(()),
                    _ => Err("a `case` has no `in`"),
                };
            }
            Some(Case::Pattern) => {
                if text == b"esac" {
                    self.cases.pop();
                }
                return Ok(());
            }
            Some(Case::Body) | None => {}
        }
        if self.has_program || std::mem::take(&mut self.is_name) {
            return Ok(());
        }
        match text {
            b"[[" => self.in_test = true,
            // Older shells take the first parenthesis of a pattern for the end of a substitution.
            b"case" if in_substitution => return Err("a `case` in a substitution"),
            b"case" => self.cases.push(Case::Subject),
            b"esac" => drop(self.cases.pop()),
            b"for" | b"select" | b"function" => self.is_name = true,
            b"coproc" => return Err("`coproc` is more than this reader understands"),
            b"if" | b"then" | b"else" | b"elif" | b"fi" | b"while" | b"until" | b"do" | b"done"
            | b"{" | b"}" | b"!" | b"time" => {}
            // What is set before a program, and the options of `time`.
            _ if text.starts_with(b"-") || text.contains(&b'=') => {}
            _ => self.has_program = true,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
