//! Text from outside in generated code: where it can stand, and how it cannot get out.

use serde_json::Value;
use untrusted_text::terminal;

use crate::{canonical, words};

/// How much of a member's description is kept.
const MAX_MEMBER_TEXT: usize = 300;

/// Text as a string literal: what could end it, hide in it or turn it around is escaped.
pub(super) fn quoted(text: &str) -> String {
    use std::fmt::Write as _;

    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                literal.push('\\');
                literal.push(c);
            }
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            ' '..='~' => literal.push(c),
            _ if c.is_alphanumeric() => literal.push(c),
            _ => {
                // Writing into a string cannot fail.
                let _: std::fmt::Result = write!(literal, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    literal.push('"');
    literal
}

/// A member's name: bare where TypeScript takes it, quoted where not. `__proto__` is computed, or it would set one.
pub(super) fn member(name: &str) -> String {
    let mut chars = name.chars();
    let begins = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '$'));
    if name == "__proto__" {
        "[\"__proto__\"]".to_owned()
    } else if begins && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$')) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// One member of an object type. One that need not be there and is named like what every object has takes that too: an
/// object without it would not be taken.
pub(super) fn optional(name: &str, value: &str) -> String {
    const EVERY_OBJECT: &[&str] = &[
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
    ];
    let inherited = if EVERY_OBJECT.contains(&name) {
        " | Function"
    } else {
        ""
    };
    format!("{}?: {value}{inherited};", member(name))
}

/// A value as a script writes it.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}: {}", member(name), literal(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(literal).collect();
            format!("[{}]", elements.join(", "))
        }
        Value::String(text) => quoted(text),
        scalar => scalar.to_string(),
    }
}

/// Text as the lines of a comment, at most `max_chars` characters of it; what was cut is counted.
pub(super) fn comment_lines(text: &str, max_chars: usize) -> Vec<String> {
    const MAX_LINES: usize = 60;
    let end = text
        .char_indices()
        .nth(max_chars)
        .map_or(text.len(), |(at, _)| at);
    let safe = terminal::for_terminal(&text[..end].replace(['\u{2028}', '\u{2029}', '\t'], " "))
        .replace("*/", "*\\/")
        // The compiler obeys `@ts-ignore` and its kin inside comments.
        .replace("@ts-", "@ ts-");
    let mut lines: Vec<String> = safe
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.dedup_by(|a, b| a.is_empty() && b.is_empty());
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let skip = lines.iter().take_while(|line| line.is_empty()).count();
    lines.drain(..skip);
    let cut_lines = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    let cut_chars = text[end..].chars().count();
    match (cut_lines, cut_chars) {
        (0, 0) => {}
        (0, chars) => lines.push(format!("[{chars} more characters]")),
        (cut, 0) => lines.push(format!("[{cut} more lines]")),
        (cut, chars) => lines.push(format!("[{cut} more lines, {chars} more characters]")),
    }
    lines
}

/// A comment of these lines before something at `indent`; nothing for no lines.
pub(super) fn comment(lines: &[String], indent: usize) -> String {
    let pad = " ".repeat(indent);
    match lines {
        [] => String::new(),
        [one] => format!("{pad}/** {one} */\n"),
        lines => {
            let body: String = lines
                .iter()
                .map(|line| {
                    if line.is_empty() {
                        format!("{pad} *\n")
                    } else {
                        format!("{pad} * {line}\n")
                    }
                })
                .collect();
            format!("{pad}/**\n{body}{pad} */\n")
        }
    }
}

/// What is said about the member `name`: its description and default. A title that is the name again says nothing.
pub(super) fn describe(name: &str, schema: &Value) -> Vec<String> {
    let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
    let says_more = |title: &&str| !words::split(title).eq(words::split(name));
    let said = text("description").or_else(|| text("title").filter(says_more));
    let mut lines = comment_lines(said.unwrap_or_default(), MAX_MEMBER_TEXT);
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        let default = comment_lines(
            &format!("default: {}", canonical::spell(default)),
            MAX_MEMBER_TEXT,
        )
        .concat();
        match lines.last_mut() {
            Some(last) => *last = format!("{last} ({default})"),
            None => lines.push(default),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_holds_its_text() {
        assert_eq!(quoted("a\"b\\c\n`${x}`"), r#""a\"b\\c\n`${x}`""#);
        assert_eq!(
            quoted("\u{2028}\0\u{202e}é日"),
            r#""\u{2028}\u{0}\u{202e}é日""#
        );
        assert_eq!(
            (member("a$1"), member("1a"), member("")),
            ("a$1".to_owned(), "\"1a\"".to_owned(), "\"\"".to_owned())
        );
        assert_eq!(member("__proto__"), "[\"__proto__\"]");
    }

    #[test]
    fn a_comment_ends_where_it_should_and_says_what_was_cut() {
        let text = comment(
            &comment_lines(
                "\n\n*/ alert(1) /*\u{2028}\n@ts-expect-error\n\n\n/x\0\u{1b}[2J",
                1000,
            ),
            2,
        );
        assert_eq!(
            text,
            "  /**\n   * *\\/ alert(1) /*\n   * @ ts-expect-error\n   *\n   * /x\n   */\n"
        );
        assert_eq!(
            comment_lines(&"x".repeat(1_000_000), 5),
            ["xxxxx", "[999995 more characters]"]
        );
        assert_eq!(
            comment_lines(&"x\n".repeat(100), 500).last().unwrap(),
            "[40 more lines]"
        );
        assert_eq!(comment(&comment_lines(" \n ", 5), 0), "");
    }
}
