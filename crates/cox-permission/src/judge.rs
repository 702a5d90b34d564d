//! The order of judgement, in one place.
//!
//! Deny rule → bypass mode → plan mode → ask rule → allow rule → session grant → approval policy `untrusted` → the risk's
//! default → approval policy `never`. A call is judged part by part, each target and each simple command; the strictest
//! part decides. A line that cannot be told is covered only by a rule for every command or for this very line.

use serde::{Deserialize, Serialize};

use crate::{
    ApprovalPolicy, Mode, Redirect, Risk, Rule, RuleSet, Segment, Subject, Target,
    risk::{loose_risk, segment_risk},
    rule::{Part as RulePart, known},
    segments::{is_plain, loose_commands},
};

mod grants;
mod reads;
mod why;

pub use grants::Grants;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It runs.
    Allow,
    /// A person decides.
    Ask,
    /// It does not run.
    Deny,
}

/// Which step of the order of judgement decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Why {
    /// A rule matched.
    Rule {
        /// The rule as written.
        rule: String,
        /// Where it was written.
        origin: String,
    },
    /// The mode decided.
    Mode {
        /// The mode.
        mode: Mode,
    },
    /// A grant of this session covered it.
    Grant {
        /// The grant as a rule.
        grant: String,
    },
    /// Nothing named it: the risk's default.
    Risk {
        /// The risk of the call.
        risk: crate::Risk,
    },
    /// The line could not be read.
    CannotTell {
        /// What stopped the reader.
        reason: String,
    },
    /// The approval policy decided: an ask with nobody to ask, or an untrusted session.
    Policy {
        /// The policy.
        policy: ApprovalPolicy,
    },
}

/// The verdict on one target or one simple command of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The target as text: a path, a simple command, a URL, a name.
    pub text: String,
    /// What becomes of it.
    pub decision: Decision,
    /// Why.
    pub why: Why,
}

/// The verdict on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The strictest of its parts.
    pub decision: Decision,
    /// The reason of the part that decided: the first of the strictest.
    pub why: Why,
    /// Every part with its own verdict, in the order of the subject. Never empty.
    pub parts: Vec<Part>,
}

/// Everything that a judgement depends on besides the subject.
#[derive(Clone, Debug)]
pub struct Judge {
    /// The rules.
    pub rules: RuleSet,
    /// The mode.
    pub mode: Mode,
    /// When a person is asked.
    pub policy: ApprovalPolicy,
    /// What was allowed for this session.
    pub grants: Grants,
    /// Whether commands run in a sandbox; without one, `on-failure` is judged as `on-request`.
    pub sandboxed: bool,
}

/// A part of a call with what its judgement needs.
struct Matter<'a> {
    part: RulePart<'a>,
    text: String,
    risk: Risk,
    /// Why a line cannot be told.
    cannot_tell: Option<&'a str>,
    /// Whether the call is riskier than what its targets stand for, so that only a rule for the tool covers it.
    is_raised: bool,
    /// The folder that only a rule that names it opens for writing.
    protected: Option<&'static str>,
    /// Whether it is a command.
    is_command: bool,
    /// What the rules say about the files that a command names, and about its open words.
    reads: Option<(Decision, Why)>,
}

impl Judge {
    /// Returns the verdict on a subject.
    pub fn judge(&self, subject: &Subject) -> Verdict {
        let loose: Vec<Vec<Vec<String>>> = subject
            .targets
            .iter()
            .map(|target| self.read_loosely(target))
            .collect();
        let parts: Vec<Part> = self
            .matters(subject, &loose)
            .into_iter()
            .map(|matter| {
                let (decision, why) = self.decide(subject, &matter);
                Part {
                    text: matter.text,
                    decision,
                    why,
                }
            })
            .collect();
        let decision = parts
            .iter()
            .map(|part| part.decision)
            .max()
            .unwrap_or(Decision::Ask);
        let why = match parts.iter().find(|part| part.decision == decision) {
            Some(part) => part.why.clone(),
            None => Why::Risk { risk: subject.risk },
        };
        Verdict {
            decision,
            why,
            parts,
        }
    }

