//! The V4A grammar, and the envelopes that models put around a patch.

use super::{Action, Hunk, HunkLine, Operation, PatchError, unified};

/// A line of the patch with its 1-based number.
pub(super) type Numbered<'a> = (usize, &'a str);

const OPERATION: &str =
    "`*** Add File: PATH`, `*** Update File: PATH`, `*** Delete File: PATH` or `*** End Patch`";

/// Returns the patch inside the JSON arguments of another tool, such as `{"command":["apply_patch","…"]}`.
pub(super) fn from_json(text: &str) -> Option<String> {
    fn patch_in(value: &serde_json::Value) -> Option<String> {
        use serde_json::Value;
        match value {
            Value::String(text) => text.contains("*** Begin Patch").then(|| text.clone()),
            Value::Array(values) => values.iter().find_map(patch_in),
            Value::Object(fields) => fields.values().find_map(patch_in),
            _ => None,
        }
    }
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    patch_in(&serde_json::from_str(text).ok()?)
}

/// Takes away what models put around a patch: fences, a heredoc, an `apply_patch` command.
pub(super) fn unwrap_envelope(text: &str) -> Vec<Numbered<'_>> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut lines: Vec<Numbered<'_>> = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .collect();
    let begin = lines
        .iter()
        .position(|(_, line)| marker(line) == Some("Begin Patch"));
    if let Some(begin) = begin {
        lines.drain(..begin);
        // What follows the end is the envelope's.
        if let Some(end) = lines
            .iter()
            .position(|(_, line)| marker(line) == Some("End Patch"))
        {
            lines.truncate(end + 1);
        }
        return lines;
    }
    let blank = |line: &str| line.trim().is_empty();
    while lines
        .first()
        .is_some_and(|(_, line)| blank(line) || opens_envelope(line))
    {
        lines.remove(0);
    }
    // In a diff, a space alone is a blank line that stays.
    let is_unified = unified::is_unified(&lines);
    let is_outside = |line: &str| match is_unified {
        true => line.is_empty(),
        false => blank(line),
    };
    while lines
        .last()
        .is_some_and(|(_, line)| is_outside(line) || closes_envelope(line))
    {
        lines.pop();
    }
    lines
}

fn opens_envelope(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("```")
        || line.starts_with("~~~")
        || line.contains("<<")
        || line == "apply_patch"
}

fn closes_envelope(line: &str) -> bool {
    let line = line.trim_end();
    line == "```" || line == "~~~" || matches!(line, "EOF" | "PATCH" | "EOT" | "END" | "'" | "\"")
}

/// The text of a `*** …` line, without stars at its end.
fn marker(line: &str) -> Option<&str> {
    let rest = line.trim_end().strip_prefix("***")?;
    Some(rest.trim().trim_end_matches('*').trim_end())
}

fn file_marker<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let path = marker(line)?.strip_prefix(name)?.trim();
    let path = path
        .strip_prefix('`')
        .and_then(|path| path.strip_suffix('`'))
        .unwrap_or(path);
    Some(path)
}

