//! Reasons in words.

use super::Why;
use crate::{ApprovalPolicy, Mode, Risk};

impl Why {
    /// Returns the reason as a plain sentence for people, without a period. Text of a rule is written with its control
    /// characters escaped.
    pub fn text(&self) -> String {
        match self {
            Self::Rule { rule, origin } => {
                format!(
                    "rule `{}` from {}",
                    rule.escape_debug(),
                    origin.escape_debug()
                )
            }
            Self::Mode { mode: Mode::Plan } => {
                "plan mode only reads: describe what you would do instead of doing it".into()
            }
            Self::Mode { mode: Mode::Auto } => {
                "auto mode lets files of the workspace be changed".into()
            }
            Self::Mode { mode: Mode::Bypass } => {
                "bypass mode runs everything that no rule denies".into()
            }
            Self::Mode {
                mode: Mode::Default,
            } => "the default mode decides".into(),
            Self::Grant { grant } => {
                format!("allowed for this session by `{}`", grant.escape_debug())
            }
            Self::Risk {
                risk: Risk::ReadOnly,
            } => "it only reads".into(),
            Self::Risk { risk: Risk::Write } => "it changes files and no rule covers it".into(),
            Self::Risk { risk: Risk::Exec } => {
                "it may change something or run code and no rule covers it".into()
            }
            Self::Risk {
                risk: Risk::Destructive,
            } => "it may destroy what cannot be brought back and no rule covers it".into(),
            Self::CannotTell { reason } => format!("cannot tell what the line would run: {reason}"),
            Self::Policy {
                policy: ApprovalPolicy::Never,
            } => "nothing allows it and nobody is there to ask".into(),
            Self::Policy {
                policy: ApprovalPolicy::Untrusted,
            } => "this session asks before everything but reading".into(),
            Self::Policy {
                policy: ApprovalPolicy::OnFailure,
            } => "commands run in the sandbox unasked, and one that it stops asks".into(),
            Self::Policy {
                policy: ApprovalPolicy::OnRequest,
            } => "nothing allows it".into(),
        }
    }
}
