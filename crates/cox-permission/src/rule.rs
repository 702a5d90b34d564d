//! The rule grammar: `Tool`, `Tool(exact)`, `Tool(prefix:*)`, path globs, `WebFetch(domain:host)`, MCP names.
//!
//! `Edit(…)`, `Read(…)`, `Bash(…)` and `WebFetch(…)` name abilities: they cover every tool that edits, reads, runs or
//! fetches. Any other name, and a bare `Write`, `Grep` or `apply_patch`, names that tool alone. A rule that cannot be read
//! is an error; none is ever skipped.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use crate::{Segment, Segments, Target};

mod examples;
mod matching;
mod parse;
mod path;
mod words;

pub use examples::Examples;
pub use path::{HiddenPath, lexical};
pub(crate) use path::{PathGlob, escape};
pub(crate) use words::base_name;

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

/// Says whether a line's simple commands can be told and there is at least one.
pub(crate) fn known(segments: &Segments) -> Option<&[Segment]> {
    match segments {
        Segments::Known(segments) if !segments.is_empty() => Some(segments),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