    fn decide(&self, subject: &Subject, matter: &Matter) -> (Decision, Why) {
        let stopping = |rules: &[Rule]| {
            rules
                .iter()
                .find(|rule| rule.stops(subject, matter.part))
                .map(Rule::why)
        };
        if let Some(why) = stopping(&self.rules.deny) {
            return (Decision::Deny, why);
        }
        if let Some((Decision::Deny, why)) = &matter.reads {
            return (Decision::Deny, why.clone());
        }
        match self.mode {
            Mode::Bypass => return (Decision::Allow, Why::Mode { mode: self.mode }),
            Mode::Plan if matter.risk == Risk::ReadOnly && matter.reads.is_none() => {
                return (Decision::Allow, Why::Risk { risk: matter.risk });
            }
            Mode::Plan => return (Decision::Deny, Why::Mode { mode: self.mode }),
            Mode::Default | Mode::Auto => {}
        }
        match self.decide_by_rule_or_risk(subject, matter, stopping(&self.rules.ask)) {
            (Decision::Ask, _) if self.policy == ApprovalPolicy::Never => (
                Decision::Deny,
                Why::Policy {
                    policy: self.policy,
                },
            ),
            decided => decided,
        }
    }

    fn decide_by_rule_or_risk(
        &self,
        subject: &Subject,
        matter: &Matter,
        asked: Option<Why>,
    ) -> (Decision, Why) {
        if let Some(why) = asked {
            return (Decision::Ask, why);
        }
        if let Some((decision, why)) = &matter.reads {
            return (*decision, why.clone());
        }
        let covers = |rule: &&Rule| {
            rule.covers(subject, matter.part)
                && (!matter.is_raised || rule.is_about_tool())
                && matter
                    .protected
                    .is_none_or(|folder| rule.source.text.contains(folder))
        };
        if let Some(rule) = self.rules.allow.iter().find(covers) {
            return (Decision::Allow, rule.why());
        }
        if let Some(rule) = self.grants.rules().iter().find(covers) {
            return (
                Decision::Allow,
                Why::Grant {
                    grant: rule.source.text.clone(),
                },
            );
        }
        if let Some(reason) = matter.cannot_tell {
            return (
                Decision::Ask,
                Why::CannotTell {
                    reason: reason.to_owned(),
                },
            );
        }
        if self.policy == ApprovalPolicy::Untrusted && matter.risk > Risk::ReadOnly {
            return (
                Decision::Ask,
                Why::Policy {
                    policy: self.policy,
                },
            );
        }
        let by_risk = Why::Risk { risk: matter.risk };
        match matter.risk {
            Risk::ReadOnly => (Decision::Allow, by_risk),
            Risk::Write if self.mode == Mode::Auto => {
                (Decision::Allow, Why::Mode { mode: self.mode })
            }
            Risk::Exec
                if matter.is_command
                    && self.sandboxed
                    && self.policy == ApprovalPolicy::OnFailure =>
            {
                (
                    Decision::Allow,
                    Why::Policy {
                        policy: self.policy,
                    },
                )
            }
            Risk::Write | Risk::Exec | Risk::Destructive => (Decision::Ask, by_risk),
        }
    }

    /// Takes a call apart.
    fn matters<'a>(&self, subject: &'a Subject, loose: &'a [Vec<Vec<String>>]) -> Vec<Matter<'a>> {
        if subject.targets.is_empty() {
            let text = if subject.text.is_empty() {
                &subject.tool
            } else {
                &subject.text
            };
            return vec![Matter::new(RulePart::Call, text.clone(), subject.risk)];
        }
        let mut matters: Vec<Matter> = subject
            .targets
            .iter()
            .zip(loose)
            .flat_map(|(target, loose)| self.matters_of(subject, target, loose))
            .collect();
        // A call may be riskier than what it touches: a reading tool that starts a server, say.
        if matters.iter().all(|matter| matter.risk < subject.risk) {
            for matter in &mut matters {
                matter.risk = subject.risk;
                matter.is_raised = true;
            }
        }
        matters
    }

    /// Returns what may be commands in a line that nobody can tell, or that only the second reader tells: whatever a rule
    /// sees in such a line stops all of it. Nothing for any other target, and where no rule would look.
    fn read_loosely(&self, target: &Target) -> Vec<Vec<String>> {
        let Target::Command { line, segments } = target else {
            return Vec::new();
        };
        let has_stops = !self.rules.deny.is_empty() || !self.rules.ask.is_empty();
        match known(segments) {
            Some(_) if !has_stops || is_plain(line) => Vec::new(),
            _ => loose_commands(line),
        }
    }

