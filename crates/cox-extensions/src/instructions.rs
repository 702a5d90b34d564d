//! `AGENTS.md` and `CLAUDE.md`, read in order under a budget.
//!
//! Order: the person's `~/.cox/AGENTS.md` and `~/.claude/CLAUDE.md`, then in every folder from the root down to the
//! working directory [`IN_EACH_FOLDER`]. A file is read once, by its real path. A word `@path` in a file appends that
//! file. What a repository names stays inside the repository, but for Markdown files of the person's own two folders.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

/// The instruction files of a folder, in order.
pub const IN_EACH_FOLDER: [&str; 5] = [
    "AGENTS.md",
    "CLAUDE.md",
    ".cox/AGENTS.md",
    ".claude/CLAUDE.md",
    "CLAUDE.local.md",
];

/// How deep files may include files.
const MAX_DEPTH: usize = 3;

/// Bytes that count as one token.
const BYTES_PER_TOKEN: usize = 4;

/// The instruction files of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The files that fit, in order.
    pub files: Vec<InstructionFile>,
    /// What was left out and why, for the person.
    pub notices: Vec<String>,
}

/// One instruction file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFile {
    /// Where it lies, absolute.
    pub path: PathBuf,
    /// Its text with its includes.
    pub text: String,
}

/// Reads the instruction files for `cwd`.
///
/// `home` is the person's home, `cox_home` cox's own, `root` the git root of `cwd` or `cwd` itself; all absolute. A file
/// that would exceed the budget, counted as bytes / 4, is left out whole, and so is an include; smaller ones after it may
/// still fit. Whatever is not a regular file is passed over.
pub fn load(
    home: &Path,
    cox_home: &Path,
    root: &Path,
    cwd: &Path,
    budget_tokens: usize,
) -> Instructions {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut reading = Reading {
        home,
        root: real(root),
        own: [real(cox_home), real(&home.join(".claude"))],
        budget_tokens,
        room: budget_tokens.saturating_mul(BYTES_PER_TOKEN),
        seen: HashSet::new(),
        notices: Vec::new(),
    };
    let users = [
        cox_home.join("AGENTS.md"),
        home.join(".claude").join("CLAUDE.md"),
    ];
    let projects = folders(root, cwd)
        .into_iter()
        .flat_map(|folder| IN_EACH_FOLDER.map(|name| folder.join(name)));
    let users = users.into_iter().map(|path| (path, true));
    let files = users
        .chain(projects.map(|path| (path, false)))
        .filter_map(|(path, is_own)| reading.instruction_file(path, is_own))
        .collect();
    Instructions {
        files,
        notices: reading.notices,
    }
}

/// Returns the folders from `root` down to `cwd`; the root alone when `cwd` lies elsewhere.
fn folders<'a>(root: &'a Path, cwd: &'a Path) -> Vec<&'a Path> {
    let mut folders: Vec<&Path> = cwd
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .collect();
    if folders.is_empty() {
        folders = vec![root];
    }
    folders.reverse();
    folders
}

struct Reading<'a> {
    home: &'a Path,
    /// Real.
    root: PathBuf,
    /// The person's own folders for agents, real.
    own: [PathBuf; 2],
    budget_tokens: usize,
    /// Bytes that may still be taken.
    room: usize,
    /// Real paths that were taken or left out already.
    seen: HashSet<PathBuf>,
    notices: Vec<String>,
}

