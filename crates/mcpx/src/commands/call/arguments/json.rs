//! JSON that a person typed, and where it is wrong: line, column, and a mark below the place.

use mcp_wire::Raw;
use serde::de::IgnoredAny;

use crate::exit::Failure;
use crate::render::width::{fitted, width};

/// How much of a wrong line is quoted before its place, in columns.
const BEFORE: usize = 48;
/// How much of it is quoted behind its place.
const BEHIND: usize = 24;

/// JSON; otherwise the place of what is wrong: line, column, what was expected, and the line itself with a mark below.
///
/// `what` is said to be no JSON: `the arguments`; `example` is what it could have been.
pub(in crate::commands) fn json(text: &str, what: &str, example: &str) -> Result<Raw, Failure> {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or_default();
        let (line, at) = place_of(text, &error);
        return Err(
            wrong(text, (line, at), &format!("{what} are no JSON: {why}"))
                .hint(advice(text, example)),
        );
    }
    Raw::parse(text).map_err(|error| Failure::usage(format!("{what} are no JSON: {error}")))
}

/// A failure that shows its place: `place` is the line, from 0, and the byte in it.
pub(in crate::commands) fn wrong(text: &str, place: (usize, usize), why: &str) -> Failure {
    let (line, at) = place;
    let shown = text.lines().nth(line).unwrap_or_default();
    let mut at = at.min(shown.len());
    while !shown.is_char_boundary(at) {
        at -= 1;
    }
    let column = shown[..at].chars().count() + 1;
    let mut failure = Failure::usage(format!(
        "{why} at line {}, column {column}\n{}",
        line + 1,
        marked(shown, at)
    ));
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    failure.error.data.set("line", number(line + 1));
    failure.error.data.set("column", number(column));
    failure
}

/// Where it is wrong: the line, from 0, and the byte in it. At the end of the text, and at the end of a line rather than
/// before the next.
fn place_of(text: &str, error: &serde_json::Error) -> (usize, usize) {
    let length = |line: usize| text.lines().nth(line).map_or(0, str::len);
    let line = error.line().max(1) - 1;
    if error.is_eof() {
        return (line, length(line));
    }
    if error.column() == 0 && line > 0 {
        return (line - 1, length(line - 1));
    }
    (line, error.column().max(1) - 1)
}

/// The line around a place, and a mark below the place.
fn marked(line: &str, at: usize) -> String {
    let mut before = plain(&line[..at]);
    if width(&before) > BEFORE {
        let mut tail = String::new();
        let mut room = BEFORE - 1;
        for char in before.chars().rev() {
            let columns = width(char.encode_utf8(&mut [0; 4]));
            let Some(left) = room.checked_sub(columns) else {
                break;
            };
            room = left;
            tail.insert(0, char);
        }
        before = format!("…{tail}");
    }
    // What is far behind is not looked at: an argument may have megabytes.
    let near: String = line[at..].chars().take(BEHIND + 1).collect();
    let behind = fitted(&plain(&near), BEHIND);
    let space = " ".repeat(width(&before));
    format!("  {before}{behind}\n  {space}^ here")
}

/// Safe for a terminal, each character as wide as it looks, the white space at the ends kept.
fn plain(text: &str) -> String {
    text.chars()
        .map(|char| match char {
            '\t' => ' ',
            char if char.is_control() => '\u{fffd}',
            char => char,
        })
        .collect()
}

/// What probably happened, and how it is typed.
fn advice(text: &str, example: &str) -> String {
    let text = text.trim_start();
    let begins = text.starts_with(['{', '[']);
    let typed = format!("{example}, in single quotes for the shell");
    if begins && !text.contains('"') && text.contains('\'') {
        return format!("JSON has double quotes: {typed}");
    }
    if begins && !text.contains('"') && text.contains(':') {
        return format!("there is no quote in it: the shell takes them away; expected {typed}");
    }
    format!("expected {typed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn told(text: &str) -> String {
        json(text, "the arguments", "{}").unwrap_err().error.message
    }

    #[test]
    fn the_mark_stands_below_the_place() {
        assert_eq!(
            told(r#"{"message":"hi" "x":1}"#),
            "the arguments are no JSON: expected `,` or `}` at line 1, column 17\n  \
             {\"message\":\"hi\" \"x\":1}\n  \
             \u{20}               ^ here"
        );
        assert_eq!(
            told("{\n\t\"日本\": tru\n}"),
            "the arguments are no JSON: expected ident at line 2, column 11\n  \
             \u{20}\"日本\": tru\n  \
             \u{20}           ^ here"
        );
        let long = format!(
            "{{\"a\":\"{}\" \"b\":\"{}\"}}",
            "x".repeat(200),
            "y".repeat(200)
        );
        let text = told(&long);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "the arguments are no JSON: expected `,` or `}` at line 1, column 209"
        );
        assert!(
            lines[1].starts_with("  …xxx") && lines[1].ends_with("yyy…"),
            "{text}"
        );
        // The `…` at the beginning has two bytes more than columns.
        let place = lines[2].find('^').unwrap();
        assert_eq!(lines[1].find("\"b\""), Some(place + 2), "{text}");
    }

    #[test]
    fn what_is_hostile_in_it_is_shown_and_does_nothing() {
        let text = told("{\"a\":\u{1b}[2J}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn what_probably_happened_is_the_hint() {
        let hint = |text: &str| {
            let failure = json(text, "the arguments", "'{\"a\":1}'").unwrap_err();
            failure.error.hint.unwrap()
        };
        assert!(hint("{'a':1}").starts_with("JSON has double quotes"));
        assert!(hint("[{tool:x}]").contains("the shell takes them away"));
        assert_eq!(
            hint("{\"a\":}"),
            "expected '{\"a\":1}', in single quotes for the shell"
        );
    }
}
