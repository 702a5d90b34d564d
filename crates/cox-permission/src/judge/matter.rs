//! Takes a call apart into what is judged by itself: its targets, and the simple commands and files of a line.

use super::{Decision, Judge, Why, reads};
use crate::{
    Redirect, Risk, Rule, Segment, Subject, Target,
    risk::{loose_risk, segment_risk},
    rule::{Part as RulePart, known},
    segments::{is_plain, loose_commands},
};

/// A part of a call with what its judgement needs.
pub(super) struct Matter<'a> {
    pub(super) part: RulePart<'a>,
    pub(super) text: String,
    pub(super) risk: Risk,
    /// Why a line cannot be told.
    pub(super) cannot_tell: Option<&'a str>,
    /// Whether the call is riskier than what its targets stand for, so that only a rule for the tool covers it.
    pub(super) is_raised: bool,
    /// The folder that only a rule that names it opens for writing.
    pub(super) protected: Option<&'static str>,
    /// Whether it is a command.
    pub(super) is_command: bool,
    /// What the rules say about the files that a command names, and about its open words.
    pub(super) reads: Option<(Decision, Why)>,
}

impl Judge {
    /// Takes a call apart.
    pub(super) fn matters<'a>(
        &self,
        subject: &'a Subject,
        loose: &'a [Vec<Vec<String>>],
    ) -> Vec<Matter<'a>> {
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
    pub(super) fn read_loosely(&self, target: &Target) -> Vec<Vec<String>> {
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
                Some(segments) => self.matters_of_line(subject, line, segments, loose),
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
        subject: &Subject,
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
        let is_its = |segment: &Segment| {
            seen.as_ref()
                .is_some_and(|(_, rule)| rule.stops(subject, RulePart::Segment { line, segment }))
        };
        // Where it is about a command that the line is known to hold, it is shown there. Where not, nobody knows which
        // of them hides it.
        let is_placed = segments.iter().any(is_its);
        let mut matters = Vec::new();
        for (segment, reads) in segments.iter().zip(reads) {
            let mut own = matter((segment, reads));
            if own.reads.is_none() {
                let mut rules = self.rules.deny.iter().chain(&self.rules.ask);
                let found = rules.find(|rule| rule.may_stop(segment));
                own.reads = found.map(|rule| (Decision::Ask, rule.why()));
            }
            if let Some((decision, rule)) = &seen
                && (!is_placed || is_its(segment))
                && own.reads.as_ref().is_none_or(|(own, _)| own < decision)
            {
                own.reads = Some((*decision, rule.why()));
            }
            matters.push(own);
            let files = segment.redirects.iter();
            matters.extend(files.map(|redirect| self.matter_of_redirect(line, redirect)));
        }
        matters
    }

    /// Returns the strictest rule that the second reading of a line meets.
    fn seen_loosely(&self, commands: &[Vec<String>]) -> Option<(Decision, &Rule)> {
        let stopping =
            |rules: &'_ [Rule]| rules.iter().position(|rule| rule.stops_loosely(commands));
        let rules = &self.rules;
        match (stopping(&rules.deny), stopping(&rules.ask)) {
            (Some(at), _) => rules.deny.get(at).map(|rule| (Decision::Deny, rule)),
            (None, Some(at)) => rules.ask.get(at).map(|rule| (Decision::Ask, rule)),
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

/// Returns the folder on the way to a path whose files make programs run: hooks, settings.
fn protected_folder(path: &crate::PathTarget) -> Option<&'static str> {
    let names = path.lexical.iter().chain(path.real.iter());
    names.filter_map(|name| name.to_str()).find_map(|name| {
        [".git", ".cox", ".claude", ".mcp.json"]
            .into_iter()
            .find(|folder| name.eq_ignore_ascii_case(folder))
    })
}
