//! Edits of the text of a file: a value is replaced, a member put in or taken out. Offsets are bytes of the same text.

use std::path::Path;

use serde_json::{Map, Value};

use super::render::{Style, block, inline};
use crate::{
    ConfigError,
    error::quoted,
    files::{Entry, Kind, Node},
};

/// The text with `value` under the path `names`; objects on the way that are missing are made.
pub(super) fn put(
    text: &str,
    root: &Node,
    names: &[&str],
    value: &Value,
    file: &Path,
) -> Result<String, ConfigError> {
    let style = Style::of(text, root);
    let mut object = root;
    for (depth, name) in names.iter().enumerate() {
        let Some(entry) = object.entry(name) else {
            let inner = names[depth + 1..]
                .iter()
                .rev()
                .fold(value.clone(), |value, name| {
                    Value::Object(Map::from_iter([((*name).to_owned(), value)]))
                });
            // An empty file has no braces yet.
            if object.end == object.start || !text[object.start..].starts_with('{') {
                return Ok(whole(text, name, &inner, &style));
            }
            return Ok(insert(text, object, name, &inner, &style));
        };
        if depth + 1 == names.len() {
            let shown = if entry.value.to_json() == *value {
                return Ok(text.to_owned());
            } else if is_one_line(text, object) {
                inline(value)
            } else {
                block(value, &indent_at(text, entry.start), &style)
            };
            return Ok(splice(text, entry.value.start, entry.value.end, &shown));
        }
        if !matches!(entry.value.kind, Kind::Object(_)) {
            return Err(ConfigError::new(
                entry.value.place(file),
                format!("{} for {}", entry.value.described(), quoted(name)),
                "an object",
            ));
        }
        object = &entry.value;
    }
    Ok(text.to_owned())
}

/// A file of comments and white space gets its object at the end.
fn whole(text: &str, name: &str, value: &Value, style: &Style) -> String {
    let line = style.line_end;
    let member = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        line
    };
    format!("{text}{gap}{}{line}", block(&member, "", style))
}

fn insert(text: &str, object: &Node, name: &str, value: &Value, style: &Style) -> String {
    let close = object.end - 1;
    let last = object.entries().last();
    let comma = last.and_then(|last| comma_after(text, last.value.end));
    let key = Value::String(name.to_owned());
    if is_one_line(text, object) && last.is_some() {
        let member = format!("{key}: {}", inline(value));
        return match (last, comma) {
            (_, Some(comma)) => splice(text, comma + 1, comma + 1, &format!(" {member}")),
            (Some(last), None) => {
                splice(text, last.value.end, last.value.end, &format!(", {member}"))
            }
            (None, None) => text.to_owned(),
        };
    }
    let outer = indent_at(text, object.start);
    let indent = object
        .entries()
        .first()
        .filter(|first| is_first_on_line(text, first.start))
        .map_or_else(
            || format!("{outer}{}", style.unit),
            |first| indent_at(text, first.start),
        );
    let line = style.line_end;
    let end_comma = if comma.is_some() { "," } else { "" };
    let member = format!(
        "{line}{indent}{key}: {}{end_comma}",
        block(value, &indent, style)
    );

    // Behind everything that is there, and before the white space that leads to the brace.
    let at = text[..close]
        .trim_end_matches([' ', '\t', '\r', '\n'])
        .len();
    let at = at.max(object.start + 1);
    let gap = &text[at..close];
    let tail = if gap.contains('\n') {
        String::new()
    } else {
        format!("{line}{outer}")
    };
    let mut after = splice(text, at, at, &format!("{member}{tail}"));
    if let (Some(last), None) = (last, comma) {
        after.insert(last.value.end, ',');
    }
    after
}

/// The text without the member under the path `names`; `None` when there is none.
pub(super) fn remove(text: &str, root: &Node, names: &[&str]) -> Option<String> {
    let (name, path) = names.split_last()?;
    let mut object = root;
    for name in path {
        object = object.get(name)?;
    }
    let entries = object.entries();
    let at = entries.iter().position(|entry| entry.name == *name)?;
    let entry = &entries[at];
    let before = at.checked_sub(1).and_then(|at| entries.get(at));
    let own_comma = comma_after(text, entry.value.end);
    let end = own_comma.map_or(entry.value.end, |comma| comma + 1);
    // What stands between the value and its comma, a comment perhaps, stays; so there are two cuts.
    let mut after = text.to_owned();
    if let Some(comma) = own_comma
        && comma > entry.value.end
    {
        let between = text[entry.value.end..comma].trim().is_empty();
        if !between {
            after.replace_range(comma..=comma, "");
            let (start, end) = line_of(text, entry, entry.value.end);
            after.replace_range(start..end, "");
            return Some(after);
        }
    }
    let (start, end) = line_of(text, entry, end);
    after.replace_range(start..end, "");
    if own_comma.is_none()
        && let Some(before) = before
        && let Some(comma) = comma_after(text, before.value.end)
    {
        // The member before is the last one now, and plain JSON has no comma there.
        after.replace_range(comma..=comma, "");
    }
    Some(after)
}

/// What to cut for an entry that ends at `end`: its whole line or lines when nothing else stands there.
fn line_of(text: &str, entry: &Entry, end: usize) -> (usize, usize) {
    let start = text[..entry.start].trim_end_matches([' ', '\t']).len();
    let rest = &text[end..];
    let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let line_end = ["\n", "\r\n"]
        .into_iter()
        .find(|line_end| rest[blank..].starts_with(line_end));
    let ends_line = line_end.is_some();
    let begins_line = start == 0 || text[..start].ends_with('\n');
    match (begins_line, ends_line) {
        (true, true) => (start, end + blank + line_end.map_or(0, str::len)),
        // The line end belongs to what stands before.
        (false, true) => (start, end),
        // What follows in the line moves to its indentation.
        (true, false) => (entry.start, end + blank),
        (false, false) => (entry.start, end + blank.min(1)),
    }
}

/// Where the comma behind a value is, past white space and comments.
fn comma_after(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b',' => return Some(at),
            b'/' => {
                let rest = &text[at..];
                at += if rest.starts_with("//") {
                    rest.find('\n')?
                } else {
                    rest.find("*/")? + 2
                };
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => return None,
        }
    }
}

fn is_one_line(text: &str, object: &Node) -> bool {
    !text[object.start..object.end].contains('\n')
}

fn is_first_on_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

/// The white space that the line of a byte begins with.
fn indent_at(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let line = &text[start..];
    line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_owned()
}

fn splice(text: &str, start: usize, end: usize, new: &str) -> String {
    format!("{}{new}{}", &text[..start], &text[end..])
}

/// The same change of the value.
pub(super) fn put_json(root: &mut Value, names: &[&str], value: &Value) {
    let Some((name, rest)) = names.split_first() else {
        *root = value.clone();
        return;
    };
    if !root.is_object() {
        *root = Value::Object(Map::new());
    }
    if let Some(object) = root.as_object_mut() {
        put_json(object.entry(*name).or_insert(Value::Null), rest, value);
    }
}

/// The same removal from the value.
pub(super) fn remove_json(root: &mut Value, names: &[&str]) {
    let Some((name, rest)) = names.split_first() else {
        return;
    };
    let Some(object) = root.as_object_mut() else {
        return;
    };
    if rest.is_empty() {
        object.shift_remove(*name);
    } else if let Some(inner) = object.get_mut(*name) {
        remove_json(inner, rest);
    }
}
