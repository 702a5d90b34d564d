//! Makes room in the window: old tool results become pointers into the archive.

use cox_protocol::{CallId, Item, ToolResult};

use super::request::pointer;
use crate::state::State;

/// Which results stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Those of so many last turns, and of the last message.
    Turns(u32),
    /// Those of the last message, which the model has not seen yet.
    LastResults,
    /// None.
    Nothing,
}

/// Returns the calls whose results may become pointers, oldest first: those not kept that would shrink by it.
pub(crate) fn candidates(state: &State, keep: Keep) -> Vec<CallId> {
    let last_results = state
        .items
        .iter()
        .rposition(|item| matches!(item, Item::ToolResults { .. }));
    let end = match keep {
        Keep::Nothing => state.items.len(),
        Keep::LastResults | Keep::Turns(0) => last_results.unwrap_or(0),
        Keep::Turns(keep) => {
            let turns = state.turn_starts.len();
            match turns.checked_sub(keep as usize) {
                Some(first_kept) if first_kept < turns => state.turn_starts[first_kept],
                _ => 0,
            }
        }
    };
    state.items[..end.min(state.items.len())]
        .iter()
        .filter_map(|item| match item {
            Item::ToolResults { results } => Some(results),
            Item::User { .. } | Item::Assistant { .. } => None,
        })
        .flatten()
        .filter(|result| !state.compacted.contains(&result.call) && shrinks(result))
        .map(|result| result.call)
        .collect()
}

fn shrinks(result: &ToolResult) -> bool {
    !result.images.is_empty() || pointer(result).len() + 200 < result.text.len()
}
