//! What a sandbox refused, read from the output of a command that failed.

use std::path::{Path, PathBuf};

use child_process::MAX_PROCESSES;

use crate::{Mode, Policy};

/// Something a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The path or host, where the output names it.
    pub what: Option<String>,
    /// The rule that refused it, in words for a person and a model.
    pub rule: String,
    /// What a model can do now, as the end of a sentence; empty where that cannot be told.
    pub hint: &'static str,
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

/// A rule in words, and what can be done about it.
type Ruling = (String, &'static str);

/// What can be done where the network is missing.
const NO_NETWORK: &str = "only the user can allow it, by `sandbox.network = true`";

/// What can be done about something that is hidden.
const HIDDEN: &str = "do without it, or ask the user for what you need of it";

/// What can be done about something that stays as it is.
const KEPT: &str = "leave it as it is, or tell the user what to change in it";

/// Longest line that is kept, in characters.
const LINE: usize = 200;

/// Texts of refused writes and reads, lower case.
const FILE_TEXTS: [&str; 3] = [
    "read-only file system",
    "permission denied",
    "operation not permitted",
];

/// Texts of refusals that say so only together with a path that a rule covers, lower case.
const WEAK_TEXTS: [&str; 4] = [
    "isn't writable",
    "is not writable",
    "unable to open database file",
    "attempt to write a readonly database",
];

/// A process or thread too many: a text, lower case, and words of which one stands near it.
const FORK_TEXTS: [&str; 3] = ["resource temporarily unavailable", "os error 11", "eagain"];
const FORK_WORDS: [&str; 6] = [
    "fork",
    "thread",
    "spawn",
    "clone",
    "subprocess",
    "create process",
];

/// How far from a refusal the path or host may stand that it is about, in lines: many programs name the cause last.
const AROUND: usize = 4;

/// Codes of the same refusals, as runtimes print them, lower case.
const FILE_CODES: [&str; 5] = ["erofs", "eacces", "eperm", "os error 30", "os error 13"];

/// Texts of a network that is not there, lower case.
const NETWORK_TEXTS: [&str; 13] = [
    "unknownhostexception",
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
    let lines: Vec<&str> = output_tail.lines().collect();
    (0..lines.len()).find_map(|at| denial_at(&lines, at, policy))
}

/// Reads one line; where it does not name what was refused, the lines around it may.
fn denial_at(lines: &[&str], at: usize, policy: &Policy) -> Option<Denial> {
    let line = lines.get(at)?;
    let lower = line.to_lowercase();
    let has = |texts: &[&str]| texts.iter().any(|text| lower.contains(text));
    let near = &lines[at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1)];
    let told = |what: Option<String>, (rule, hint): Ruling| {
        Some(Denial {
            what,
            rule,
            hint,
            line: cut(line),
        })
    };
    if !policy.network {
        if has(&NETWORK_TEXTS) {
            let around = || near.iter().find_map(|line| host(line));
            return told(host(line).or_else(around), no_network());
        }
        if let Some(host) = unreached(&lower) {
            return told(Some(host), no_network());
        }
    }
    if lower.contains("docker daemon") || lower.contains("podman.sock") {
        return told(
            None,
            (
                "the sandbox hides the sockets of container engines".to_owned(),
                "do without containers, or tell the user what to run",
            ),
        );
    }
    if has(&FORK_TEXTS) || lower.contains("can't start new thread") {
        let tells_of_fork = |line: &&str| {
            let lower = line.to_lowercase();
            FORK_WORDS.iter().any(|word| lower.contains(word))
        };
        if near.iter().any(tells_of_fork) {
            return told(
                None,
                (
                    format!(
                        "the sandbox lets at most {MAX_PROCESSES} processes and threads run at a time"
                    ),
                    "start fewer at a time",
                ),
            );
        }
    }
    let is_refusal = has(&FILE_TEXTS) || has(&FILE_CODES);
    if !is_refusal && !has(&WEAK_TEXTS) {
        return None;
    }
    // The last path is the one that was refused: the first is often the program that speaks.
    let covered = |line: &str| {
        let mut paths = paths(line).into_iter().rev();
        paths.find_map(|path| rule_of(&path, policy).map(|rule| (path, rule)))
    };
    let is_read_only = lower.contains("read-only file system") || lower.contains("erofs");
    let found = match covered(line) {
        None if is_read_only => near.iter().find_map(|line| covered(line)),
        found => found,
    };
    match found {
        Some((path, rule)) => told(Some(path.display().to_string()), rule),
        None if is_read_only => told(None, writable_rule(policy)),
        // A path that no rule covers was refused by its own mode.
        None if !paths(line).is_empty() || !is_refusal => None,
        None => told(None, ("the sandbox may have refused this".to_owned(), "")),
    }
}

