//! The order of judgement, in one place.
//!
//! Deny rule → bypass mode → plan mode → ask rule → allow rule → session grant → the risk's default → approval policy.

use serde::{Deserialize, Serialize};

use crate::{ApprovalPolicy, Mode, RuleSet, Subject};

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
    /// The reason of the part that decided.
    pub why: Why,
    /// Every part with its own verdict, in the order of the subject.
    pub parts: Vec<Part>,
}

/// What a person allowed for the rest of the session, as rules.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    rules: Vec<crate::Rule>,
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
    pub fn judge(&self, _subject: &Subject) -> Verdict {
        let _ = &self.grants.rules;
        Verdict {
            decision: Decision::Ask,
            why: Why::Policy { policy: self.policy },
            parts: Vec::new(),
        }
    }
}