    fn matters_of<'a>(
        &self,
        subject: &Subject,
        target: &'a Target,
        loose: &'a [Vec<String>],
    ) -> Vec<Matter<'a>> {
        let part = RulePart::Target(target);
        match target {
            Target::Read(path) => vec![Matter::new(part, path.written.clone(), Risk::ReadOnly)],
            Target::Edit(path) => {
                let protected = protected_folder(path);
                let risk = if protected.is_some() {
                    Risk::Exec
                } else {
                    Risk::Write
                };
                vec![Matter {
                    protected,
                    ..Matter::new(part, path.written.clone(), risk)
                }]
            }
            Target::Url(url) => vec![Matter::new(part, url.clone(), subject.risk)],
            Target::Mcp { server, tool } => vec![Matter::new(
                part,
                format!("mcp__{server}__{tool}"),
                subject.risk,
            )],
            Target::Command { line, segments } => match known(segments) {
                Some(segments) => self.matters_of_line(line, segments, loose),
                None => {
                    let why = match segments {
                        crate::Segments::CannotTell { why } => why,
                        crate::Segments::Known(_) => "there is no command in it",
                    };
                    let part = RulePart::Untold {
                        target,
                        commands: loose,
                    };
                    let matter = Matter::new(part, line.clone(), loose_risk(loose));
                    vec![Matter {
                        cannot_tell: Some(why),
                        reads: reads::judge_loose_reads(&self.rules, line, loose),
                        is_command: true,
                        ..matter
                    }]
                }
            },
        }
    }

    fn matters_of_line<'a>(
        &self,
        line: &'a str,
        segments: &'a [Segment],
        loose: &[Vec<String>],
    ) -> Vec<Matter<'a>> {
        let reads = reads::judge_reads(&self.rules, segments, self.sandboxed);
        let matter = |(segment, reads): (&'a Segment, Option<(Decision, Why)>)| Matter {
            is_command: true,
            reads,
            ..Matter::new(
                RulePart::Segment { line, segment },
                segment.text.clone(),
                segment_risk(segments, segment),
            )
        };
        let seen = self.seen_loosely(loose);
        let mut matters = Vec::new();
        for (segment, reads) in segments.iter().zip(reads) {
            let mut own = matter((segment, reads));
            if own.reads.is_none() {
                let mut rules = self.rules.deny.iter().chain(&self.rules.ask);
                let found = rules.find(|rule| rule.may_stop(segment));
                own.reads = found.map(|rule| (Decision::Ask, rule.why()));
            }
            if let Some((decision, why)) = &seen
                && own.reads.as_ref().is_none_or(|(own, _)| own < decision)
            {
                own.reads = Some((*decision, why.clone()));
            }
            matters.push(own);
            let files = segment.redirects.iter();
            matters.extend(files.map(|redirect| self.matter_of_redirect(line, redirect)));
        }
        matters
    }

    fn seen_loosely(&self, commands: &[Vec<String>]) -> Option<(Decision, Why)> {
        if commands.is_empty() {
            return None;
        }
        let stopping = |rules: &[Rule]| {
            rules
                .iter()
                .find(|rule| rule.stops_loosely(commands))
                .map(Rule::why)
        };
        match (stopping(&self.rules.deny), stopping(&self.rules.ask)) {
            (Some(why), _) => Some((Decision::Deny, why)),
            (None, Some(why)) => Some((Decision::Ask, why)),
            (None, None) => None,
        }
    }

    fn matter_of_redirect<'a>(&self, line: &'a str, redirect: &'a Redirect) -> Matter<'a> {
        let text = redirect.written.clone();
        let risk = if redirect.writes {
            Risk::Write
        } else {
            Risk::ReadOnly
        };
        if let Some(target) = &redirect.target {
            let part = RulePart::Redirect { line, target };
            let protected = match target {
                Target::Edit(path) => protected_folder(path),
                _ => None,
            };
            let risk = if protected.is_some() {
                Risk::Exec
            } else {
                risk
            };
            return Matter {
                protected,
                ..Matter::new(part, text, risk)
            };
        }
        Matter {
            cannot_tell: Some(match redirect.writes {
                true => "where it writes to by `>` cannot be told, or lies outside the workspace",
                false => "where it reads from by `<` cannot be told, or lies outside the workspace",
            }),
            reads: reads::judge_unresolved(&self.rules, redirect),
            ..Matter::new(RulePart::Lost { line }, text, risk)
        }
    }
}

impl<'a> Matter<'a> {
    fn new(part: RulePart<'a>, text: String, risk: Risk) -> Self {
        Self {
            part,
            text,
            risk,
            cannot_tell: None,
            is_raised: false,
            protected: None,
            is_command: false,
            reads: None,
        }
    }
}

impl Rule {
    fn why(&self) -> Why {
        Why::Rule {
            rule: self.source.text.clone(),
            origin: self.source.origin.clone(),
        }
    }
}

/// Returns the folder on the way to a path whose files make programs run: hooks, settings.
fn protected_folder(path: &crate::PathTarget) -> Option<&'static str> {
    let names = path.lexical.iter().chain(path.real.iter());
    names.filter_map(|name| name.to_str()).find_map(|name| {
        [".git", ".cox", ".claude", ".mcp.json"]
            .into_iter()
            .find(|folder| name.eq_ignore_ascii_case(folder))
    })
}

#[cfg(test)]
mod tests;