/// Returns the rule that covers a path.
fn rule_of(path: &Path, policy: &Policy) -> Option<Ruling> {
    let under = |paths: &[PathBuf]| {
        paths
            .iter()
            .find(|covered| path.starts_with(covered))
            .cloned()
    };
    if let Some(hidden) = under(&policy.hidden) {
        return Some(hides(&hidden));
    }
    if path.is_relative() {
        // Programs speak of files as they were told of them: from the folder they stand in, which is in a writable one.
        let inside =
            |hidden: &&PathBuf| policy.writable.iter().any(|root| hidden.starts_with(root));
        let mut hidden = policy.hidden.iter().filter(inside);
        let names = |hidden: &&PathBuf| {
            let mut around = path.ancestors().filter(|part| part.file_name().is_some());
            around.any(|part| hidden.ends_with(part.strip_prefix(".").unwrap_or(part)))
        };
        if let Some(hidden) = hidden.find(names) {
            return Some(hides(hidden));
        }
    }
    if policy.mode == Mode::ReadOnly {
        return path.is_absolute().then(|| writable_rule(policy));
    }
    if let Some(kept) = under(&policy.read_only_within) {
        return Some(keeps(&kept));
    }
    if path.is_relative() {
        let kept = policy.read_only_within.iter().find(|kept| {
            kept.file_name()
                .is_some_and(|name| path.components().any(|part| part.as_os_str() == name))
        })?;
        return Some(keeps(kept));
    }
    (under(&policy.writable).is_none() && !path.starts_with("/tmp")).then(|| writable_rule(policy))
}

fn no_network() -> Ruling {
    ("the sandbox has no network".to_owned(), NO_NETWORK)
}

fn hides(path: &Path) -> Ruling {
    (format!("the sandbox hides `{}`", path.display()), HIDDEN)
}

fn keeps(path: &Path) -> Ruling {
    (
        format!("the sandbox keeps `{}` read-only", path.display()),
        KEPT,
    )
}

fn writable_rule(policy: &Policy) -> Ruling {
    if policy.mode == Mode::ReadOnly {
        return (
            "the sandbox is read-only: only `/tmp` may be written".to_owned(),
            "write to `$TMPDIR`, or tell the user what you would change",
        );
    }
    let roots: Vec<String> = policy
        .writable
        .iter()
        .map(|root| format!("`{}`", root.display()))
        .collect();
    if roots.is_empty() {
        return (
            "the sandbox lets nothing but `/tmp` be written".to_owned(),
            "write to `$TMPDIR`, or ask the user for `--add-dir`",
        );
    }
    (
        format!(
            "the sandbox lets only {} and `/tmp` be written",
            roots.join(", ")
        ),
        "write there, or ask the user for `--add-dir`",
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

/// What stands before a host, lower case; the longer ones before those they begin with.
const HOST_MARKERS: [&str; 11] = [
    "could not resolve host:",
    "resolve hostname",
    "resolve host address",
    "resolve host",
    "getaddrinfo enotfound",
    "getaddrinfo eai_again",
    "unknownhostexception:",
    "dial tcp: lookup",
    "resolving",
    "host=",
    "connection to",
];

/// Returns the host that a line names.
fn host(line: &str) -> Option<String> {
    let lower = line.to_lowercase();
    let marked = HOST_MARKERS.iter().find_map(|marker| {
        let at = lower.rfind(marker)?;
        as_host(lower.get(at + marker.len()..)?.split_whitespace().next()?)
    });
    let in_url = || {
        line.split(|character: char| character.is_whitespace() || "'\"`()<>,".contains(character))
            .find_map(|word| as_host(word.split_once("://")?.1))
    };
    // `example.com: Temporary failure in name resolution`.
    let before = || {
        NETWORK_TEXTS.iter().find_map(|text| {
            let before = lower.get(..lower.find(text)?)?.trim_end();
            as_host(before.strip_suffix(':')?.split_whitespace().next_back()?)
        })
    };
    marked.or_else(in_url).or_else(before)
}

/// Returns the host at the start of a word, if there is one: a name with a dot, an address, or what a port follows.
fn as_host(word: &str) -> Option<String> {
    const EDGES: [char; 13] = [
        '\'', '"', '`', '‘', '’', '“', '”', '(', ')', ',', '.', ';', ':',
    ];
    let word = word.trim_matches(EDGES);
    let host = word.split(['/', ':', '\'', '"', '’', ',']).next()?;
    let is_host = host.contains('.')
        && host
            .chars()
            .all(|char| char.is_alphanumeric() || ".-_".contains(char));
    is_host.then(|| host.to_owned())
}

/// Returns the host that could not be reached, if it is another machine: what does not answer on this one is a server
/// that does not run.
fn unreached(lower: &str) -> Option<String> {
    let at = lower.find("failed to connect to ")? + "failed to connect to ".len();
    let host = as_host(lower.get(at..)?.split_whitespace().next()?)?;
    let is_here = host.starts_with("127.") || host == "0.0.0.0" || host.starts_with("localhost");
    (!is_here).then_some(host)
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
