//! Examples that a rule carries, and rules that name no tool: what a person meant, held against what a rule says.

use super::{
    Ability, Anchors, Part, Pattern, Rule, RuleError, RuleSet, RuleSource, known, lexical,
};
use crate::{PathTarget, Risk, Subject, Target, segments, segments::loose_commands};

/// What a rule is meant to cover and what not, as its writer says.
///
/// For a rule about commands, each is a line; about files, a path; about fetching, a URL; about an MCP tool, its whole
/// name; about any other tool, its subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examples {
    /// What the rule covers.
    pub matches: Vec<String>,
    /// What it does not.
    pub not_matches: Vec<String>,
    /// Whether the rule allows: then every command of a line must be covered. A rule that denies or asks covers a line
    /// when it names one command of it.
    pub allows: bool,
}

impl Examples {
    /// Holds the examples against their rule.
    ///
    /// # Errors
    ///
    /// [`RuleError`] for a rule that cannot be read, and for the first example that is not as its writer says.
    pub fn check(&self, source: &RuleSource, anchors: &Anchors) -> Result<(), RuleError> {
        let rule = Rule::compile(source.clone(), anchors)?;
        let wrong = |example: &String, problem: &str, expected: &str| {
            Err(RuleError {
                rule: source.clone(),
                problem: format!("its example `{}` {problem}", example.escape_debug()),
                expected: expected.to_owned(),
            })
        };
        for example in &self.matches {
            if !self.covers(&rule, example, anchors) {
                return wrong(
                    example,
                    "under `match` is not covered",
                    "a rule that covers it, or the example under `not_match`",
                );
            }
        }
        for example in &self.not_matches {
            if self.covers(&rule, example, anchors) {
                return wrong(
                    example,
                    "under `not_match` is covered",
                    "a rule that does not cover it, or the example under `match`",
                );
            }
        }
        Ok(())
    }

    fn covers(&self, rule: &Rule, example: &str, anchors: &Anchors) -> bool {
        let subject = subject(rule, example, anchors);
        let holds = |part: Part| match self.allows {
            true => rule.covers(&subject, part),
            false => rule.stops(&subject, part),
        };
        let [target] = subject.targets.as_slice() else {
            return holds(Part::Call);
        };
        let Target::Command { line, segments } = target else {
            return holds(Part::Target(target));
        };
        let Some(segments) = known(segments) else {
            let commands = loose_commands(line);
            return holds(Part::Untold {
                target,
                commands: &commands,
            });
        };
        let mut parts = segments
            .iter()
            .map(|segment| holds(Part::Segment { line, segment }));
        match self.allows {
            true => parts.all(|holds| holds),
            false => parts.any(|holds| holds),
        }
    }
}

fn subject(rule: &Rule, example: &str, anchors: &Anchors) -> Subject {
    let path = || {
        let lexical = match example.strip_prefix("~/") {
            Some(rest) => lexical(rest.as_ref(), &anchors.home),
            None => lexical(example.as_ref(), &anchors.root),
        };
        PathTarget {
            written: example.to_owned(),
            real: lexical.clone(),
            lexical,
        }
    };
    let command = || Target::Command {
        line: example.to_owned(),
        segments: segments(example),
    };
    let (tool, target) = match &rule.pattern {
        Pattern::Tool(tool) | Pattern::Exact { tool, .. } | Pattern::Prefix { tool, .. } => {
            (tool.as_str(), None)
        }
        Pattern::Line { .. } | Pattern::Words(_) | Pattern::Ability(Ability::Command) => {
            ("bash", Some(command()))
        }
        Pattern::Path {
            ability: Ability::Edit,
            ..
        }
        | Pattern::Ability(Ability::Edit) => ("edit", Some(Target::Edit(path()))),
        Pattern::Path { .. } | Pattern::Ability(Ability::Read) => {
            ("read", Some(Target::Read(path())))
        }
        Pattern::Url(_)
        | Pattern::UrlPrefix(_)
        | Pattern::Domain(_)
        | Pattern::Ability(Ability::Fetch) => ("web_fetch", Some(Target::Url(normal_url(example)))),
        Pattern::Mcp { .. } => {
            let name = example.strip_prefix("mcp__").unwrap_or(example);
            let (server, tool) = name.split_once("__").unwrap_or((name, ""));
            let target = Target::Mcp {
                server: server.to_owned(),
                tool: tool.to_owned(),
            };
            (example, Some(target))
        }
    };
    Subject {
        tool: tool.to_owned(),
        text: example.to_owned(),
        risk: Risk::Exec,
        targets: target.into_iter().collect(),
    }
}

