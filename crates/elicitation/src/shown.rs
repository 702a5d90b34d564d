//! What a server wrote, as a person may see it.

use std::fmt;

use untrusted_text::terminal::{for_terminal, one_line};

/// Foreign text that is cut and safe for a terminal. Made by this crate alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shown(String);

impl Shown {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns one line of at most `max_chars` characters; a longer text ends in `…`.
    pub(crate) fn line(text: &str, max_chars: usize) -> Self {
        Self(one_line(text, max_chars))
    }

    /// Returns text of several lines, at most `max_chars` characters and a note about what was cut.
    pub(crate) fn paragraph(text: &str, max_chars: usize) -> Self {
        let safe = for_terminal(text);
        let safe = safe.trim();
        match safe.char_indices().nth(max_chars) {
            None => Self(safe.to_owned()),
            Some((at, _)) => Self(format!(
                "{}… ({} more characters)",
                &safe[..at],
                safe[at..].chars().count()
            )),
        }
    }

    /// Returns the text with something of ours behind it.
    pub(crate) fn with(&self, ours: &str) -> Self {
        Self(format!("{}{ours}", self.0))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Shown;

    #[test]
    fn a_long_text_says_how_much_was_cut() {
        assert_eq!(
            Shown::paragraph("ab\u{1b}[31mc\nd", 4).as_str(),
            "abc\nd".get(..4).unwrap().to_owned() + "… (1 more characters)"
        );
        assert_eq!(Shown::paragraph("żółw", 4).as_str(), "żółw");
        assert_eq!(
            Shown::paragraph("żółwie", 4).as_str(),
            "żółw… (2 more characters)"
        );
        assert_eq!(Shown::line("a\nb\u{202e}c", 40).as_str(), "a␊b<U+202E>c");
    }
}
