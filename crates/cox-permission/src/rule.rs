//! The rule grammar: `Tool`, `Tool(exact)`, `Tool(prefix:*)`, path globs, `WebFetch(domain:host)`, MCP names.
//!
//! `Edit(…)`, `Read(…)`, `Bash(…)` and `WebFetch(…)` name abilities: they cover every tool that edits, reads, runs or
//! fetches. Any other name, and a bare `Write`, `Grep` or `apply_patch`, names that tool alone. A rule that cannot be read
//! is an error; none is ever skipped.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use crate::{PathTarget, Segment, Segments, Subject, Target};

mod examples;
mod parse;
mod path;

pub use examples::Examples;
pub use path::{HiddenPath, lexical};
pub(crate) use path::{PathGlob, escape};

/// Where relative and `~/` path globs are anchored. All paths absolute.
#[derive(Clone, Debug)]
pub struct Anchors {
    /// The workspace root: a relative glob matches under it and nowhere else.
    pub root: PathBuf,
    /// The person's home.
    pub home: PathBuf,
}

/// A rule as written, with the place it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSource {
    /// The rule's text, such as `Bash(cargo test:*)`.
    pub text: String,
    /// Where it was written, such as `~/.cox/config.toml:12` or `--allowed-tools`.
    pub origin: String,
}

/// A compiled rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The rule as written.
    pub source: RuleSource,
    pattern: Pattern,
}

/// A rule that could not be read; the fault of whoever wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RuleError {
    /// The rule as written, with where.
    pub rule: RuleSource,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub expected: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A rule comes from a file: control characters in it are written out.
        let (text, origin) = (
            self.rule.text.escape_debug(),
            self.rule.origin.escape_debug(),
        );
        write!(
            f,
            "cannot read the rule `{text}` from {origin}: {}",
            self.problem
        )?;
        write!(f, "\nhint: expected {}", self.expected)
    }
}

/// Deny, ask and allow rules, compiled once.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// Rules that deny.
    pub deny: Vec<Rule>,
    /// Rules that ask.
    pub ask: Vec<Rule>,
    /// Rules that allow.
    pub allow: Vec<Rule>,
    anchors: Option<Anchors>,
    folder: Option<PathBuf>,
}

impl RuleSet {
    /// Compiles rules.
    ///
    /// # Errors
    ///
    /// [`RuleError`] for the first rule that cannot be read.
    pub fn compile(
        deny: Vec<RuleSource>,
        ask: Vec<RuleSource>,
        allow: Vec<RuleSource>,
        anchors: &Anchors,
    ) -> Result<Self, RuleError> {
        let compile = |rules: Vec<RuleSource>| -> Result<Vec<Rule>, RuleError> {
            rules
                .into_iter()
                .map(|source| Rule::compile(source, anchors))
                .collect()
        };
        Ok(Self {
            deny: compile(deny)?,
            ask: compile(ask)?,
            allow: compile(allow)?,
            anchors: Some(anchors.clone()),
            folder: None,
        })
    }

    /// Says in which folder commands start; without it they start at the workspace root. Absolute.
    #[must_use]
    pub fn for_commands_in(mut self, folder: PathBuf) -> Self {
        self.folder = Some(folder);
        self
    }

    /// Says whether a deny rule forbids reading a path, absolute and with its links resolved. For tools that read
    /// whole trees and drop what is denied.
    pub fn denies_read(&self, real: &Path) -> bool {
        self.deny.iter().any(|rule| match &rule.pattern {
            Pattern::Path {
                ability: Ability::Read,
                glob,
            } => glob.covers_strictly(real),
            Pattern::Ability(Ability::Read) => true,
            _ => false,
        })
    }

    /// Returns what `Read` denies hide, so that a sandbox can hide it from commands. A bare `Read` deny is not among them:
    /// it would hide everything.
    pub fn read_denies(&self) -> Vec<HiddenPath> {
        let globs = self.deny.iter().filter_map(|rule| match &rule.pattern {
            Pattern::Path {
                ability: Ability::Read,
                glob,
            } => Some(glob.hidden()),
            _ => None,
        });
        globs.collect()
    }

    pub(crate) fn anchors(&self) -> Option<&Anchors> {
        self.anchors.as_ref()
    }

    /// Returns the folder in which commands start.
    pub(crate) fn folder(&self) -> Option<&Path> {
        let root = self.anchors.as_ref().map(|anchors| anchors.root.as_path());
        self.folder.as_deref().or(root)
    }

