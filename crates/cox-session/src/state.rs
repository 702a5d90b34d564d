//! What the events of a session amount to.
//!
//! The live session and a resumed one build their state with the same function from the same events, so that both build
//! the same next request.

use std::collections::{BTreeMap, HashSet};

use cox_permission::Mode;
use cox_protocol::{AssistantBlock, CallId, Event, Item, Money, ToolDone, ToolResult};

/// The stable start of every request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    pub(crate) system: Vec<String>,
    pub(crate) tools_digest: String,
}

/// The state of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The conversation.
    pub(crate) items: Vec<Item>,
    /// Index into `items` of the first item of each turn, oldest first.
    pub(crate) turn_starts: Vec<usize>,
    /// Number of the last turn; 0 before the first.
    pub(crate) turn: u32,
    /// Whether that turn has not ended.
    pub(crate) turn_open: bool,
    /// The stable start of every request, once built.
    pub(crate) prefix: Option<Prefix>,
    /// Calls whose results are shown as pointers.
    pub(crate) compacted: HashSet<CallId>,
    /// Deferred tools that joined, in the order they did.
    pub(crate) discovered: Vec<String>,
    /// The last recorded permission mode.
    pub(crate) mode: Option<Mode>,
    /// Spent so far.
    pub(crate) spent: Money,
    /// Text of an answer that is not an item yet.
    pub(crate) partial_text: String,
    /// Calls of the last assistant message that ended, by call.
    pub(crate) ended: BTreeMap<CallId, ToolDone>,
    /// What calls of the last assistant message printed so far, the last few kilobytes of each.
    pub(crate) printed: BTreeMap<CallId, String>,
}

/// How much of a running call's output is kept for the case that the process dies.
const KEPT_OUTPUT_BYTES: usize = 8_192;

impl State {
    /// Takes one event into account.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::SessionStarted { mode, .. } | Event::ModeChanged { mode } => {
                self.mode = Some(*mode);
            }
            Event::PrefixBuilt {
                system,
                tools_digest,
                ..
            } => {
                self.prefix = Some(Prefix {
                    system: system.clone(),
                    tools_digest: tools_digest.clone(),
                });
            }
            Event::TurnStarted { turn } => {
                self.turn = *turn;
                self.turn_open = true;
                self.turn_starts.push(self.items.len());
                self.forget_unfinished();
            }
            Event::ItemAdded { item } => {
                self.items.push(item.clone());
                self.forget_unfinished();
            }
            Event::TextDelta { text } => self.partial_text.push_str(text.verbatim()),
            Event::ToolOutput { call, text } => {
                let kept = self.printed.entry(*call).or_default();
                kept.push_str(text.verbatim());
                keep_tail(kept, KEPT_OUTPUT_BYTES);
            }
            Event::ToolDone(done) => {
                for name in &done.discovered {
                    if !self.discovered.contains(name) {
                        self.discovered.push(name.clone());
                    }
                }
                self.ended.insert(done.call, done.clone());
            }
            Event::Usage { cost, .. } => {
                self.spent.0 = self.spent.0.saturating_add(cost.unwrap_or_default().0);
            }
            Event::Compacted { calls, .. } => self.compacted.extend(calls.iter().copied()),
            Event::TurnDone { .. } => {
                self.turn_open = false;
                self.forget_unfinished();
            }
            Event::ThinkingDelta { .. }
            | Event::ToolRequested { .. }
            | Event::ApprovalRequired { .. }
            | Event::ApprovalDecided { .. }
            | Event::QuestionAsked { .. }
            | Event::QuestionAnswered { .. }
            | Event::Retrying { .. }
            | Event::Notice { .. } => {}
        }
    }

    fn forget_unfinished(&mut self) {
        self.partial_text.clear();
        self.ended.clear();
        self.printed.clear();
    }

    /// Returns the calls of the last item that have no results yet, in call order.
    pub(crate) fn open_calls(&self) -> Vec<(CallId, String)> {
        match self.items.last() {
            Some(Item::Assistant { blocks, .. }) => blocks
                .iter()
                .filter_map(|block| match block {
                    AssistantBlock::Call { call, wire_id, .. } => Some((*call, wire_id.clone())),
                    AssistantBlock::Text { .. } | AssistantBlock::Opaque { .. } => None,
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Says whether a call of the conversation has this id of a provider's.
    pub(crate) fn has_wire_id(&self, id: &str) -> bool {
        self.items.iter().any(|item| match item {
            Item::Assistant { blocks, .. } => blocks.iter().any(
                |block| matches!(block, AssistantBlock::Call { wire_id, .. } if wire_id == id),
            ),
            Item::User { .. } | Item::ToolResults { .. } => false,
        })
    }

    /// Returns results for the open calls of a turn that ended without them: what ended is kept, the rest says that its
    /// outcome is not known.
    pub(crate) fn results_so_far(&self, why: &str) -> Vec<ToolResult> {
        self.open_calls()
            .into_iter()
            .map(|(call, wire_id)| match self.ended.get(&call) {
                Some(done) => ToolResult {
                    call,
                    wire_id,
                    text: done.visible.verbatim().to_owned(),
                    is_error: !done.ok,
                    images: Vec::new(),
                    archive: done.archive,
                },
                None => ToolResult {
                    call,
                    wire_id,
                    text: self.unfinished_text(call, why),
                    is_error: true,
                    images: Vec::new(),
                    archive: None,
                },
            })
            .collect()
    }

    fn unfinished_text(&self, call: CallId, why: &str) -> String {
        match self
            .printed
            .get(&call)
            .filter(|printed| !printed.is_empty())
        {
            Some(printed) => {
                format!("{why}; it may have taken effect. what it had printed:\n{printed}")
            }
            None => format!("{why}; it may have taken effect: check before doing it again"),
        }
    }
}

/// Cuts the front of `text` so that at most `max_bytes` stay, on a character boundary.
fn keep_tail(text: &mut String, max_bytes: usize) {
    if text.len() > max_bytes {
        let from = text.ceil_char_boundary(text.len() - max_bytes);
        text.drain(..from);
    }
}
