//! What a rule stops and what it covers: a deny or an ask matches in doubt, an allow does not.

use super::{
    Ability, Part, Pattern, Rule,
    words::{begins_with, is_same, may_begin_with, may_turn_out},
};
use crate::{PathTarget, Segment, Subject, Target};

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
