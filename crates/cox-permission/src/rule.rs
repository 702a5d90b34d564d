//! The rule grammar: `Tool`, `Tool(exact)`, `Tool(prefix:*)`, path globs, `WebFetch(domain:host)`, MCP names.

use std::path::PathBuf;

/// Where relative and `~/` path globs are anchored. All paths absolute.
#[derive(Clone, Debug)]
pub struct Anchors {
    /// The workspace root: a relative glob matches under it and nowhere else.
    pub root: PathBuf,
    /// The person's home.
    pub home: PathBuf,
}

/// A rule as written, with the place it came from.
#[derive(Clone, Debug)]
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
}

/// A rule that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("bad rule")]
pub struct RuleError;

/// Deny, ask and allow rules, compiled once.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// Rules that deny.
    pub deny: Vec<Rule>,
    /// Rules that ask.
    pub ask: Vec<Rule>,
    /// Rules that allow.
    pub allow: Vec<Rule>,
}
