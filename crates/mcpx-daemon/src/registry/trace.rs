//! Spans: what belongs to what, in the log.

use super::call::Call;

/// The span of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// `cal-` and 16 hexadecimal digits.
    pub id: String,
    /// The span it belongs to.
    pub parent: Option<String>,
}

impl Trace {
    /// The span of a call, in the caller's.
    #[must_use]
    pub fn of(call: &Call) -> Self {
        Self {
            id: call.trace.clone(),
            parent: call.caller.trace_parent.clone(),
        }
    }
}

/// A new span: the prefix, a dash and 16 hexadecimal digits.
#[must_use]
pub fn span(prefix: &str) -> String {
    format!("{prefix}-{:016x}", fastrand::u64(..))
}