/// Reads the lines of a V4A patch.
pub(super) fn parse(lines: &[Numbered<'_>]) -> Result<Vec<Operation>, PatchError> {
    let mut lines = lines.iter().copied().peekable();
    if let Some((_, line)) = lines.peek()
        && marker(line) == Some("Begin Patch")
    {
        lines.next();
    }
    let mut operations = Vec::new();
    let mut last = 1;
    while let Some((number, line)) = lines.next() {
        last = number;
        if line.trim().is_empty() {
            continue;
        }
        if marker(line) == Some("End Patch") {
            break;
        }
        let named = |path: &str| {
            if path.is_empty() {
                return Err(PatchError::new(number, "a path after the colon", line));
            }
            Ok(path.to_owned())
        };
        let (path, action) = if let Some(path) = file_marker(line, "Add File:") {
            (named(path)?, add(&mut lines)?)
        } else if let Some(path) = file_marker(line, "Delete File:") {
            (named(path)?, Action::Delete { hunks: Vec::new() })
        } else if let Some(path) = file_marker(line, "Update File:") {
            (named(path)?, update(number, line, &mut lines)?)
        } else {
            let expected = if operations.is_empty() {
                format!(
                    "`*** Begin Patch`, then {OPERATION}; or a unified diff that begins with `--- PATH`"
                )
            } else {
                OPERATION.to_owned()
            };
            return Err(PatchError::new(number, expected, line));
        };
        operations.push(Operation {
            path,
            line: number,
            action,
        });
    }
    if operations.is_empty() {
        return Err(PatchError::new(
            last,
            "at least one file to add, update or delete",
            "",
        ));
    }
    Ok(operations)
}

type Lines<'a> = std::iter::Peekable<std::iter::Copied<std::slice::Iter<'a, Numbered<'a>>>>;

fn add(lines: &mut Lines<'_>) -> Result<Action, PatchError> {
    let mut content = String::new();
    while let Some((number, line)) = lines.peek().copied() {
        if marker(line).is_some() {
            break;
        }
        let Some(text) = line.strip_prefix('+') else {
            // A blank line before the next marker, or at the end, is the envelope's.
            if line.trim().is_empty() && rest_is_markers(lines) {
                lines.next();
                continue;
            }
            return Err(PatchError::new(
                number,
                format!("a line that begins with `+`, {OPERATION}"),
                line,
            ));
        };
        content.push_str(text);
        content.push('\n');
        lines.next();
    }
    Ok(Action::Add {
        content,
        executable: false,
    })
}

fn rest_is_markers(lines: &Lines<'_>) -> bool {
    lines
        .clone()
        .find(|(_, line)| !line.trim().is_empty())
        .is_none_or(|(_, line)| marker(line).is_some())
}

fn update(at: usize, named: &str, lines: &mut Lines<'_>) -> Result<Action, PatchError> {
    let mut move_to = None;
    if let Some((_, line)) = lines.peek()
        && let Some(path) = file_marker(line, "Move to:").filter(|path| !path.is_empty())
    {
        move_to = Some(path.to_owned());
        lines.next();
    }
    let mut hunks: Vec<Hunk> = Vec::new();
    // Whether the next line belongs to the hunk before it; false after a header.
    let mut current: Option<Hunk> = None;
    while let Some((number, line)) = lines.peek().copied() {
        if marker(line) == Some("End of File") {
            lines.next();
            let Some(mut hunk) = current.take().filter(|hunk| !hunk.lines.is_empty()) else {
                return Err(PatchError::new(
                    number,
                    "a hunk before `*** End of File`",
                    line,
                ));
            };
            hunk.at_end = true;
            hunks.push(hunk);
            continue;
        }
        if line.starts_with("***") && marker(line).is_some_and(is_known_marker) {
            break;
        }
        if let Some(header) = line.strip_prefix("@@") {
            lines.next();
            let hunk = match current.take() {
                Some(hunk) if hunk.lines.is_empty() => hunk,
                Some(hunk) => {
                    hunks.push(hunk);
                    Hunk {
                        line: number,
                        ..Hunk::default()
                    }
                }
                None => Hunk {
                    line: number,
                    ..Hunk::default()
                },
            };
            current = Some(with_header(hunk, header));
            continue;
        }
        let parsed = match line.as_bytes().first() {
            Some(b'+') => HunkLine::Add(line[1..].to_owned()),
            Some(b'-') => HunkLine::Remove(line[1..].to_owned()),
            Some(b' ') => HunkLine::Keep(line[1..].to_owned()),
            None if rest_is_markers(lines) => {
                lines.next();
                continue;
            }
            // Models leave the space of an empty context line out.
            None => HunkLine::Keep(String::new()),
            Some(b'\\') if line.starts_with("\\ ") => {
                if let Some(hunk) = &mut current {
                    hunk.ends_bare();
                }
                lines.next();
                continue;
            }
            _ => {
                return Err(PatchError::new(
                    number,
                    "a line that begins with ` `, `+`, `-` or `@@`, or a `*** …` marker",
                    line,
                ));
            }
        };
        lines.next();
        let hunk = current.get_or_insert_with(|| Hunk {
            line: number,
            ..Hunk::default()
        });
        if !hunk.takes(&parsed) {
            return Err(PatchError::behind_the_end(number, line));
        }
        hunk.lines.push(parsed);
    }
    hunks.extend(current);
    if let Some(empty) = hunks.iter().find(|hunk| hunk.lines.is_empty()) {
        return Err(PatchError::new(
            empty.line,
            "lines of the hunk after `@@`",
            "",
        ));
    }
    let changes = |hunk: &Hunk| {
        hunk.lines
            .iter()
            .any(|line| !matches!(line, HunkLine::Keep(_)))
    };
    if move_to.is_none() && !hunks.iter().any(changes) {
        return Err(PatchError::new(
            at,
            "at least one line with `+` or `-` for this file",
            named,
        ));
    }
    Ok(Action::Update { move_to, hunks })
}

fn is_known_marker(text: &str) -> bool {
    text == "End Patch"
        || ["Add File:", "Delete File:", "Update File:", "Move to:"]
            .iter()
            .any(|known| text.starts_with(known))
}

/// Adds the text after `@@`. `-12,3 +12,4 @@ fn main()` has a number and a text.
pub(super) fn with_header(mut hunk: Hunk, header: &str) -> Hunk {
    let mut text = header.trim();
    if let Some((start, rest)) = numbers(text) {
        hunk.old_start = Some(start);
        text = rest;
    }
    let text = text.strip_suffix("@@").unwrap_or(text).trim();
    if !text.is_empty() {
        hunk.headers.push(text.to_owned());
    }
    hunk
}

/// Reads `-12,3 +12,4 @@ rest` and returns 12 and the rest.
pub(super) fn numbers(text: &str) -> Option<(usize, &str)> {
    let rest = text.strip_prefix('-')?;
    let (old, rest) = rest.split_once(' ')?;
    let rest = rest.trim_start().strip_prefix('+')?;
    let (new, rest) = rest.split_once("@@")?;
    let is_range = |range: &str| {
        !range.is_empty()
            && range
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b',')
    };
    if !is_range(old) || !is_range(new.trim()) {
        return None;
    }
    let start = old.split(',').next()?.parse().ok()?;
    Some((start, rest.trim()))
}
