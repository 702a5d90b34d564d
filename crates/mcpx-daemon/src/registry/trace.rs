//! Spans: what belongs to what, in the log.

use mcpx_api::Caller;

/// The span of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// `cal-` and 16 hexadecimal digits.
    pub id: String,
    /// The span it belongs to.
    pub parent: Option<String>,
}

impl Trace {
    /// A new span for a call.
    #[must_use]
    pub fn call(caller: &Caller) -> Self {
        Self {
            id: span("cal"),
            parent: caller.trace_parent.clone(),
        }
    }
}

/// A new span: the prefix, a dash and 16 hexadecimal digits.
#[must_use]
pub fn span(prefix: &str) -> String {
    format!("{prefix}-{:016x}", fastrand::u64(..))
}
