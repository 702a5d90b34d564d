//! What a sandbox refused, read from the output of a command that failed.

use std::path::{Path, PathBuf};

use crate::{Mode, Policy};

/// Something a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The path or host, where the output names it.
    pub what: Option<String>,
    /// The rule that refused it, in words for a person and a model.
    pub rule: String,
    /// The line of the output that says so, at most 200 characters.
    pub line: String,
}

impl std::fmt::Display for Denial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.what {
            Some(what) => write!(f, "{} ({what})", self.rule),
            None => f.write_str(&self.rule),
        }
    }
}

/// Longest line that is kept, in characters.
const LINE: usize = 200;

/// Texts of refused writes and reads, lower case.
const FILE_TEXTS: [&str; 3] = [
    "read-only file system",
    "permission denied",
    "operation not permitted",
];

/// Codes of the same refusals, as runtimes print them, lower case.
const FILE_CODES: [&str; 5] = ["erofs", "eacces", "eperm", "os error 30", "os error 13"];

/// Texts of a network that is not there, lower case.
const NETWORK_TEXTS: [&str; 12] = [
    "could not resolve host",
    "network is unreachable",
    "network unreachable",
    "temporary failure in name resolution",
    "name or service not known",
    "failed to lookup address",
    "could not resolve",
    "unable to resolve host",
    "enetunreach",
    "eai_again",
    "enotfound",
    "nodename nor servname",
];

/// Returns what the sandbox refused, if the end of a failed command's output says so.
///
/// The first line that fits decides. A command that ended with 0, or ran without a sandbox, was refused nothing.
pub fn denial(exit_code: i32, output_tail: &str, policy: &Policy) -> Option<Denial> {
    if exit_code == 0 || policy.mode == Mode::DangerFullAccess {
        return None;
    }
    output_tail.lines().find_map(|line| {
        let lower = line.to_lowercase();
        let has = |texts: &[&str]| texts.iter().any(|text| lower.contains(text));
        if !policy.network && has(&NETWORK_TEXTS) {
            return Some(Denial {
                what: host(line),
                rule: "the sandbox has no network".to_owned(),
                line: cut(line),
            });
        }
        if !has(&FILE_TEXTS) && !has(&FILE_CODES) {
            return None;
        }
        // The last path is the one that was refused: the first is often the program that speaks.
        let path = paths(line)
            .into_iter()
            .rev()
            .find_map(|path| rule_of(&path, policy).map(|rule| (path, rule)));
        let (what, rule) = match path {
            Some((path, rule)) => (Some(path.display().to_string()), rule),
            None if lower.contains("read-only file system") || lower.contains("erofs") => {
                (None, writable_rule(policy))
            }
            // A path that no rule covers was refused by its own mode.
            None if !paths(line).is_empty() => return None,
            None => (None, "the sandbox may have refused this".to_owned()),
        };
        Some(Denial {
            what,
            rule,
            line: cut(line),
        })
    })
}

/// Returns the rule that covers a path.
fn rule_of(path: &Path, policy: &Policy) -> Option<String> {
    let under = |paths: &[PathBuf]| {
        paths
            .iter()
            .find(|covered| path.starts_with(covered))
            .cloned()
    };
    if let Some(hidden) = under(&policy.hidden) {
        return Some(format!("the sandbox hides `{}`", hidden.display()));
    }
    if policy.mode == Mode::ReadOnly {
        return path.is_absolute().then(|| writable_rule(policy));
    }
    if let Some(kept) = under(&policy.read_only_within) {
        return Some(format!("the sandbox keeps `{}` read-only", kept.display()));
    }
    if path.is_relative() {
        let kept = policy.read_only_within.iter().find(|kept| {
            kept.file_name()
                .is_some_and(|name| path.components().any(|part| part.as_os_str() == name))
        })?;
        return Some(format!("the sandbox keeps `{}` read-only", kept.display()));
    }
    (under(&policy.writable).is_none() && !path.starts_with("/tmp")).then(|| writable_rule(policy))
}

fn writable_rule(policy: &Policy) -> String {
    if policy.mode == Mode::ReadOnly {
        return "the sandbox is read-only: only `/tmp` may be written".to_owned();
    }
    let roots: Vec<String> = policy
        .writable
        .iter()
        .map(|root| format!("`{}`", root.display()))
        .collect();
    if roots.is_empty() {
        return "the sandbox lets nothing but `/tmp` be written".to_owned();
    }
    format!(
        "the sandbox lets only {} and `/tmp` be written",
        roots.join(", ")
    )
}

/// Returns what looks like a path in a line, as the tools print it: quoted, or between blanks and colons.
fn paths(line: &str) -> Vec<PathBuf> {
    const EDGES: [char; 12] = ['\'', '"', '`', '‘', '’', '“', '”', '(', ')', ',', ':', ';'];
    line.split(|character: char| character.is_whitespace() || EDGES.contains(&character))
        .filter(|word| word.len() > 1 && (word.contains('/') || word.starts_with('.')))
        .filter(|word| !word.contains("//"))
        .map(|word| PathBuf::from(word.trim_end_matches(['.', '/'])))
        .collect()
}

/// Returns the host that a line names.
fn host(line: &str) -> Option<String> {
    let lower = line.to_lowercase();
    for marker in [
        "could not resolve host:",
        "resolve host",
        "getaddrinfo enotfound",
        "getaddrinfo eai_again",
    ] {
        if let Some(at) = lower.find(marker) {
            let rest = lower.get(at + marker.len()..)?;
            let word = rest.split_whitespace().next()?;
            return Some(
                word.trim_matches(['\'', '"', ':', ',', '.', '(', ')'])
                    .to_owned(),
            );
        }
    }
    line.split(|character: char| character.is_whitespace() || "'\"`()<>,".contains(character))
        .find_map(|word| {
            let rest = word.split_once("://")?.1;
            Some(rest.split(['/', ':']).next()?.to_owned())
        })
        .filter(|host| !host.is_empty())
}

fn cut(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(LINE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
