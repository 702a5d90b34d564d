//! The terminal filter for text that comes in pieces.
//!
//! A piece may end inside an escape sequence, between CR and LF, or before the second half of an emoji: what cannot be
//! judged yet waits for the next piece. All pieces together give what [`super::for_terminal`] makes of the whole, with
//! one exception: a control string that has not ended [`MAX_HELD`] bytes after its line is given up.

use super::{CARRIAGE_RETURN, is_hidden, is_part_of_emoji, push_code_point};

/// Most text that waits for the end of a control string, in bytes after its first line break.
pub const MAX_HELD: usize = 4096;

/// Makes foreign text safe to print, piece by piece.
#[derive(Clone, Debug)]
pub struct TerminalStream(Filter);

impl TerminalStream {
    /// Starts with nothing read.
    pub fn new() -> Self {
        Self(Filter::new(false))
    }

    /// Takes the next piece and returns what can be printed by now.
    pub fn push(&mut self, piece: &str) -> String {
        let mut safe = String::with_capacity(piece.len());
        self.0.push(piece, &mut safe);
        safe
    }

    /// Ends the text, returns what was still waiting, and starts anew.
    pub fn finish(&mut self) -> String {
        let mut safe = String::new();
        self.0.finish(&mut safe);
        safe
    }
}

impl Default for TerminalStream {
    fn default() -> Self {
        Self::new()
    }
}

/// Where in the text the filter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// After CRs.
    Return,
    /// After a joiner whose right side has not come.
    Joiner,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate byte.
    EscapeTail,
    /// Among the parameters of a control sequence.
    Csi,
    /// Among its intermediate bytes.
    CsiTail,
    /// In a control string.
    ControlString,
    /// In a control string, after ESC.
    ControlStringEscape,
}

/// The filter itself. A bare one keeps CRs and characters without room: for a reader that is no terminal.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    is_bare: bool,
    state: State,
    /// What came out last.
    last: Option<char>,
    /// What follows the first line break of a control string: shown if the string never ends.
    held: String,
}

impl Filter {
    pub(crate) fn new(is_bare: bool) -> Self {
        Self {
            is_bare,
            state: State::Text,
            last: None,
            held: String::new(),
        }
    }

    /// Takes the next piece and adds what can be told by now to `out`.
    pub(crate) fn push(&mut self, piece: &str, out: &mut String) {
        let mut rest = piece;
        while !rest.is_empty() {
            if self.state == State::Text {
                let plain = rest
                    .bytes()
                    .position(|byte| !matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
                    .unwrap_or(rest.len());
                if plain > 0 {
                    let (plain, after) = rest.split_at(plain);
                    out.push_str(plain);
                    self.last = plain.chars().next_back();
                    rest = after;
                    continue;
                }
            }
            let mut chars = rest.chars();
            if let Some(char) = chars.next() {
                self.step(char, out);
            }
            rest = chars.as_str();
        }
    }

    /// Ends the text and starts anew.
    pub(crate) fn finish(&mut self, out: &mut String) {
        if self.state == State::ControlString {
            self.release(out);
        }
        match self.state {
            State::Return => self.emit(CARRIAGE_RETURN, out),
            State::Joiner => push_code_point(out, JOINER),
            _ => {}
        }
        *self = Self::new(self.is_bare);
    }

    fn step(&mut self, char: char, out: &mut String) {
        match self.state {
            State::Text => self.text(char, out),
            State::Return if char == '\r' => {}
            State::Return => {
                if char != '\n' {
                    self.emit(CARRIAGE_RETURN, out);
                }
                self.again(char, out);
            }
            State::Joiner => {
                let mut after = [0; 4];
                self.hidden(JOINER, char.encode_utf8(&mut after), out);
                self.again(char, out);
            }
            State::Escape => match char {
                '[' => self.state = State::Csi,
                ']' | 'P' | 'X' | '^' | '_' => self.state = State::ControlString,
                ' '..='/' => self.state = State::EscapeTail,
                '0'..='~' => self.state = State::Text,
                _ => self.again(char, out),
            },
            State::EscapeTail => match char {
                ' '..='/' => {}
                '0'..='~' => self.state = State::Text,
                _ => self.again(char, out),
            },
            State::Csi if matches!(char, '0'..='?') => {}
            State::Csi | State::CsiTail => match char {
                ' '..='/' => self.state = State::CsiTail,
                '@'..='~' => self.state = State::Text,
                _ => self.again(char, out),
            },
            State::ControlString => match char {
                '\u{7}' | '\u{9c}' => self.drop_string(State::Text),
                '\u{1b}' => self.state = State::ControlStringEscape,
                '\u{18}' | '\u{1a}' | '\u{80}'..='\u{9f}' => {
                    self.drop_string(State::Text);
                    self.text(char, out);
                }
                _ => {
                    if char == '\n' || !self.held.is_empty() {
                        self.held.push(char);
                    }
                    if self.held.len() > MAX_HELD {
                        self.release(out);
                    }
                }
            },
            State::ControlStringEscape if char == '\\' => self.drop_string(State::Text),
            State::ControlStringEscape => {
                self.drop_string(State::Escape);
                self.step(char, out);
            }
        }
    }

    /// Reads a character again as ordinary text.
    fn again(&mut self, char: char, out: &mut String) {
        self.state = State::Text;
        self.text(char, out);
    }

    fn text(&mut self, char: char, out: &mut String) {
        match char {
            '\u{1b}' => self.state = State::Escape,
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.state = State::ControlString,
            '\u{9b}' => self.state = State::Csi,
            '\n' | '\t' => self.emit(char, out),
            '\r' if self.is_bare => self.emit(char, out),
            '\r' => self.state = State::Return,
            _ if char.is_control() => {}
            _ if self.is_bare || !is_hidden(char) => self.emit(char, out),
            JOINER => self.state = State::Joiner,
            _ => self.hidden(char, "", out),
        }
    }

    /// Shows a character that takes no room: as it is inside an emoji, else written out.
    fn hidden(&mut self, char: char, after: &str, out: &mut String) {
        let mut before = [0; 4];
        let before = self.last.map_or("", |last| last.encode_utf8(&mut before));
        if is_part_of_emoji(char, before, after) {
            self.emit(char, out);
        } else {
            push_code_point(out, char);
            self.last = Some('>');
        }
    }

    fn emit(&mut self, char: char, out: &mut String) {
        out.push(char);
        self.last = Some(char);
    }

    fn drop_string(&mut self, state: State) {
        self.held.clear();
        self.state = state;
    }

    /// Shows what follows the line of a control string that does not end.
    fn release(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        self.state = State::Text;
        held.chars().for_each(|char| self.step(char, out));
    }
}

/// The joiner of emoji.
const JOINER: char = '\u{200d}';

#[cfg(test)]
mod tests;
