//! Why there is no token.

use std::time::Duration;

/// Why a server could not be authorized for. Holds no secret; text of servers is cut and safe to print.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// A person has to sign in, and nobody can be asked.
    #[error("`{server}` wants a person to sign in, and nobody can be asked from here")]
    SignInNeeded {
        /// The server's configured name.
        server: String,
    },
    /// A person was asked and did not sign in.
    #[error("nobody signed in to `{issuer}`: {why}")]
    NotSignedIn {
        /// The authorization server.
        issuer: String,
        /// In words.
        why: String,
    },
    /// A person was shown an address, and no answer came.
    #[error("no answer to the sign-in at `{issuer}` within {} s", waited.as_secs_f64())]
    NoAnswer {
        /// The authorization server.
        issuer: String,
        /// How long was waited.
        waited: Duration,
    },
    /// The other side said or did what it may not. Another try does not help.
    #[error("{0}")]
    Refused(String),
    /// The authorization server answered an OAuth error.
    #[error("`{issuer}` answered `{code}`{description}")]
    Denied {
        /// The authorization server.
        issuer: String,
        /// The error code of OAuth, such as `invalid_grant`.
        code: String,
        /// What it says about it, behind a colon; may be empty.
        description: String,
    },
    /// Nobody answered, or with a server error. Another try may help.
    #[error("{0}")]
    Unreachable(String),
    /// Another call or process is renewing or asking a person, for longer than one waits.
    #[error("the credentials of `{server}` are being got by another call or process; waited {} s for it", waited.as_secs_f64())]
    Busy {
        /// The server's configured name.
        server: String,
        /// How long was waited.
        waited: Duration,
    },
    /// The credentials could not be read or kept.
    #[error("the credentials of `{server}` could not be {what}: {why}")]
    Store {
        /// The server's configured name.
        server: String,
        /// `read`, `kept` or `locked`.
        what: &'static str,
        /// In words.
        why: String,
    },
    /// This machine is at fault.
    #[error("{0}")]
    Local(String),
}

impl AuthError {
    /// Says whether the same may go well a little later.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_) | Self::Busy { .. } | Self::Store { .. }
        )
    }

    /// Says whether the authorization server gave this error code of OAuth.
    pub(crate) fn is_denied(&self, wanted: &str) -> bool {
        matches!(self, Self::Denied { code, .. } if code == wanted)
    }
}

/// Text of a server in a message: one line, cut.
pub(crate) fn said(text: &str) -> String {
    untrusted_text::terminal::one_line(&untrusted_text::redact::redact(text), 200)
}
