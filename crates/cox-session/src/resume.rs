//! Brings a session whose process died in mid-turn into a valid shape.

use cox_protocol::{AssistantBlock, Event, Item, StopReason};

use crate::state::State;

/// Returns the events that close a turn which has no end, in order; none for a session that ended its last turn.
///
/// What was reported is kept: text that had been streamed becomes a partial answer, calls that had ended keep their
/// results, and each call that was running is answered with what it had printed.
pub(crate) fn repair(state: &State) -> Vec<Event> {
    if !state.turn_open {
        return Vec::new();
    }
    let mut events = Vec::new();
    if !state.partial_text.is_empty() {
        events.push(Event::ItemAdded {
            item: Item::Assistant {
                blocks: vec![AssistantBlock::Text {
                    text: state.partial_text.clone(),
                }],
                complete: false,
            },
        });
    } else if !state.open_calls().is_empty() {
        events.push(Event::ItemAdded {
            item: Item::ToolResults {
                results: state.results_so_far("cox ended before this call did"),
            },
        });
    }
    events.push(Event::TurnDone {
        turn: state.turn,
        stop: StopReason::Interrupted,
    });
    events
}
