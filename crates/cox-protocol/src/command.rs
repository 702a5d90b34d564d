//! What a surface may tell a session.

use cox_permission::Mode;
use serde::{Deserialize, Serialize};

use crate::CallId;

/// A message from a surface to its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// Starts a turn. While a turn runs, it waits until that turn has ended.
    UserTurn {
        /// What the person wrote.
        text: String,
        /// Images that go with it.
        images: Vec<ImageAttachment>,
    },
    /// Answers [`Event::ApprovalRequired`](crate::Event::ApprovalRequired). An unknown or settled call is ignored.
    Approve {
        /// The call.
        call: CallId,
        /// The answer.
        decision: Decision,
    },
    /// Answers [`Event::QuestionAsked`](crate::Event::QuestionAsked); no text means that nobody will answer.
    Answer {
        /// The call that asked.
        call: CallId,
        /// The answer.
        text: Option<String>,
    },
    /// Ends the running turn: the stream and every call are cancelled.
    Interrupt,
    /// Changes the permission mode from the next judgement on. Never to `bypass`.
    SetMode {
        /// The new mode.
        mode: Mode,
    },
    /// Ends the session after the running turn was cancelled.
    Shutdown,
}

/// A person's answer to an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Run it once.
    Allow,
    /// Run it, and what it covers, for the rest of the session.
    AllowForSession,
    /// Do not run it.
    Deny {
        /// What to tell the model.
        reason: Option<String>,
    },
}

/// An image that goes with a prompt. PNG, JPEG, GIF or WebP, checked before it gets here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageAttachment {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// The bytes, base64.
    pub base64: String,
}
