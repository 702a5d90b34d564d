//! The order of judgement, in one place.
//!
//! Deny rule → bypass mode → plan mode → ask rule → allow rule → session grant → approval policy `untrusted` → the risk's
//! default → approval policy `never`. A call is judged part by part, each target and each simple command; the strictest
//! part decides. A line that cannot be told is covered only by a rule for every command or for this very line.

use serde::{Deserialize, Serialize};

use crate::{ApprovalPolicy, Mode, Risk, Rule, RuleSet, Subject};

mod grants;
mod matter;
mod reads;
mod why;

use self::matter::Matter;

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
}

impl Rule {
    fn why(&self) -> Why {
        Why::Rule {
            rule: self.source.text.clone(),
            origin: self.source.origin.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
