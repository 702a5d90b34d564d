//! Reads a rule.

use super::{Ability, Anchors, PathGlob, Pattern, Rule, RuleError, RuleSource};
use crate::segments::plain_words;

const FORMS: &str = "`Tool`, `Tool(exact)`, `Bash(prefix:*)`, `Edit(glob)`, `Read(glob)`, `WebFetch(domain:host)` or `mcp__server__tool`";

/// What is wrong, and what would be right.
type Problem = (String, String);

impl Rule {
    /// Compiles a rule that a person wrote.
    pub(crate) fn compile(source: RuleSource, anchors: &Anchors) -> Result<Self, RuleError> {
        let rule = Self::compile_exact(source, anchors)?;
        // A star in the middle means nothing here: as an exact line it would silently match nothing.
        if let Pattern::Line { line, .. } = &rule.pattern
            && line
                .split_whitespace()
                .any(|word| word == "*" || word.ends_with(":*"))
        {
            return Err(RuleError {
                rule: rule.source.clone(),
                problem: "a `*` inside a command stands for itself".into(),
                expected: "`:*` at the end, such as `Bash(git push:*)`".into(),
            });
        }
        Ok(rule)
    }

    /// Compiles a rule whose commands may hold stars that stand for themselves, such as a grant.
    pub(crate) fn compile_exact(source: RuleSource, anchors: &Anchors) -> Result<Self, RuleError> {
        match pattern(source.text.trim(), anchors) {
            Ok(pattern) => Ok(Self { source, pattern }),
            Err((problem, expected)) => Err(RuleError {
                rule: source,
                problem,
                expected,
            }),
        }
    }
}

fn pattern(text: &str, anchors: &Anchors) -> Result<Pattern, Problem> {
    let (name, argument) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(argument) => (name, Some(argument.trim())),
            None => return Err(("there is no `)` at its end".into(), FORMS.into())),
        },
    };
    if name.is_empty() {
        return Err(("it names no tool".into(), FORMS.into()));
    }
    if let Some(odd) = name
        .chars()
        .find(|char| !char.is_ascii_alphanumeric() && !matches!(char, '_' | '-' | '.' | '*'))
    {
        return Err((
            format!("a tool's name has no `{}`", odd.escape_debug()),
            FORMS.into(),
        ));
    }
    let name = name.to_ascii_lowercase();
    if argument == Some("") {
        return Err((
            "there is nothing between `(` and `)`".into(),
            format!("`{name}` alone for any call, or {FORMS}"),
        ));
    }
    if let Some(rest) = name.strip_prefix("mcp__") {
        return mcp(rest, argument);
    }
    if name.contains('*') {
        return Err(("a `*` in a name is for MCP tools only".into(), FORMS.into()));
    }
    match argument {
        None => Ok(bare(&name)),
        Some(argument) => with_argument(&name, argument, anchors),
    }
}

fn bare(name: &str) -> Pattern {
    match name {
        "edit" | "multiedit" | "notebookedit" => Pattern::Ability(Ability::Edit),
        "read" => Pattern::Ability(Ability::Read),
        "bash" => Pattern::Ability(Ability::Command),
        "webfetch" | "web_fetch" => Pattern::Ability(Ability::Fetch),
        _ => Pattern::Tool(alias(name).into()),
    }
}

/// Returns our name for a tool that others call otherwise.
fn alias(name: &str) -> &str {
    match name {
        "websearch" => "web_search",
        "todowrite" | "todoread" => "todo",
        "task" => "agent",
        "ls" => "glob",
        name => name,
    }
}

fn with_argument(name: &str, argument: &str, anchors: &Anchors) -> Result<Pattern, Problem> {
    let path =
        |ability| PathGlob::new(argument, anchors).map(|glob| Pattern::Path { ability, glob });
    match name {
        "edit" | "multiedit" | "notebookedit" | "write" | "apply_patch" | "rename_symbol" => {
            path(Ability::Edit)
        }
        "read" | "grep" | "glob" | "ls" | "outline" => path(Ability::Read),
        "bash" => Ok(command(argument)),
        "webfetch" | "web_fetch" => url(argument),
        _ => {
            let tool = alias(name).to_owned();
            Ok(match argument.strip_suffix(":*") {
                Some(prefix) => Pattern::Prefix {
                    tool,
                    prefix: prefix.trim().into(),
                },
                None => Pattern::Exact {
                    tool,
                    text: argument.into(),
                },
            })
        }
    }
}

fn command(argument: &str) -> Pattern {
    let prefix = match argument
        .strip_suffix(":*")
        .or_else(|| argument.strip_suffix(" *"))
    {
        Some(prefix) => Some(prefix),
        None if argument == "*" => Some(""),
        None => None,
    };
    let Some(prefix) = prefix else {
        return Pattern::Line {
            line: argument.into(),
            words: plain_words(argument),
        };
    };
    Pattern::Words(
        plain_words(prefix)
            .unwrap_or_else(|| prefix.split_whitespace().map(str::to_owned).collect()),
    )
}

fn url(argument: &str) -> Result<Pattern, Problem> {
    if let Some(domain) = argument.strip_prefix("domain:") {
        let expected =
            || "a host such as `WebFetch(domain:docs.rs)`; its subdomains are covered".to_owned();
        let domain = domain.trim().trim_end_matches('.');
        if domain.contains('*') {
            return Err(("a domain has no `*`".into(), expected()));
        }
        return match url::Host::parse(domain) {
            Ok(host) => Ok(Pattern::Domain(host.to_string())),
            Err(error) => Err((
                format!("`{}` is no host: {error}", domain.escape_debug()),
                expected(),
            )),
        };
    }
    let (text, is_prefix) = match argument
        .strip_suffix(":*")
        .or_else(|| argument.strip_suffix('*'))
    {
        Some(prefix) => (prefix, true),
        None => (argument, false),
    };
    match url::Url::parse(text) {
        Ok(url) if url.has_host() && is_prefix => Ok(Pattern::UrlPrefix(url.into())),
        Ok(url) if url.has_host() => Ok(Pattern::Url(url.into())),
        _ => Err((
            format!(
                "`{}` is neither a URL nor `domain:` and a host",
                text.escape_debug()
            ),
            "`WebFetch(domain:docs.rs)` or `WebFetch(https://docs.rs/serde/:*)`".into(),
        )),
    }
}

fn mcp(name: &str, argument: Option<&str>) -> Result<Pattern, Problem> {
    const EXPECTED: &str = "`mcp__server__tool`, `mcp__server__*` or `mcp__server`";
    if argument.is_some() {
        return Err((
            "a rule for an MCP tool takes no parentheses".into(),
            EXPECTED.into(),
        ));
    }
    let (name, is_prefix) = match name.strip_suffix('*') {
        Some(prefix) => (prefix, true),
        None => (name, false),
    };
    if name.contains('*') {
        return Err((
            "a `*` stands at the end of an MCP name only".into(),
            EXPECTED.into(),
        ));
    }
    let has_server = name
        .split("__")
        .next()
        .is_some_and(|server| !server.is_empty());
    let names_whole_server = name.contains("__") || !is_prefix;
    if !(has_server && names_whole_server && (is_prefix || !name.ends_with("__"))
        || name.is_empty() && is_prefix)
    {
        return Err(("it names no whole server".into(), EXPECTED.into()));
    }
    Ok(Pattern::Mcp {
        name: name.into(),
        is_prefix,
    })
}
