//! Splits a page into tags and text.

/// A piece of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'h> {
    /// `<name …>`, the name in small letters.
    Start {
        name: String,
        href: Option<String>,
        /// Written as `<name/>`.
        is_closed: bool,
    },
    /// `</name>`.
    End { name: String },
    /// Text with its character references as they are.
    Text(&'h str),
}

/// Elements whose content is text up to their end tag, whatever it looks like.
const RAW: &[&str] = &[
    "script", "style", "textarea", "title", "noscript", "iframe", "xmp",
];

/// Splits a page. What is no tag is text; comments and declarations are dropped.
pub(super) fn tokens(html: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (text, from) = rest.split_at(at);
        if !text.is_empty() {
            tokens.push(Token::Text(text));
        }
        rest = markup(from, &mut tokens);
    }
    if !rest.is_empty() {
        tokens.push(Token::Text(rest));
    }
    tokens
}

/// Reads what begins with `<` and returns what comes after it.
fn markup<'h>(from: &'h str, tokens: &mut Vec<Token<'h>>) -> &'h str {
    if let Some(comment) = from.strip_prefix("<!--") {
        return comment.find("-->").map_or("", |end| &comment[end + 3..]);
    }
    match from.as_bytes().get(1) {
        Some(b'!' | b'?') => from.find('>').map_or("", |end| &from[end + 1..]),
        Some(b'/') if from[2..].starts_with(|char: char| char.is_ascii_alphabetic()) => {
            tokens.push(Token::End {
                name: name(&from[2..]),
            });
            from.find('>').map_or("", |end| &from[end + 1..])
        }
        Some(first) if first.is_ascii_alphabetic() => start_tag(from, tokens),
        _ => {
            tokens.push(Token::Text(&from[..1]));
            &from[1..]
        }
    }
}

fn start_tag<'h>(from: &'h str, tokens: &mut Vec<Token<'h>>) -> &'h str {
    let name = name(&from[1..]);
    let (attributes, rest) = split_at_end(&from[1 + name.len()..]);
    let is_closed = attributes.ends_with('/');
    let href = if name == "a" {
        attribute(attributes, "href")
    } else {
        None
    };
    let is_raw = RAW.contains(&name.as_str()) && !is_closed;
    tokens.push(Token::Start {
        name: name.clone(),
        href,
        is_closed,
    });
    if !is_raw {
        return rest;
    }
    let end = end_of_raw(rest, &name);
    if end > 0 {
        tokens.push(Token::Text(&rest[..end]));
    }
    &rest[end..]
}

fn name(text: &str) -> String {
    text.chars()
        .take_while(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | ':'))
        .map(|char| char.to_ascii_lowercase())
        .collect()
}

/// Splits at the `>` that ends a tag; one inside quotes does not.
fn split_at_end(text: &str) -> (&str, &str) {
    let mut quote = None;
    let mut before = b' ';
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return (&text[..at], &text[at + 1..]),
            // A quote begins a value only after `=`.
            (None, b'"' | b'\'') if before == b'=' => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    (text, "")
}

fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|char: char| char.is_ascii_whitespace() || char == '/');
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .find(|char: char| char.is_ascii_whitespace() || matches!(char, '=' | '/'))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let after = after.trim_start();
        let Some(value) = after.strip_prefix('=') else {
            // At least one character goes, so that this ends.
            rest = if end == 0 {
                &rest[rest.chars().next().map_or(0, char::len_utf8)..]
            } else {
                after
            };
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            _ => value.split_at(
                value
                    .find(|char: char| char.is_ascii_whitespace())
                    .unwrap_or(value.len()),
            ),
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value.trim().to_owned());
        }
        rest = after;
    }
}

/// Returns where the end tag of a raw element begins.
fn end_of_raw(text: &str, name: &str) -> usize {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        let start = from + at;
        let after = &bytes[start + 2..];
        if after.len() >= name.len() && after[..name.len()].eq_ignore_ascii_case(name.as_bytes()) {
            return start;
        }
        from = start + 2;
    }
    text.len()
}
