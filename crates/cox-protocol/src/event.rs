//! What a session tells its surfaces, and what its rollout holds.
//!
//! Every event is written to the rollout before a surface sees it; what was shown can be shown again.
//! No event of a turn follows its [`Event::TurnDone`].

use cox_permission::{ApprovalPolicy, Mode, Part, Risk, Why};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use untrusted_text::Untrusted;

use crate::{ArchiveId, CallId, Item, SessionId};

/// One thing that happened in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The session began, or was opened again.
    SessionStarted {
        /// The session.
        session: SessionId,
        /// The version of cox.
        version: String,
        /// The working directory, absolute.
        cwd: String,
        /// The workspace roots, absolute; the first is the main one.
        roots: Vec<String>,
        /// The configured name of the provider.
        provider: String,
        /// The model.
        model: String,
        /// The permission mode.
        mode: Mode,
        /// The approval policy.
        policy: ApprovalPolicy,
        /// The sandbox mode: `read-only`, `workspace-write` or `danger-full-access`.
        sandbox: String,
        /// Whether it continues an earlier run of the same session.
        resumed: bool,
    },
    /// The stable start of every request of this session: written once, used again on resume.
    PrefixBuilt {
        /// The system texts in order: the prompt, then the instruction files.
        system: Vec<String>,
        /// The instruction files that went into it, absolute.
        instruction_files: Vec<String>,
        /// Hash of the tools as sent, hexadecimal.
        tools_digest: String,
    },
    /// A turn began.
    TurnStarted {
        /// Counted from 1 over the whole session; numbers are never used again.
        turn: u32,
    },
    /// The conversation grew by one item. With these alone the next request can be built.
    ItemAdded {
        /// The item.
        item: Item,
    },
    /// The model wrote a piece of text.
    TextDelta {
        /// The piece.
        text: Untrusted,
    },
    /// The model wrote a piece of visible thinking.
    ThinkingDelta {
        /// The piece.
        text: Untrusted,
    },
    /// The model asked for a tool call.
    ToolRequested {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// The arguments; a string when they are not JSON.
        input: Value,
        /// What the call is about: a path, a command line, a URL.
        subject: Untrusted,
        /// Its risk, when the arguments could be read.
        risk: Option<Risk>,
    },
    /// A call waits for a person.
    ApprovalRequired {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// What the call is about.
        subject: Untrusted,
        /// Why it asks.
        why: Why,
        /// Each part of the call with its own verdict.
        parts: Vec<Part>,
    },
    /// It was decided whether a call runs.
    ApprovalDecided {
        /// The call.
        call: CallId,
        /// Whether it runs.
        allowed: bool,
        /// Who or what decided.
        by: DecidedBy,
        /// The reason, in words for a person.
        reason: String,
    },
    /// A running call printed something.
    ToolOutput {
        /// The call.
        call: CallId,
        /// The piece.
        text: Untrusted,
    },
    /// A call ended.
    ToolDone(ToolDone),
    /// The model asks the person.
    QuestionAsked {
        /// The call that asks.
        call: CallId,
        /// The question.
        question: Untrusted,
        /// Answers to choose from; may be empty.
        options: Vec<Untrusted>,
    },
    /// The question was answered or given up.
    QuestionAnswered {
        /// The call that asked.
        call: CallId,
        /// Whether there is an answer; the answer itself is the tool's result.
        answered: bool,
    },
    /// One request to the provider ended: its ledger row.
    Usage {
        /// The turn.
        turn: u32,
        /// The configured name of the provider.
        provider: String,
        /// The model that answered.
        model: String,
        /// Tokens.
        tokens: TokenUsage,
        /// What it cost, if the price is known.
        cost: Option<Money>,
        /// From the request to the end of the answer, in milliseconds.
        latency_ms: u64,
        /// The provider's own id of the request, if it gave one.
        request_id: Option<String>,
    },
    /// A request failed and is tried again.
    Retrying {
        /// What failed.
        reason: String,
        /// Tries so far.
        attempt: u32,
        /// Wait before the next, in milliseconds.
        after_ms: u64,
    },
    /// Old tool results became pointers into the archive, to make room.
    Compacted {
        /// The calls whose results were replaced.
        calls: Vec<CallId>,
        /// Estimated tokens before.
        before_tokens: u64,
        /// Estimated tokens after.
        after_tokens: u64,
    },
    /// The permission mode changed.
    ModeChanged {
        /// The new mode.
        mode: Mode,
    },
    /// Something the person should know.
    Notice {
        /// How much it matters.
        level: Level,
        /// The text.
        text: Untrusted,
    },
    /// The turn ended. The last event of its turn.
    TurnDone {
        /// The turn.
        turn: u32,
        /// Why it ended.
        stop: StopReason,
    },
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDone {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// Whether it did what it was asked.
    pub ok: bool,
    /// Whether it was refused before it ran.
    pub denied: bool,
    /// What the model sees.
    pub visible: Untrusted,
    /// Size of the whole output in bytes.
    pub bytes: u64,
    /// Where the whole output lies.
    pub archive: Option<ArchiveId>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// The change as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<Untrusted>,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Pre-images of the files that it changed: absolute path and archive id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preimages: Vec<(String, ArchiveId)>,
    /// Tools that joined the session through this call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discovered: Vec<String>,
}

/// Who or what decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The engine: a rule, a mode, a grant, a risk or a policy.
    Engine,
    /// A person, or the program that answers for one.
    Person,
    /// Nobody answered in time, or there was nobody to ask.
    Nobody,
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something did not go as asked.
    Warning,
    /// Concerns safety: a redacted secret, a refused setting.
    Security,
}

/// Tokens of one request. `input` leaves out what was read from or written to the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Input at full price.
    pub input: u64,
    /// Output, thinking included.
    pub output: u64,
    /// Input read from the provider's cache.
    pub cache_read: u64,
    /// Input written to the provider's cache.
    pub cache_write: u64,
}

/// An amount in millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub u64);

impl Money {
    /// Returns the amount in US dollars.
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1_000_000.0
    }
}

/// Why a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum StopReason {
    /// The model finished.
    EndTurn,
    /// The limit of requests per turn was reached.
    MaxTurns {
        /// The limit.
        limit: u32,
    },
    /// A person, or a signal, stopped it.
    Interrupted,
    /// The spend cap was reached.
    Budget {
        /// Spent so far.
        spent: Money,
        /// The cap.
        cap: Money,
    },
    /// The model refused.
    Refusal {
        /// What it said, if anything.
        detail: String,
    },
    /// Something failed for good.
    Error {
        /// Who failed: `us`, `config`, `provider` or `network`.
        who: String,
        /// What happened, with hints on lines of their own.
        message: String,
    },
}
