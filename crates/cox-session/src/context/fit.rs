//! Makes room in the window: old tool results become pointers into the archive.

use cox_protocol::{CallId, Item, ToolResult};

use super::request::pointer;
use crate::state::State;

/// Returns the calls whose results may become pointers, oldest first: those outside the last `keep_turns` turns that would
/// shrink by it. `keep_turns` 0 leaves only the results of the last message alone.
pub(crate) fn candidates(state: &State, keep_turns: u32) -> Vec<CallId> {
    let last_results = state
        .items
        .iter()
        .rposition(|item| matches!(item, Item::ToolResults { .. }));
    let end = match keep_turns {
        0 => last_results.unwrap_or(0),
        keep => {
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
