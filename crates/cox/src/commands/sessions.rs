//! `cox sessions`: lists sessions, shows one, searches them.

use std::collections::HashMap;

use cox_protocol::{Event, Item};
use cox_store::{By, Home, Index, LedgerFilter, Rollout, Stored};
use serde_json::{Value, json};
use untrusted_text::terminal::for_terminal;

use crate::{
    args::Sessions,
    commands::{ids, stats::cost},
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
    let limit = usize::try_from(sessions.limit).unwrap_or(usize::MAX);
    match (&sessions.id, &sessions.grep) {
        (Some(id), _) => show(id, home, printer),
        (None, Some(words)) => search(words, limit, home, printer),
        (None, None) => list(limit, home, printer),
    }
}

/// Shows a session as it was shown when it ran, with the prompts and the answers.
fn show(id: &str, home: &Home, printer: Printer) -> Result<Exit, Failure> {
    let id = ids::session(id, home)?;
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
    } else if replay.events.is_empty() {
        printer.note("nothing is recorded in this session");
        Ok(())
    } else {
        printer.result(&transcript(&replay.events))
    }))
}

fn stored(stored: &Stored) -> Value {
    let event = serde_json::to_value(&stored.event).unwrap_or_default();
    json!({ "seq": stored.seq, "ts": stored.ts.to_string(), "event": event })
}

/// Returns the conversation: each prompt and each answer as a paragraph, the calls between them as they were shown.
fn transcript(events: &[Stored]) -> String {
    let mut lines = Lines::new(false).with_pointers();
    let mut outcome = Outcome::new();
    let mut shown: Vec<String> = Vec::new();
    let mut answer = String::new();
    for Stored { event, .. } in events {
        outcome.note(event);
        if let Event::ItemAdded {
            item: Item::User { text, .. },
        } = event
        {
            // Made safe by itself: what is in it must not reach into the lines that follow.
            let text = for_terminal(text);
            shown.push(format!("\n> {}\n", text.trim_end().replace('\n', "\n> ")));
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
                shown.push(format!("\n{}", for_terminal(&answer)));
                answer.clear();
            }
            shown.extend(outcome.problem().map(|problem| format!("({problem})")));
        }
    }
    shown.join("\n")
}

/// Lists sessions, the one last written to first.
fn list(limit: usize, home: &Home, printer: Printer) -> Result<Exit, Failure> {
    super::write_sets::warn(home, printer);
    let index = index(home)?;
    let rows = index.list(limit)?;
    if printer.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|row| {
                json!({
                    "session": row.id.to_string(),
                    "created": row.created.to_string(),
                    "updated": row.updated.to_string(),
                    "cwd": row.cwd,
                    "provider": row.provider,
                    "model": row.model,
                    "title": row.title,
                    "turns": row.turns,
                    "cost_usd": row.cost.usd(),
                    "state": row.state,
                })
            })
            .collect();
        return Ok(crate::printed(
            printer.document(&json!({ "sessions": rows })),
        ));
    }
    if rows.is_empty() {
        printer.note("no sessions yet: `cox run -p \"…\"` makes one");
        return Ok(Exit::Ok);
    }
    let spent: HashMap<String, String> = index
        .ledger(LedgerFilter {
            by: By::Session,
            session: None,
            since: None,
        })?
        .into_iter()
        .map(|row| (row.key.clone(), cost(&row)))
        .collect();
    let nothing = "$0.0000".to_owned();
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            format!(
                "{}  {}  {:<11} {:>3} {:<5}  {:<9} {}",
                row.id,
                local(row.updated),
                state_word(&row.state),
                row.turns,
                if row.turns == 1 { "turn" } else { "turns" },
                spent.get(&row.id.to_string()).unwrap_or(&nothing),
                row.title
            )
        })
        .collect();
    Ok(crate::printed(printer.result(&lines.join("\n"))))
}

/// Returns how a session stands, in words for people.
fn state_word(state: &str) -> &str {
    match state {
        "end_turn" => "done",
        "max_turns" => "turn limit",
        "budget" => "spend cap",
        "refusal" => "refused",
        other => other,
    }
}

/// Finds words in every session; ends with 1 when there are none, as `grep` does.
fn search(words: &str, limit: usize, home: &Home, printer: Printer) -> Result<Exit, Failure> {
    if words.trim().is_empty() {
        return Err(Failure::usage(
            "there are no words to search for\nhint: `cox sessions --grep \"leap second\"`",
        ));
    }
    let hits = index(home)?.grep(words, limit)?;
    let exit = if hits.is_empty() {
        Exit::Error
    } else {
        Exit::Ok
    };
    let told = if printer.json {
        let hits: Vec<Value> = hits
            .iter()
            .map(|hit| {
                json!({
                    "session": hit.session.to_string(),
                    "turn": hit.turn,
                    "role": hit.role,
                    "snippet": hit.snippet,
                })
            })
            .collect();
        printer.document(&json!({ "hits": hits, "exit_code": exit.code() }))
    } else if hits.is_empty() {
        printer.note("no session has all of these words");
        Ok(())
    } else {
        let lines: Vec<String> = hits
            .iter()
            .map(|hit| {
                format!(
                    "{}  turn {:<3} {:<9} {}",
                    hit.session, hit.turn, hit.role, hit.snippet
                )
            })
            .collect();
        printer.result(&lines.join("\n"))
    };
    Ok(match crate::printed(told) {
        Exit::Ok => exit,
        failed => failed,
    })
}

/// Opens the index as it is now.
pub(crate) fn index(home: &Home) -> Result<Index, Failure> {
    let mut index = Index::open(home)?;
    index.refresh()?;
    Ok(index)
}

/// Returns a time as the person's clock shows it.
fn local(time: jiff::Timestamp) -> String {
    time.to_zoned_datetime(jiff::tz::TimeZone::system())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}
