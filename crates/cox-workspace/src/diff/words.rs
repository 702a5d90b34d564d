//! Which words of a changed line changed: marks for surfaces, within a deadline.
//!
//! The marks are made from the text of a diff as it is shown, after everything that was taken out of it, so that they fit it.

use std::{ops::Range, time::Duration};

use similar::{ChangeTag, TextDiff};

/// Time for the marks of a whole diff.
pub const MAX_TIME: Duration = Duration::from_millis(100);

/// Bytes of a line over which its words are not compared: nobody looks for a word in it.
const MAX_LINE: usize = 2000;

/// Part of a pair of lines that has to be the same in both, in percent; less is another line and not a changed one.
const LEAST_SAME: usize = 30;

/// The changed words of a diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Marked lines, in order; a line that is not here has no marks.
    pub lines: Vec<MarkedLine>,
    /// Whether the time did not suffice for all lines: those after the last that is here are plain.
    pub out_of_time: bool,
}

/// A line of a diff and the words of it that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedLine {
    /// The line, 0-based, as [`str::lines`] counts.
    pub line: usize,
    /// Byte ranges of the line, its `-` or `+` counted in; on character boundaries, in order, apart, never empty.
    pub words: Vec<Range<usize>>,
}

/// Returns the changed words of the lines of a unified diff that go in pairs: in a block with as many `-` as `+` lines, the
/// first with the first and so on.
///
/// `elapsed` tells the time since the start; after [`MAX_TIME`] the rest stays plain and the answer says so.
pub fn changed_words(diff: &str, elapsed: &dyn Fn() -> Duration) -> Marks {
    let lines: Vec<&str> = diff.lines().collect();
    let mut marks = Marks::default();
    let mut at = 0;
    while at < lines.len() {
        let removed = run(&lines, at, '-');
        let added = run(&lines, removed.end, '+');
        at = added.end.max(at + 1);
        // The two lines that name a file are one of each as well.
        let names_a_file = lines[removed.clone()]
            .first()
            .is_some_and(|line| line.starts_with("--- "))
            && lines[added.clone()]
                .first()
                .is_some_and(|line| line.starts_with("+++ "))
            && lines
                .get(added.start + 1)
                .is_some_and(|next| next.starts_with("@@"));
        if removed.len() != added.len() || names_a_file {
            continue;
        }
        let mut new_side = Vec::new();
        for (old, new) in removed.zip(added) {
            let left = MAX_TIME.saturating_sub(elapsed());
            let words = pair(lines[old], lines[new], left);
            // What was compared when the time ran out is coarse.
            if elapsed() >= MAX_TIME {
                marks.out_of_time = true;
                marks.lines.append(&mut new_side);
                marks.lines.retain(|line| !line.words.is_empty());
                return marks;
            }
            if let Some((old_words, new_words)) = words {
                marks.lines.push(MarkedLine {
                    line: old,
                    words: old_words,
                });
                new_side.push(MarkedLine {
                    line: new,
                    words: new_words,
                });
            }
        }
        marks.lines.append(&mut new_side);
        marks.lines.retain(|line| !line.words.is_empty());
    }
    marks
}

/// The lines from `start` on that begin with a sign.
fn run(lines: &[&str], start: usize, sign: char) -> Range<usize> {
    let length = lines[start..]
        .iter()
        .take_while(|line| line.starts_with(sign))
        .count();
    start..start + length
}

/// Ranges of a line, in order and apart.
type Words = Vec<Range<usize>>;

/// The changed words of two lines; none when they have too little in common. Coarse when it takes longer than `left`.
fn pair(old: &str, new: &str, left: Duration) -> Option<(Words, Words)> {
    if left.is_zero() || old.len().max(new.len()) > MAX_LINE {
        return None;
    }
    let (mut old_words, mut new_words) = (Vec::new(), Vec::new());
    let (mut old_at, mut new_at, mut same) = (1, 1, 0);
    let (old_tokens, new_tokens) = (tokens(&old[1..]), tokens(&new[1..]));
    let words = TextDiff::configure()
        .timeout(left)
        .diff_slices(&old_tokens, &new_tokens);
    for change in words.iter_all_changes() {
        let length = change.value().len();
        match change.tag() {
            ChangeTag::Equal => {
                same += change.value().trim().len();
                old_at += length;
                new_at += length;
            }
            ChangeTag::Delete => mark(&mut old_words, &mut old_at, length),
            ChangeTag::Insert => mark(&mut new_words, &mut new_at, length),
        }
    }
    let longest = old.trim_end().len().max(new.trim_end().len());
    (same * 100 >= longest * LEAST_SAME).then_some((old_words, new_words))
}