    /// Returns the globs of the `Read` denies with their rules.
    pub(crate) fn read_deny_globs(&self) -> impl Iterator<Item = (&Rule, &PathGlob)> {
        globs(&self.deny, Ability::Read)
    }
}

/// Returns the globs of the rules about an ability.
pub(crate) fn globs(rules: &[Rule], wanted: Ability) -> impl Iterator<Item = (&Rule, &PathGlob)> {
    rules.iter().filter_map(move |rule| match &rule.pattern {
        Pattern::Path { ability, glob } if *ability == wanted => Some((rule, glob)),
        _ => None,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ability {
    Read,
    Edit,
    Command,
    Fetch,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// Any call of the tool.
    Tool(String),
    /// Any use of the ability.
    Ability(Ability),
    /// The tool with this very subject.
    Exact { tool: String, text: String },
    /// The tool with a subject that is the prefix or goes on after white space.
    Prefix { tool: String, prefix: String },
    /// One command line, or a simple command with these words.
    Line {
        line: String,
        words: Option<Vec<String>>,
    },
    /// Simple commands that begin with these words.
    Words(Vec<String>),
    /// Files.
    Path { ability: Ability, glob: PathGlob },
    /// One URL.
    Url(String),
    /// URLs that begin so, up to a `/`, `?` or `#`.
    UrlPrefix(String),
    /// A host and its subdomains.
    Domain(String),
    /// A tool of an MCP server, or all that begin so.
    Mcp { name: String, is_prefix: bool },
}

/// What a rule is held against: a target, or one simple command of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'a> {
    /// A call without targets.
    Call,
    Target(&'a Target),
    /// A line that cannot be told, with what may be commands in it.
    Untold {
        target: &'a Target,
        commands: &'a [Vec<String>],
    },
    Segment {
        line: &'a str,
        segment: &'a Segment,
    },
    /// A file that a command of a line is connected to, and nobody knows which.
    Lost {
        line: &'a str,
    },
    /// A file that a command of a line is connected to.
    Redirect {
        line: &'a str,
        target: &'a Target,
    },
}

impl Rule {
    /// Says whether the rule denies a part or asks for it. In doubt it does.
    pub(crate) fn stops(&self, subject: &Subject, part: Part) -> bool {
        match (&self.pattern, part) {
            (Pattern::Path { ability, glob }, Part::Target(target)) => path_of(target, *ability)
                .is_some_and(|path| {
                    glob.covers_strictly(&path.lexical) || glob.covers_strictly(&path.real)
                }),
            (Pattern::Path { .. }, Part::Redirect { target, .. }) => {
                self.stops(subject, Part::Target(target))
            }
            (Pattern::Words(words), Part::Segment { segment, .. }) => {
                may_begin_with(&segment.words, words)
            }
            (
                Pattern::Line { line, words },
                Part::Segment {
                    line: whole,
                    segment,
                },
            ) => {
                line == whole.trim()
                    || words
                        .as_ref()
                        .is_some_and(|words| is_same(&segment.words, words))
            }
            (Pattern::Words(words), Part::Untold { commands, .. }) => {
                words.is_empty()
                    || commands
                        .iter()
                        .any(|command| may_begin_with(command, words))
            }
            (Pattern::Line { line, words }, Part::Untold { target, commands }) => {
                let is_inside =
                    |words: &Vec<String>| commands.iter().any(|command| is_same(command, words));
                matches!(target, Target::Command { line: whole, .. } if line == whole.trim())
                    || words.as_ref().is_some_and(is_inside)
            }
            _ => self.names(subject, part),
        }
    }

    /// Says whether the rule denies one of the commands of a loose reading, or asks for it.
    pub(crate) fn stops_loosely(&self, commands: &[Vec<String>]) -> bool {
        match &self.pattern {
            Pattern::Words(words) => {
                !words.is_empty()
                    && commands
                        .iter()
                        .any(|command| may_begin_with(command, words))
            }
            Pattern::Line {
                words: Some(words), ..
            } => commands.iter().any(|command| is_same(command, words)),
            _ => false,
        }
    }

    /// Says whether the rule would stop a command if its open words or its patterns turned out as they may.
    pub(crate) fn may_stop(&self, segment: &Segment) -> bool {
        match &self.pattern {
            Pattern::Words(words) => may_turn_out(segment, words, false),
            Pattern::Line {
                words: Some(words), ..
            } => may_turn_out(segment, words, true),
            _ => false,
        }
    }

    /// Says whether the rule covers a part. In doubt it does not.
    pub(crate) fn covers(&self, subject: &Subject, part: Part) -> bool {
        match (&self.pattern, part) {
            (Pattern::Path { ability, glob }, Part::Target(target)) => path_of(target, *ability)
                .is_some_and(|path| glob.covers(&path.lexical) && glob.covers(&path.real)),
            (Pattern::Path { .. }, Part::Redirect { target, .. }) => {
                self.covers(subject, Part::Target(target))
            }
            // Whatever a rule for every command lets run may write, too.
            (Pattern::Words(words), Part::Redirect { .. } | Part::Lost { .. }) => words.is_empty(),
            (
                Pattern::Line { line, .. },
                Part::Redirect { line: whole, .. } | Part::Lost { line: whole },
            ) => line == whole.trim(),
            (Pattern::Words(words), Part::Segment { segment, .. }) => {
                begins_with(&segment.words, words)
                    && segment.open.iter().all(|open| *open >= words.len())
            }
            (
                Pattern::Line { line, words },
                Part::Segment {
                    line: whole,
                    segment,
                },
            ) => {
                line == whole.trim()
                    || segment.is_literal() && words.as_ref() == Some(&segment.words)
            }
            // A line that cannot be told: only everything, or this very line.
            (Pattern::Words(words), Part::Untold { .. }) => words.is_empty(),
            (Pattern::Line { line, .. }, Part::Untold { target, .. }) => {
                matches!(target, Target::Command { line: whole, .. } if line == whole.trim())
            }
            _ => self.names(subject, part),
        }
    }

    /// Says whether the rule names the tool rather than an ability.
    pub(crate) fn is_about_tool(&self) -> bool {
        matches!(
            self.pattern,
            Pattern::Tool(_) | Pattern::Exact { .. } | Pattern::Prefix { .. } | Pattern::Mcp { .. }
        )
    }

    fn names(&self, subject: &Subject, part: Part) -> bool {
        let is_tool = |tool: &str| subject.tool.eq_ignore_ascii_case(tool);
        match &self.pattern {
            Pattern::Tool(tool) => is_tool(tool),
            Pattern::Exact { tool, text } => is_tool(tool) && subject.text.trim() == text,
            Pattern::Prefix { tool, prefix } => {
                is_tool(tool) && has_word_prefix(subject.text.trim(), prefix)
            }
            Pattern::Ability(ability) => match part {
                Part::Segment { .. } | Part::Lost { .. } => *ability == Ability::Command,
                Part::Redirect { target, .. } => {
                    *ability == Ability::Command || ability_of(target) == Some(*ability)
                }
                Part::Target(target) | Part::Untold { target, .. } => {
                    ability_of(target) == Some(*ability)
                }
                Part::Call => is_tool(ability.tool()),
            },
            Pattern::Url(url) => matches!(part, Part::Target(Target::Url(target)) if target == url),
            Pattern::UrlPrefix(prefix) => {
                matches!(part, Part::Target(Target::Url(url)) if has_url_prefix(url, prefix))
            }
            Pattern::Domain(domain) => {
                matches!(part, Part::Target(Target::Url(url)) if is_in_domain(url, domain))
            }
            Pattern::Mcp { name, is_prefix } => match part {
                Part::Target(Target::Mcp { server, tool }) => {
                    is_mcp(name, *is_prefix, server, tool)
                }
                _ => false,
            },
            Pattern::Path { .. } | Pattern::Words(_) | Pattern::Line { .. } => false,
        }
    }
}

impl Ability {
    fn tool(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Command => "bash",
            Self::Fetch => "web_fetch",
        }
    }
}

fn ability_of(target: &Target) -> Option<Ability> {
    match target {
        Target::Read(_) => Some(Ability::Read),
        Target::Edit(_) => Some(Ability::Edit),
        Target::Command { .. } => Some(Ability::Command),
        Target::Url(_) => Some(Ability::Fetch),
        Target::Mcp { .. } => None,
    }
}

fn path_of(target: &Target, ability: Ability) -> Option<&PathTarget> {
    match (target, ability) {
        (Target::Read(path), Ability::Read) | (Target::Edit(path), Ability::Edit) => Some(path),
        _ => None,
    }
}

/// Says whether a command begins with `prefix`, word by word.
fn begins_with(words: &[String], prefix: &[String]) -> bool {
    words.starts_with(prefix)
}

/// Says whether a command may begin with `prefix` when the program stands in another folder or has options before its
/// subcommand, such as `git -C x push`. For stopping.
fn may_begin_with(words: &[String], prefix: &[String]) -> bool {
    let (Some((program, arguments)), Some((named, rest))) =
        (words.split_first(), prefix.split_first())
    else {
        return prefix.is_empty();
    };
    if program != named && base_name(program) != named {
        return false;
    }
    let mut arguments = arguments;
    // Whether the word before was an option that may take this one.
    let mut may_be_value = false;
    loop {
        if arguments.starts_with(rest) {
            return true;
        }
        let Some((word, after)) = arguments.split_first() else {
            return false;
        };
        let is_option = word.starts_with(['-', '+']);
        if !is_option && !may_be_value {
            return false;
        }
        may_be_value = is_option && !word.contains('=');
        arguments = after;
    }
}

/// Says whether a command may turn out to begin with `prefix`, or to be just that, once a shell has filled in its open
/// words and its patterns.
fn may_turn_out(segment: &Segment, prefix: &[String], is_whole: bool) -> bool {
    let is_loose =
        |at: usize| segment.open.contains(&at) || crate::risk::word_has_pattern(&segment.words[at]);
    let Some((program, rest)) = prefix.split_first() else {
        return false;
    };
    if segment.words[0] != *program && base_name(&segment.words[0]) != program {
        return false;
    }
    if !(1..segment.words.len()).any(is_loose) {
        return false;
    }
    let mut wanted = rest.iter();
    let mut next = wanted.next();
    let mut may_be_value = false;
    for at in 1..segment.words.len() {
        let Some(word) = next else {
            return !is_whole || segment.may_split;
        };
        let own = &segment.words[at];
        if segment.open.contains(&at) {
            // It may be this word and all that are missing.
            return true;
        }
        if crate::risk::word_has_pattern(own) && may_expand_to(own, word) || own == word {
            next = wanted.next();
            may_be_value = false;
            continue;
        }
        let is_option = own.starts_with(['-', '+']);
        if !is_option && !may_be_value {
            return false;
        }
        may_be_value = is_option && !own.contains('=');
    }
    next.is_none()
}

/// Says whether a shell could turn a pattern into a word, if a file has that name.
fn may_expand_to(pattern: &str, word: &str) -> bool {
    match globset::GlobBuilder::new(pattern).build() {
        Ok(glob) => glob.compile_matcher().is_match(word),
        Err(_) => true,
    }
}

/// Says whether two commands are the same, wherever the program stands.
fn is_same(words: &[String], other: &[String]) -> bool {
    words.len() == other.len() && may_begin_with(words, other)
}

pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn has_word_prefix(text: &str, prefix: &str) -> bool {
    match text.strip_prefix(prefix) {
        Some(rest) => prefix.is_empty() || rest.is_empty() || rest.starts_with(char::is_whitespace),
        None => false,
    }
}

fn has_url_prefix(url: &str, prefix: &str) -> bool {
    match url.strip_prefix(prefix) {
        Some(rest) => rest.is_empty() || prefix.ends_with('/') || rest.starts_with(['/', '?', '#']),
        None => false,
    }
}

fn is_in_domain(target: &str, domain: &str) -> bool {
    let Ok(url) = url::Url::parse(target) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    host == domain
        || host
            .strip_suffix(domain)
            .is_some_and(|before| before.ends_with('.'))
}

/// Says whether `name` (all after `mcp__`) stands for a tool of a server. Names may hold `__` themselves, so every
/// way to cut is tried; the server must be whole.
fn is_mcp(name: &str, is_prefix: bool, server: &str, tool: &str) -> bool {
    let (server, tool) = (server.to_ascii_lowercase(), tool.to_ascii_lowercase());
    let named = name.match_indices("__").any(|(at, _)| {
        let rest = &name[at + 2..];
        name[..at] == server
            && if is_prefix {
                tool.starts_with(rest)
            } else {
                tool == rest
            }
    });
    // `mcp__server` is the whole server; `mcp__*` is every one.
    named || name == server && !is_prefix || is_prefix && name.is_empty()
}

/// Says whether a line's simple commands can be told and there is at least one.
pub(crate) fn known(segments: &Segments) -> Option<&[Segment]> {
    match segments {
        Segments::Known(segments) if !segments.is_empty() => Some(segments),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
