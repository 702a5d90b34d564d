//! The unified diff, with or without git's extra lines.

use super::{
    Action, Hunk, HunkLine, Operation, PatchError,
    parse::{Numbered, numbers, with_header},
};

/// Says whether the lines are a unified diff.
pub(super) fn is_unified(lines: &[Numbered<'_>]) -> bool {
    let names = lines
        .windows(2)
        .any(|pair| pair[0].1.starts_with("--- ") && pair[1].1.starts_with("+++ "));
    let starts_as_git = lines
        .first()
        .is_some_and(|(_, line)| line.starts_with("diff --git "));
    let is_other = lines
        .first()
        .is_some_and(|(_, line)| line.starts_with("***"));
    !is_other && (names || starts_as_git)
}

#[derive(Default)]
struct Section {
    line: usize,
    old: Option<String>,
    new: Option<String>,
    rename_from: Option<String>,
    rename_to: Option<String>,
    git_paths: Option<(String, String)>,
    deleted: bool,
    created: bool,
    is_binary: bool,
    executable: bool,
    old_mode: Option<String>,
    /// The line that changes the mode of a file, with its number.
    mode: Option<(usize, String)>,
    /// A line of git's that asks for what is not done here, with its number.
    refused: Option<(usize, String)>,
    hunks: Vec<Hunk>,
}

/// Reads the lines of a unified diff.
pub(super) fn parse(lines: &[Numbered<'_>]) -> Result<Vec<Operation>, PatchError> {
    let mut operations = Vec::new();
    let mut section = Section::default();
    let mut left = (0_usize, 0_usize);
    let is_blank = |line: &str| line.trim().is_empty();
    let end = lines.iter().rposition(|(_, line)| !is_blank(line));
    let mut index = 0;
    while let Some((number, line)) = lines.get(index).copied() {
        index += 1;
        let next = lines.get(index).map_or("", |(_, next)| next);
        let in_hunk = left.0 > 0 || left.1 > 0;
        if !in_hunk && end.is_some_and(|end| index > end + 1) {
            // Blank lines behind the last hunk are the envelope's.
            break;
        }
        if !in_hunk && line.starts_with("diff ") {
            operations.extend(section.finish()?);
            section = Section {
                line: number,
                git_paths: git_paths(line),
                ..Section::default()
            };
        } else if !in_hunk && line.starts_with("--- ") && next.starts_with("+++ ") {
            if section.old.is_some() {
                operations.extend(section.finish()?);
                section = Section::default();
            }
            section.line = number;
            section.old = Some(name(&line[4..]));
            section.new = Some(name(&next[4..]));
            index += 1;
        } else if !in_hunk && line.starts_with("@@") {
            if section.old.is_none() {
                return Err(PatchError::new(
                    number,
                    "`--- PATH` and `+++ PATH` before the first hunk",
                    line,
                ));
            }
            let Some(counts) = counts(line) else {
                return Err(PatchError::new(
                    number,
                    "a hunk header such as `@@ -12,3 +12,4 @@`",
                    line,
                ));
            };
            left = counts;
            let hunk = Hunk {
                line: number,
                ..Hunk::default()
            };
            section.hunks.push(with_header(hunk, &line[2..]));
        } else if let Some(hunk) = section.hunks.last_mut() {
            let parsed = match line.as_bytes().first() {
                Some(b'+') => HunkLine::Add(line[1..].to_owned()),
                Some(b'-') => HunkLine::Remove(line[1..].to_owned()),
                Some(b' ') => HunkLine::Keep(line[1..].to_owned()),
                None if in_hunk => HunkLine::Keep(String::new()),
                Some(b'\\') if line.starts_with("\\ ") => {
                    hunk.ends_bare();
                    continue;
                }
                None => continue,
                _ => {
                    return Err(PatchError::new(
                        number,
                        "a line that begins with ` `, `+` or `-`, or the next hunk or file",
                        line,
                    ));
                }
            };
            if !hunk.takes(&parsed) {
                return Err(PatchError::behind_the_end(number, line));
            }
            let (old, new) = match parsed {
                HunkLine::Keep(_) => (1, 1),
                HunkLine::Remove(_) => (1, 0),
                HunkLine::Add(_) => (0, 1),
            };
            left = (left.0.saturating_sub(old), left.1.saturating_sub(new));
            hunk.lines.push(parsed);
        } else {
            section.extended(number, line);
        }
    }
    operations.extend(section.finish()?);
    if operations.is_empty() {
        return Err(PatchError::new(
            1,
            "at least one changed file in the diff",
            lines.first().map_or("", |(_, line)| line),
        ));
    }
    Ok(operations)
}

impl Section {
    /// Reads one of git's lines between `diff` and `---`.
    fn extended(&mut self, number: usize, line: &str) {
        if let Some(path) = line.strip_prefix("rename from ") {
            self.rename_from = Some(unquoted(path));
        } else if let Some(path) = line.strip_prefix("rename to ") {
            self.rename_to = Some(unquoted(path));
        } else if line.starts_with("deleted file mode") {
            self.deleted = true;
        } else if let Some(mode) = line.strip_prefix("new file mode") {
            self.created = true;
            self.executable = mode.trim() == "100755";
            // A link or a submodule would become a file that holds where it leads.
            if !mode.trim().starts_with("100") {
                self.refused = Some((number, line.to_owned()));
            }
        } else if let Some(mode) = line.strip_prefix("old mode ") {
            self.old_mode = Some(mode.trim().to_owned());
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            if self.old_mode.as_deref() != Some(mode.trim()) {
                self.mode = Some((number, line.to_owned()));
            }
        } else if let Some((_, mode)) = line
            .strip_prefix("index ")
            .and_then(|hashes| hashes.split_once(' '))
        {
            // What a link leads to, or which commit a submodule is at, is no content of a file.
            if !mode.trim().starts_with("100") {
                self.refused = Some((number, line.to_owned()));
            }
        } else if line.starts_with("copy from ") {
            // Read as a change from one name to another it would delete the first.
            self.refused = Some((number, line.to_owned()));
        } else if line.starts_with("Binary files") || line.starts_with("GIT binary patch") {
            self.is_binary = true;
        }
    }

    fn finish(self) -> Result<Option<Operation>, PatchError> {
        let line = self.line;
        if self.is_binary {
            return Err(PatchError::new(
                line,
                "text changes",
                "a change of a binary file",
            ));
        }
        if let Some((number, received)) = &self.refused {
            return Err(PatchError::new(
                *number,
                "a regular file that is created, changed, renamed or deleted",
                received,
            ));
        }
        if let Some((number, received)) = &self.mode {
            return Err(PatchError::new(
                *number,
                "no change of a file's mode (leave `old mode` and `new mode` out, and use `chmod` in `bash`)",
                received,
            ));
        }
        let (mut old, mut new) = (self.old, self.new);
        if old.is_none() {
            let Some((git_old, git_new)) = self.git_paths else {
                return Ok(None);
            };
            let changes = self.deleted || self.created || self.rename_to.is_some();
            if !changes {
                return Ok(None);
            }
            old = Some(if self.created {
                "/dev/null".into()
            } else {
                git_old
            });
            new = Some(if self.deleted {
                "/dev/null".into()
            } else {
                git_new
            });
        }
        let (Some(old), Some(new)) = (old, new) else {
            return Ok(None);
        };
        let (old, new) = (
            self.rename_from.unwrap_or(old),
            self.rename_to.unwrap_or(new),
        );
        let operation = |path: &str, action| {
            Ok(Some(Operation {
                path: path.to_owned(),
                line,
                action,
            }))
        };
        match (old == "/dev/null", new == "/dev/null") {
            (true, true) => Err(PatchError::new(
                line,
                "a path on one side",
                "/dev/null on both",
            )),
            (true, false) => {
                let mut content = String::new();
                for hunk_line in self.hunks.iter().flat_map(|hunk| &hunk.lines) {
                    let HunkLine::Add(text) = hunk_line else {
                        return Err(PatchError::new(line, "only `+` lines for a new file", &new));
                    };
                    content.push_str(text);
                    content.push('\n');
                }
                if self.hunks.last().is_some_and(|hunk| hunk.new_ends_bare) {
                    content.pop();
                }
                operation(
                    stripped(&new, 'b'),
                    Action::Add {
                        content,
                        executable: self.executable,
                    },
                )
            }
            (false, true) => operation(stripped(&old, 'a'), Action::Delete { hunks: self.hunks }),
            (false, false) => {
                let (old, new) = (stripped(&old, 'a'), stripped(&new, 'b'));
                let move_to = (old != new).then(|| new.to_owned());
                if self.hunks.is_empty() && move_to.is_none() {
                    return Err(PatchError::new(
                        line,
                        "at least one hunk (`@@ …`) for this file",
                        old,
                    ));
                }
                operation(
                    old,
                    Action::Update {
                        move_to,
                        hunks: self.hunks,
                    },
                )
            }
        }
    }
}

/// The path of a `---` or `+++` line, without the time that some tools put after a tab.
fn name(text: &str) -> String {
    unquoted(text.split('\t').next().unwrap_or(text).trim_end())
}

/// Takes away the quotes and escapes that git puts around names with strange characters. What is no such name, or would be
/// none in UTF-8, stays as it is.
fn unquoted(text: &str) -> String {
    text.strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .and_then(unescaped)
        .unwrap_or_else(|| text.to_owned())
}

/// Reads the escapes of C that git writes: one letter, or the three octal digits of a byte.
fn unescaped(inside: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            first @ b'0'..=b'3' => {
                let mut value = first - b'0';
                for _ in 0..2 {
                    let digit = rest.next().filter(|digit| matches!(digit, b'0'..=b'7'))?;
                    value = value * 8 + (digit - b'0');
                }
                value
            }
            same @ (b'"' | b'\\') => same,
            _ => return None,
        });
    }
    String::from_utf8(bytes).ok()
}

fn stripped(path: &str, side: char) -> &str {
    path.strip_prefix(side)
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(path)
}

fn git_paths(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix("diff --git ")?;
    if rest.starts_with('"') {
        let (old, new) = rest.split_once(" \"b/")?;
        return Some((unquoted(old), unquoted(&format!("\"b/{new}"))));
    }
    let (old, new) = rest.split_once(" b/")?;
    Some((unquoted(old), format!("b/{new}")))
}

/// How many old and new lines a header announces.
fn counts(line: &str) -> Option<(usize, usize)> {
    let text = line.strip_prefix("@@")?.trim();
    numbers(text)?;
    let mut ranges = text.split_whitespace();
    let mut count = || {
        let range = ranges.next()?.get(1..)?;
        range
            .split_once(',')
            .map_or(Some(1), |(_, count)| count.parse().ok())
    };
    Some((count()?, count()?))
}
