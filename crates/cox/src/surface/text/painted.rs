//! A diff in colours: what goes red, what comes green, and the words that changed in reverse.
//!
//! It is given what is shown, after everything that a terminal acts on was taken out of it, and adds nothing but colours
//! and the indentation of what stands below a call. Each line ends as it began, so that a line in between is not painted.

use std::{ops::Range, time::Duration};

use cox_workspace::diff::words::changed_words;

use crate::settings::environment::Environment;

const REMOVED: &str = "\u{1b}[31m";
const ADDED: &str = "\u{1b}[32m";
const PLACE: &str = "\u{1b}[36m";
const NAME: &str = "\u{1b}[1m";
const WORD: &str = "\u{1b}[7m";
const END_OF_WORD: &str = "\u{1b}[27m";
const PLAIN: &str = "\u{1b}[0m";

/// Says whether colours are wanted: on a terminal that has them, where nobody has set `NO_COLOR`.
pub(crate) fn are_wanted(environment: &Environment, is_terminal: bool) -> bool {
    let has_colours = environment.text("TERM").is_some_and(|term| term != "dumb");
    is_terminal && has_colours && environment.path("NO_COLOR").is_none()
}

/// Paints a unified diff that is safe for a terminal. `elapsed` tells the time since the start: words that are not compared
/// in time are not marked.
pub(crate) fn painted(diff: &str, elapsed: &dyn Fn() -> Duration) -> String {
    let marks = changed_words(diff, elapsed);
    let mut marked = marks.lines.iter().peekable();
    let mut left = (0, 0);
    let mut out = String::with_capacity(2 * diff.len());
    for (at, line) in diff.lines().enumerate() {
        let words = match marked.next_if(|marked| marked.line == at) {
            Some(marked) => marked.words.as_slice(),
            None => &[],
        };
        out.push_str("  ");
        match colour_of(line, &mut left) {
            Some(colour) => {
                out.push_str(colour);
                push_marked(&mut out, line, words);
                out.push_str(PLAIN);
            }
            None => out.push_str(line.trim_end()),
        }
        out.push('\n');
    }
    out
}

/// The colour of a line; `left` are the old and new lines that the hunk still has.
fn colour_of(line: &str, left: &mut (usize, usize)) -> Option<&'static str> {
    let is_in_hunk = *left != (0, 0);
    match line.chars().next()? {
        '-' if left.0 > 0 => {
            left.0 -= 1;
            Some(REMOVED)
        }
        '+' if left.1 > 0 => {
            left.1 -= 1;
            Some(ADDED)
        }
        ' ' if is_in_hunk => {
            *left = (left.0.saturating_sub(1), left.1.saturating_sub(1));
            None
        }
        '@' if !is_in_hunk => {
            *left = counts(line).unwrap_or_default();
            Some(PLACE)
        }
        '-' | '+' if !is_in_hunk => Some(NAME),
        _ => None,
    }
}

/// How many old and new lines a hunk has, by its header `@@ -12,3 +12 @@`.
fn counts(header: &str) -> Option<(usize, usize)> {
    let mut ranges = header.split(' ').skip(1);
    let mut count = |sign| {
        let range = ranges.next()?.strip_prefix(sign)?;
        range
            .split_once(',')
            .map_or(Some(1), |(_, count)| count.parse().ok())
    };
    Some((count('-')?, count('+')?))
}

fn push_marked(out: &mut String, line: &str, words: &[Range<usize>]) {
    let mut from = 0;
    for word in words {
        out.push_str(&line[from..word.start]);
        out.push_str(WORD);
        out.push_str(&line[word.clone()]);
        out.push_str(END_OF_WORD);
        from = word.end;
    }
    out.push_str(&line[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The painted diff with a sign for each colour.
    fn shown(diff: &str, elapsed: &dyn Fn() -> Duration) -> String {
        let mut shown = painted(diff, elapsed);
        for (colour, sign) in [
            (REMOVED, "<red>"),
            (ADDED, "<green>"),
            (PLACE, "<cyan>"),
            (NAME, "<bold>"),
            (WORD, "["),
            (END_OF_WORD, "]"),
            (PLAIN, "<>"),
        ] {
            shown = shown.replace(colour, sign);
        }
        shown
    }

    #[test]
    fn changed_words_are_marked_in_lines_of_one_colour() {
        let diff = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n keep  \n-let größe = 1;\n--- old name\n+let größe = 22;\n+-- new name\n\
                    --- a/g\n+++ b/g\n@@ -1 +1,2 @@\n x\n+y \n… 3 more lines";
        assert_eq!(
            shown(diff, &|| Duration::ZERO),
            "  <bold>--- a/f<>\n  <bold>+++ b/f<>\n  <cyan>@@ -1,3 +1,3 @@<>\n   keep\n  \
             <red>-let größe = [1];<>\n  <red>--- [old] name<>\n  <green>+let größe = [22];<>\n  <green>+-- [new] name<>\n  \
             <bold>--- a/g<>\n  <bold>+++ b/g<>\n  <cyan>@@ -1 +1,2 @@<>\n   x\n  <green>+y <>\n  … 3 more lines\n"
        );
    }

    #[test]
    fn words_that_are_not_compared_in_time_are_not_marked() {
        let diff = "@@ -1 +1 @@\n-a b c\n+a b d\n";
        assert_eq!(
            shown(diff, &|| Duration::MAX),
            "  <cyan>@@ -1 +1 @@<>\n  <red>-a b c<>\n  <green>+a b d<>\n"
        );
    }

    #[test]
    fn a_text_that_is_no_diff_is_left_as_it_is() {
        assert_eq!(
            shown("(too large for a diff)\n@@ nonsense\n-a\n", &|| {
                Duration::ZERO
            }),
            "  (too large for a diff)\n  <cyan>@@ nonsense<>\n  <bold>-a<>\n"
        );
        assert_eq!(shown("", &|| Duration::ZERO), "");
    }

    #[test]
    fn colours_are_for_terminals_that_have_them_and_people_who_want_them() {
        let with = |variables: &[(&str, &str)]| Environment::of(variables);
        assert!(are_wanted(&with(&[("TERM", "xterm")]), true));
        assert!(are_wanted(
            &with(&[("TERM", "xterm"), ("NO_COLOR", "")]),
            true
        ));
        assert!(!are_wanted(
            &with(&[("TERM", "xterm"), ("NO_COLOR", "1")]),
            true
        ));
        assert!(!are_wanted(&with(&[("TERM", "dumb")]), true));
        assert!(!are_wanted(&with(&[]), true));
        assert!(!are_wanted(&with(&[("TERM", "xterm")]), false));
    }
}
