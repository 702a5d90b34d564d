//! Brings a session whose process died in mid-turn into a valid shape, and says what died with the process.

use std::collections::BTreeSet;

use cox_protocol::{AssistantBlock, Event, Item, StopReason};
use cox_tools::tasks::{ENDED, STARTED};

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

/// What the text about lost tasks begins with.
const LOST: &str =
    "The session was resumed in a new process. Its earlier background tasks no longer run: ";

/// Returns what a model has to know of background tasks that an earlier process started and whose end it was not told;
/// none where there are none.
pub(crate) fn lost_tasks(items: &[Item]) -> Option<String> {
    let mut open = BTreeSet::new();
    for item in items {
        match item {
            Item::ToolResults { results } => {
                let started = results.iter().filter_map(|result| {
                    let (id, _) = result.text.strip_prefix(STARTED)?.split_once(';')?;
                    Some(id.to_owned())
                });
                open.extend(started.filter(|id| is_task(id)));
            }
            Item::User { context, .. } => {
                for text in context {
                    if text.starts_with(LOST) {
                        open.clear();
                    }
                    if let Some((id, _)) = text
                        .strip_prefix(ENDED)
                        .and_then(|rest| rest.split_once(' '))
                    {
                        open.remove(id);
                    }
                }
            }
            _ => {}
        }
    }
    let ids: Vec<String> = open.into_iter().collect();
    (!ids.is_empty()).then(|| {
        format!(
            "{LOST}{}. Start again what is still needed; ids count from t1 anew.",
            ids.join(", ")
        )
    })
}

fn is_task(id: &str) -> bool {
    id.strip_prefix('t')
        .is_some_and(|number| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use cox_protocol::{CallId, ToolResult};

    use super::*;

    fn result(text: &str) -> Item {
        Item::ToolResults {
            results: vec![ToolResult {
                call: CallId::generate(),
                wire_id: "w1".to_owned(),
                text: text.to_owned(),
                is_error: false,
                images: Vec::new(),
                archive: None,
            }],
        }
    }

    fn told(text: &str) -> Item {
        Item::User {
            context: vec![text.to_owned()],
            text: String::new(),
            images: Vec::new(),
        }
    }

    #[test]
    fn tasks_whose_end_was_not_told_are_named_once() {
        let mut items = vec![
            result("[runs in the background as task t1; …]"),
            result("[runs in the background as task t2; …]"),
            result("it printed [runs in the background as task t3; …]"),
            result("[runs in the background as task of mine; …]"),
        ];
        let lost = lost_tasks(&items).unwrap();
        assert!(lost.contains("no longer run: t1, t2."), "{lost}");
        items.push(told("Background task t1 (`x`) has ended: [exit 0, 1.0 s]"));
        assert!(lost_tasks(&items).unwrap().contains(": t2."));
        items.push(told(&lost));
        assert_eq!(lost_tasks(&items), None);
        items.push(result("[runs in the background as task t1; …]"));
        assert!(lost_tasks(&items).unwrap().contains(": t1."));
    }
}
