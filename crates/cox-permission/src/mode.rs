//! The permission mode of a session and its approval policy.

use serde::{Deserialize, Serialize};

/// What a session allows by itself. Width: plan < default < auto < bypass.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Reads only; everything else is denied without asking.
    Plan,
    /// Reads run; writes and commands ask.
    #[default]
    Default,
    /// Reads and workspace writes run; commands ask.
    Auto,
    /// Everything runs that no rule denies. Comes by flag only; the sandbox stays on.
    Bypass,
}

/// When a person is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// Everything that is not read-only asks, unless a rule or a grant covers it.
    Untrusted,
    /// What the mode does not allow by itself asks.
    #[default]
    OnRequest,
    /// Commands run in the sandbox unasked; a call that the sandbox stopped asks.
    OnFailure,
    /// Nobody is asked: an ask becomes a deny with its reason.
    Never,
}
