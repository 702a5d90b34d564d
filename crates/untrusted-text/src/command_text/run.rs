//! Runs of lines that say the same.

/// Fewest lines that are folded.
const MIN: usize = 3;

/// Words of lines that a reader acts upon: these fold only when they are the same to the letter.
const DIAGNOSTIC: [&str; 4] = ["error", "panicked", "failed", "warning:"];

/// A run of lines that are the same but for their digits.
#[derive(Debug, Default)]
pub(super) struct Run {
    key: String,
    first: String,
    /// The second line, in case that no third comes.
    second: String,
    count: usize,
    /// Whether the last line has its end.
    is_ended: bool,
    has_folded: bool,
}

impl Run {
    /// Takes a line without its end; `is_ended` says whether it has one.
    pub(super) fn line(&mut self, line: &str, is_ended: bool, out: &mut String) {
        if self.count > 0 && !line.trim_ascii().is_empty() {
            // Most repeats are exact, and comparing is much cheaper than taking a line apart.
            if line == self.first || key(line) == self.key {
                self.count += 1;
                self.is_ended = is_ended;
                if self.count == 2 {
                    line.clone_into(&mut self.second);
                }
                return;
            }
        }
        self.flush(out);
        self.is_ended = is_ended;
        self.key = key(line);
        line.clone_into(&mut self.first);
        self.count = 1;
    }

    /// Adds what the run comes to.
    pub(super) fn flush(&mut self, out: &mut String) {
        let count = std::mem::take(&mut self.count);
        if count == 0 {
            return;
        }
        out.push_str(&self.first);
        if count >= MIN {
            out.push_str(&format!(" (×{count})"));
            self.has_folded = true;
        } else if count == 2 {
            out.push('\n');
            out.push_str(&self.second);
        }
        if self.is_ended {
            out.push('\n');
        }
    }

    pub(super) fn has_folded(&self) -> bool {
        self.has_folded
    }
}

/// Returns what two lines must share to be one run: the line with each number replaced. Diagnostics stay as they are,
/// and so do lines without a letter: their numbers are what they say.
fn key(line: &str) -> String {
    let lower = line.to_lowercase();
    let is_exact = !line.chars().any(char::is_alphabetic)
        || DIAGNOSTIC.iter().any(|word| lower.contains(word));
    if is_exact || !line.contains(|char: char| char.is_ascii_digit()) {
        return line.to_owned();
    }
    let mut key = String::with_capacity(line.len());
    let mut in_number = false;
    for char in line.chars() {
        let is_digit = char.is_ascii_digit();
        if !is_digit {
            key.push(char);
        } else if !in_number {
            key.push('0');
        }
        in_number = is_digit;
    }
    key
}