impl Reading<'_> {
    fn instruction_file(&mut self, path: PathBuf, is_own: bool) -> Option<InstructionFile> {
        let real = fs::canonicalize(&path).ok()?;
        // The person may link their own files to wherever they keep them.
        if !is_own && !self.may_read(&real) {
            self.notices.push(format!(
                "{} was left out: it leads to {}, outside {}",
                path.display(),
                real.display(),
                self.root.display()
            ));
            return None;
        }
        if !self.seen.insert(real.clone()) {
            return None;
        }
        let mut text = self.read(&path, &real)?;
        self.include(&mut text, &mut vec![real]);
        (!text.trim().is_empty()).then_some(InstructionFile { path, text })
    }

    fn may_read(&self, real: &Path) -> bool {
        let is_markdown = real.extension().is_some_and(|extension| extension == "md");
        real.starts_with(&self.root)
            || (is_markdown && self.own.iter().any(|folder| real.starts_with(folder)))
    }

    /// Reads a file if it fits, and takes its room.
    fn read(&mut self, path: &Path, real: &Path) -> Option<String> {
        let metadata = fs::metadata(real).ok()?;
        // Opening a pipe would wait for its other end.
        if !metadata.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        if metadata.len() <= self.room as u64 {
            let limit = self.room as u64 + 1;
            let read = File::open(real).and_then(|file| file.take(limit).read_to_end(&mut bytes));
            if let Err(error) = read {
                self.notices
                    .push(format!("{} cannot be read: {error}", path.display()));
                return None;
            }
        }
        let len = metadata.len().max(bytes.len() as u64);
        if len > self.room as u64 {
            self.notices.push(format!(
                "{} was left out: it has about {} tokens, {} of {} are left for instruction files",
                path.display(),
                len.div_ceil(BYTES_PER_TOKEN as u64),
                self.room / BYTES_PER_TOKEN,
                self.budget_tokens
            ));
            return None;
        }
        self.room -= bytes.len();
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                self.notices.push(format!(
                    "{} is not UTF-8: what could not be read is shown as \u{fffd}",
                    path.display()
                ));
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            }
        };
        Some(
            text.strip_prefix('\u{feff}')
                .map(str::to_owned)
                .unwrap_or(text),
        )
    }

    /// Appends the files that `text` includes. `stack` holds the real paths of the file and of those that include it.
    fn include(&mut self, text: &mut String, stack: &mut Vec<PathBuf>) {
        let Some(folder) = stack
            .last()
            .and_then(|file| file.parent())
            .map(Path::to_owned)
        else {
            return;
        };
        for word in included_words(text) {
            let Some((name, real)) = self.find(&word, &folder) else {
                continue;
            };
            if stack.contains(&real) {
                self.notices
                    .push(format!("{} includes itself by @{name}", real.display()));
                continue;
            }
            if !self.may_read(&real) {
                self.notices.push(format!(
                    "@{name} in {} was left out: it lies outside {}",
                    folder.display(),
                    self.root.display()
                ));
                continue;
            }
            if stack.len() > MAX_DEPTH {
                self.notices.push(format!(
                    "@{name} in {} was left out: files include files {MAX_DEPTH} deep at most",
                    folder.display()
                ));
                continue;
            }
            if !self.seen.insert(real.clone()) {
                continue;
            }
            let Some(mut included) = self.read(&real, &real) else {
                continue;
            };
            stack.push(real);
            self.include(&mut included, stack);
            stack.pop();
            text.truncate(text.trim_end().len());
            text.push_str(&format!(
                "\n\nContents of @{name}:\n\n{}",
                included.trim_start_matches('\n')
            ));
        }
    }

    /// Returns the regular file that a word names, with the part of the word that names it.
    fn find(&self, word: &str, folder: &Path) -> Option<(String, PathBuf)> {
        let trimmed =
            word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'', '*', '_']);
        [word, trimmed]
            .into_iter()
            .filter(|name| !name.is_empty())
            .find_map(|name| {
                let path = match name.strip_prefix("~/") {
                    Some(rest) => self.home.join(rest),
                    None => folder.join(name),
                };
                let real = fs::canonicalize(path).ok()?;
                fs::metadata(&real)
                    .ok()?
                    .is_file()
                    .then(|| (name.to_owned(), real))
            })
    }
}

/// Returns what follows an `@` at the start of a word, outside code.
fn included_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => {
                // Every other piece between back-ticks is code.
                for piece in line.split('`').step_by(2) {
                    let found = piece.split_whitespace().filter_map(|word| {
                        word.trim_start_matches(['(', '[', '"', '\'', '*', '_'])
                            .strip_prefix('@')
                    });
                    words.extend(found.map(str::to_owned));
                }
            }
            (Some(_), _) => {}
        }
    }
    words
}

#[cfg(test)]
mod tests;