/// Cuts a text into words, white space, and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        _ if c.is_alphanumeric() || c == '_' => 1,
        _ if c.is_whitespace() => 2,
        _ => 0,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut before = 0;
    for (at, c) in text.char_indices() {
        let now = kind(c);
        if at > 0 && (now == 0 || now != before) {
            tokens.push(&text[start..at]);
            start = at;
        }
        before = now;
    }
    if start < text.len() {
        tokens.push(&text[start..]);
    }
    tokens
}

/// Adds the next `length` bytes; what touches the range before becomes one with it.
fn mark(words: &mut Vec<Range<usize>>, at: &mut usize, length: usize) {
    let end = *at + length;
    match words.last_mut() {
        Some(last) if last.end == *at => last.end = end,
        _ if length > 0 => words.push(*at..end),
        _ => {}
    }
    *at = end;
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    const NO_TIME: &dyn Fn() -> Duration = &|| Duration::ZERO;

    /// The diff with brackets around what is marked.
    fn shown(diff: &str) -> String {
        let marks = changed_words(diff, NO_TIME);
        let mut out = String::new();
        for (at, line) in diff.lines().enumerate() {
            let mut from = 0;
            for marked in marks.lines.iter().filter(|marked| marked.line == at) {
                for word in &marked.words {
                    out.push_str(&format!(
                        "{}[{}]",
                        &line[from..word.start],
                        &line[word.clone()]
                    ));
                    from = word.end;
                }
            }
            out.push_str(&line[from..]);
            out.push('\n');
        }
        out
    }

    #[test]
    fn the_words_that_changed_are_marked_in_both_lines() {
        let cases = [
            (
                "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n keep\n-let größe = 1;\n+let größe = 22;\n",
                "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n keep\n-let größe = [1];\n+let größe = [22];\n",
            ),
            // Two and two: first with first.
            (
                "-call(a, b)\n-done\n+call(a, c)\n+done too\n",
                "-call(a, [b])\n-done\n+call(a, [c])\n+done[ too]\n",
            ),
            // Other lines, or not as many of them: plain.
            (
                "-one thing\n+quite another\n",
                "-one thing\n+quite another\n",
            ),
            ("-a b c\n+a b d\n+a b e\n", "-a b c\n+a b d\n+a b e\n"),
            // A removed line that looks like a file's name.
            (
                "--- SELECT name\n+++ SELECT size\n",
                "-[--] SELECT [name]\n+[++] SELECT [size]\n",
            ),
        ];
        for (diff, marked) in cases {
            assert_eq!(shown(diff), marked);
        }
    }

    #[test]
    fn what_is_not_compared_in_time_stays_plain_and_the_marks_say_so() {
        let diff = "-a b c\n+a b d\n same\n-a b c\n+a b d\n";
        let calls = Cell::new(0);
        let clock = || {
            calls.set(calls.get() + 1);
            if calls.get() > 2 {
                MAX_TIME
            } else {
                Duration::ZERO
            }
        };
        let marks = changed_words(diff, &clock);
        assert!(marks.out_of_time);
        let lines: Vec<usize> = marks.lines.iter().map(|line| line.line).collect();
        assert_eq!(lines, [0, 1]);
        assert!(!changed_words(diff, NO_TIME).out_of_time);
    }

    #[test]
    fn two_long_lines_are_not_compared_beyond_the_time() {
        // Two lines without a common word, as long as lines that are compared may be.
        let side = |sign: char, word: &str| {
            format!("{sign}{}\n", format!("{word} ").repeat(MAX_LINE / 2 - 1))
        };
        let diff = side('-', ".") + &side('+', ",");
        let calls = Cell::new(0);
        // The time is up while the first pair is compared.
        let clock = || {
            calls.set(calls.get() + 1);
            if calls.get() > 1 {
                MAX_TIME
            } else {
                MAX_TIME - Duration::from_nanos(1)
            }
        };
        let marks = changed_words(&diff, &clock);
        assert!(marks.out_of_time);
        assert_eq!(marks.lines, []);
    }

    proptest! {
        #[test]
        fn marks_lie_in_their_lines_on_character_boundaries(diff in "([-+ @][aé\u{1F600} .\u{1b}]{0,12}\n){0,12}") {
            let lines: Vec<&str> = diff.lines().collect();
            for marked in changed_words(&diff, NO_TIME).lines {
                let line = lines[marked.line];
                prop_assert!(!marked.words.is_empty());
                let mut from = 1;
                for word in marked.words {
                    prop_assert!(word.start >= from && word.end > word.start, "{word:?}");
                    prop_assert!(line.get(word.clone()).is_some(), "{word:?} of {line:?}");
                    from = word.end + 1;
                }
            }
        }
    }
}
