//! What a session is opened with.

use std::{path::PathBuf, sync::Arc, time::Duration};

use cox_permission::{Anchors, ApprovalPolicy, Mode, RuleSet};
use cox_protocol::{Command, Event, Money, SessionId};
use cox_tools::{Tool, commands::Commands};
use cox_workspace::Roots;
use tokio::sync::mpsc;

/// Everything a session depends on.
pub struct SessionSpec {
    /// Where sessions are stored.
    pub home: cox_store::Home,
    /// Tells the time.
    pub clock: cox_store::Clock,
    /// The version of cox, for the record.
    pub version: String,
    /// The working directory, absolute and real.
    pub cwd: PathBuf,
    /// The roots.
    pub roots: Arc<Roots>,
    /// Answers requests.
    pub provider: Arc<dyn llm::Provider>,
    /// Price of the model, if it is known.
    pub price: Option<llm::catalog::Price>,
    /// Every tool, deferred ones included, in the order they are sent.
    pub tools: Vec<Arc<dyn Tool>>,
    /// How commands are run.
    pub commands: Arc<Commands>,
    /// The permission rules.
    pub rules: RuleSet,
    /// Where relative rules are anchored; grants of the session use it too.
    pub anchors: Anchors,
    /// Exact secret values to redact besides the known shapes, such as provider keys.
    pub secrets: Vec<String>,
    /// The permission mode to begin with. On resume `None` takes the recorded one.
    pub mode: Option<Mode>,
    /// When a person is asked.
    pub policy: ApprovalPolicy,
    /// Who answers approvals and questions.
    pub approver: Approver,
    /// The sandbox mode in words, for the record.
    pub sandbox: String,
    /// Whether commands run in a sandbox at all; the engine judges `on-failure` by it.
    pub sandboxed: bool,
    /// The instruction files.
    pub instructions: cox_extensions::Instructions,
    /// What a new session tells the model of its surroundings (folder, system, date), as one block of text.
    pub environment: String,
    /// Limits.
    pub limits: Limits,
    /// The session to continue; none for a new one.
    pub resume: Option<SessionId>,
}

/// Who answers approvals and questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approver {
    /// The surface: approvals and questions are events, and commands answer them.
    Surface,
    /// Nobody: an ask is a deny, a question goes unanswered.
    Nobody,
}

/// Limits of a session.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests to the provider per turn.
    pub max_turns: u32,
    /// Calls that run at the same time.
    pub parallel_tools: usize,
    /// Largest visible output of a call, in bytes.
    pub visible_bytes: usize,
    /// Lines shown from the start of a cut output.
    pub head_lines: usize,
    /// Lines shown from its end.
    pub tail_lines: usize,
    /// Spend cap of the session.
    pub budget: Option<Money>,
    /// Part of the context window at which old results become pointers, between 0 and 1.
    pub compact_at: f64,
    /// Turns whose results are never replaced.
    pub keep_turns: u32,
    /// Cap on one answer, in tokens.
    pub max_output_tokens: u32,
    /// How hard the model thinks.
    pub effort: Option<llm::Effort>,
    /// How long an approval or a question may stay open before it counts as unanswered.
    pub approval_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_turns: 200,
            parallel_tools: 4,
            visible_bytes: 8_192,
            head_lines: 60,
            tail_lines: 20,
            budget: Some(Money(5_000_000)),
            compact_at: 0.75,
            keep_turns: 2,
            max_output_tokens: 16_384,
            effort: None,
            approval_timeout: Duration::from_secs(600),
        }
    }
}

/// An open session, as a surface holds it.
pub struct Handle {
    /// The session.
    pub session: SessionId,
    /// Takes commands; holds 64 before it makes the sender wait.
    pub commands: mpsc::Sender<Command>,
    /// Gives events; holds 256 before it makes the session wait. Closed when the session has ended.
    pub events: mpsc::Receiver<Event>,
}

/// A session that could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] cox_store::StoreError),
}
