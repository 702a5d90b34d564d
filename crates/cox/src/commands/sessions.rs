//! `cox sessions`: lists sessions, shows one, searches them.

use cox_protocol::{Event, Item, SessionId};
use cox_store::{Home, Rollout, Stored};
use serde_json::{Value, json};

use crate::{
    args::Sessions,
    exit::{Exit, Failure},
    printer::Printer,
    surface::{
        outcome::{Outcome, text_of},
        text::Lines,
    },
};

/// Does what was asked.
///
/// # Errors
///
/// A usage failure for a bad id, an error when the sessions cannot be read.
pub(crate) fn sessions(
    sessions: &Sessions,
    home: &Home,
    printer: Printer,
) -> Result<Exit, Failure> {
    match (&sessions.id, &sessions.grep) {
        (Some(id), _) => show(id, home, printer),
        (None, Some(words)) => search(words, sessions.limit, home, printer),
        (None, None) => list(sessions.limit, home, printer),
    }
}

/// Shows a session as it was shown when it ran, with the prompts and the answers.
fn show(id: &str, home: &Home, printer: Printer) -> Result<Exit, Failure> {
    let id: SessionId = id
        .parse()
        .map_err(|error| Failure::usage(format!("{error}")))?;
    let replay = Rollout::read(home, id)?;
    for skipped in &replay.skipped {
        printer.warn(&format!(
            "line {} of the session is left out: {}",
            skipped.line, skipped.why
        ));
    }
    Ok(crate::printed(if printer.json {
        let events: Vec<Value> = replay.events.iter().map(stored).collect();
        printer.document(&json!({ "session": id.to_string(), "events": events, "skipped": replay.skipped.len() }))
    } else {
        printer.result(&transcript(&replay.events))
    }))
}

fn stored(stored: &Stored) -> Value {
    let event = serde_json::to_value(&stored.event).unwrap_or_default();
    json!({ "seq": stored.seq, "ts": stored.ts.to_string(), "event": event })
}

fn transcript(events: &[Stored]) -> String {
    let mut lines = Lines::new(false);
    let mut outcome = Outcome::new();
    let mut shown: Vec<String> = Vec::new();
    let mut answer = String::new();
    for Stored { event, .. } in events {
        outcome.note(event);
        if let Event::ItemAdded {
            item: Item::User { text, .. },
        } = event
        {
            shown.push(format!("\n> {}", text.trim_end().replace('\n', "\n> ")));
        }
        if let Event::ItemAdded {
            item: Item::Assistant { blocks, .. },
        } = event
        {
            answer = text_of(blocks);
        }
        let text = lines.lines(event);
        if !text.is_empty() {
            shown.push(text);
        }
        if let Event::TurnDone { .. } = event {
            if !answer.is_empty() {
                shown.push(std::mem::take(&mut answer));
            }
            shown.extend(outcome.problem().map(|problem| format!("({problem})")));
        }
    }
    shown.join("\n")
}

fn list(_: usize, _: &Home, _: Printer) -> Result<Exit, Failure> {
    Err(Failure::error("not yet"))
}

fn search(_: &str, _: usize, _: &Home, _: Printer) -> Result<Exit, Failure> {
    Err(Failure::error("not yet"))
}
