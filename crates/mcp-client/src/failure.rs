//! Why a request has no result: the server said so, there was no answer, or somebody on the way refused it.

use std::fmt;

use mcp_wire::RpcError;
use untrusted_text::Untrusted;

use crate::clock::Expiry;
use crate::connection::Inner;
use crate::server::Label;
use crate::transport::Broken;

/// Whether a request can have had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The server cannot have acted on it.
    NotSent,
    /// The server may have acted on it.
    OutcomeUnknown,
}

/// What went wrong on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// It could not be started or connected to.
    Start,
    /// It ended, or closed the connection.
    Closed,
    /// It took too long.
    Timeout(Expiry),
    /// It sent something that cannot be read, or is too big.
    Unreadable,
    /// The session was lost, and a new one begun.
    SessionLost,
    /// An HTTP status that answers nothing.
    Status(u16),
    /// The server wants credentials that are not there. A failure with this cause is shown as refused.
    Credentials,
    /// The caller gave up.
    Cancelled,
    /// It asked too often, or for what cannot be answered.
    Rounds,
}

/// Who refused to send a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refuser {
    /// This client: the server does not offer it, or the arguments cannot be sent.
    Client,
    /// The server wants credentials that are not there; a person has to sign in.
    Credentials,
}

/// What kind of failure it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The server answered with an error.
    Answered(RpcError),
    /// There was no answer.
    NoAnswer {
        /// Whether it can have had an effect.
        delivery: Delivery,
        /// What went wrong.
        cause: Cause,
        /// In words.
        why: String,
    },
    /// The request was not sent.
    Refused {
        /// By whom.
        by: Refuser,
        /// In words.
        why: String,
    },
}

/// A request without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which server.
    pub server: Label,
    /// What kind of failure.
    pub kind: FailureKind,
    /// The last lines that the server wrote to its stderr, when it is a program and there is no answer.
    pub stderr: Option<Untrusted>,
}

impl Failure {
    /// Whether the server cannot have acted on the request.
    #[must_use]
    pub fn is_safe_to_repeat(&self) -> bool {
        match &self.kind {
            FailureKind::Answered(_) => false,
            FailureKind::NoAnswer { delivery, .. } => *delivery == Delivery::NotSent,
            FailureKind::Refused { .. } => true,
        }
    }

    /// The server's error, when it answered with one.
    #[must_use]
    pub fn answered(&self) -> Option<&RpcError> {
        match &self.kind {
            FailureKind::Answered(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Label { name, resolved } = &self.server;
        write!(f, "MCP server `{}`: ", Untrusted::new(name).for_terminal())?;
        match &self.kind {
            FailureKind::Answered(error) => {
                write!(
                    f,
                    "{} (code {})",
                    Untrusted::new(&error.message).for_terminal(),
                    error.code
                )?;
            }
            FailureKind::NoAnswer { delivery, why, .. } => {
                let what = match delivery {
                    Delivery::NotSent => "it was not sent",
                    Delivery::OutcomeUnknown => {
                        "its outcome is unknown: verify before you repeat it"
                    }
                };
                write!(
                    f,
                    "no answer: {}; {what}",
                    Untrusted::new(why).for_terminal()
                )?;
            }
            FailureKind::Refused { why, .. } => {
                write!(f, "not sent: {}", Untrusted::new(why).for_terminal())?;
            }
        }
        write!(
            f,
            "\n  reached as: {}",
            Untrusted::new(resolved).for_terminal()
        )?;
        if let Some(stderr) = self.stderr.as_ref().filter(|text| !text.is_empty()) {
            write!(f, "\n  last lines of its stderr:")?;
            for line in stderr.for_terminal().lines() {
                write!(f, "\n    {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

impl Inner {
    /// The failure of an answer that is no answer.
    pub(crate) fn unreadable(&self, why: &str) -> Failure {
        let why = format!("its answer cannot be read: {why}");
        self.no_answer(Broken::new(
            Delivery::OutcomeUnknown,
            Cause::Unreadable,
            why,
        ))
    }

    /// A request that this client does not send.
    pub(crate) fn refuse(&self, why: impl Into<String>) -> Failure {
        self.fail(FailureKind::Refused {
            by: Refuser::Client,
            why: why.into(),
        })
    }

    /// The failure of something that broke on the way.
    pub(crate) fn no_answer(&self, broken: Broken) -> Failure {
        let Broken {
            delivery,
            cause,
            why,
        } = broken;
        if cause == Cause::Credentials {
            return self.fail(FailureKind::Refused {
                by: Refuser::Credentials,
                why,
            });
        }
        self.fail(FailureKind::NoAnswer {
            delivery,
            cause,
            why,
        })
    }

    /// A failure of this server.
    pub(crate) fn fail(&self, kind: FailureKind) -> Failure {
        let stderr = match kind {
            FailureKind::NoAnswer { .. } => self.transport.stderr(),
            _ => None,
        };
        Failure {
            server: self.spec.label(),
            kind,
            stderr,
        }
    }
}