fn normal_url(url: &str) -> String {
    url::Url::parse(url).map_or_else(|_| url.to_owned(), String::from)
}

impl RuleSet {
    /// Returns the rules that name a tool that is not among `tools`, each with the nearest one if it may be a slip.
    pub fn unknown_tools<'a>(&self, tools: &[&'a str]) -> Vec<(&RuleSource, Option<&'a str>)> {
        let rules = self.deny.iter().chain(&self.ask).chain(&self.allow);
        rules
            .filter_map(|rule| {
                let (Pattern::Tool(name)
                | Pattern::Exact { tool: name, .. }
                | Pattern::Prefix { tool: name, .. }) = &rule.pattern
                else {
                    return None;
                };
                if tools.iter().any(|tool| tool.eq_ignore_ascii_case(name)) {
                    return None;
                }
                let near = tools
                    .iter()
                    .map(|tool| (distance(name, tool), *tool))
                    .filter(|(distance, _)| *distance <= 2)
                    .min();
                Some((&rule.source, near.map(|(_, tool)| tool)))
            })
            .collect()
    }
}

/// Returns how many letters must be changed, added or left out to make one word the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, char) in one.chars().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (column, own) in other.iter().enumerate() {
            let changed = before + usize::from(char != *own);
            before = row[column + 1];
            row[column + 1] = changed.min(before + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &str, matches: &[&str], not_matches: &[&str], allows: bool, expect: &str) {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let examples = Examples {
            matches: texts(matches),
            not_matches: texts(not_matches),
            allows,
        };
        let source = RuleSource {
            text: rule.into(),
            origin: "test".into(),
        };
        let anchors = Anchors {
            root: "/home/me/app".into(),
            home: "/home/me".into(),
        };
        let got = examples.check(&source, &anchors);
        assert_eq!(
            got.map_or_else(|error| error.problem, |()| String::new()),
            expect,
            "of {rule}"
        );
    }

    #[test]
    fn examples_are_held_against_their_rule() {
        check(
            "Bash(git push:*)",
            &["git push", "ls; git -C x push"],
            &["git pull"],
            false,
            "",
        );
        check(
            "Bash(git push:*)",
            &["git pull"],
            &[],
            false,
            "its example `git pull` under `match` is not covered",
        );
        check(
            "Bash(git push:*)",
            &[],
            &["git push -f"],
            false,
            "its example `git push -f` under `not_match` is covered",
        );
        check(
            "Bash(cargo test:*)",
            &["cargo test -q"],
            &["cargo test; ls", "cargo t"],
            true,
            "",
        );
        check(
            "Edit(src/**)",
            &["src/a/b.rs", "/home/me/app/src/x"],
            &["a/src/x"],
            true,
            "",
        );
        check("Read(~/.ssh/**)", &["~/.ssh/id"], &[".ssh/id"], false, "");
        check(
            "WebFetch(domain:docs.rs)",
            &["https://docs.rs/x"],
            &["https://rs/"],
            true,
            "",
        );
        check(
            "mcp__git__*",
            &["mcp__git__push"],
            &["mcp__github__push"],
            true,
            "",
        );
        check("agent(look:*)", &["look here"], &["look-see"], true, "");
    }

    #[test]
    fn a_rule_without_a_tool_is_found_with_the_nearest_one() {
        let sources = ["Gerp(x)", "todo", "Zzzzzzz", "Bash"].map(|text| RuleSource {
            text: text.into(),
            origin: String::new(),
        });
        let anchors = Anchors {
            root: "/".into(),
            home: "/".into(),
        };
        let rules = RuleSet::compile(sources.to_vec(), vec![], vec![], &anchors).unwrap();
        let found = rules.unknown_tools(&["grep", "todo"]);
        assert_eq!(found, [(&sources[0], Some("grep")), (&sources[2], None)]);
    }
}
