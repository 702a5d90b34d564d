//! `mcpx log`: records, in the format that was asked for; `--follow` prints what comes.

mod format;

use std::time::Duration;

use mcp_wire::{Object, Raw};
use mcpx_api::{Op, operation};
use mcpx_config::settings::key;

use self::format::Format;
use super::Desk;
use super::from_table::members;
use crate::args::from_table::{params, switch};
use crate::exit::{Exit, Failure};

/// Pause between two looks for new records.
const LOOK: Duration = Duration::from_millis(250);

/// Prints records.
pub(super) async fn log(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let mut params = params(
        operation(Op::LogQuery),
        &desk.typed.matches,
        &desk.config.settings,
    )?;
    let format = Format::of(desk.config.settings.text(key::LOGGING_FORMAT));
    let follows = switch(&desk.typed.matches, "follow");
    if follows && (params.contains("chain") || params.contains("reverse")) {
        return Err(Failure::usage(
            "`--follow` goes with neither `--chain` nor `--reverse`",
        ));
    }
    // The newest are wanted, and read from top to bottom; `--reverse` has them newest first.
    let is_newest_first = params.contains("reverse");
    let is_plain = !params.contains("chain") && !params.contains("after");
    if is_plain {
        params.set("reverse", true);
    }
    let hub = desk.hub()?;
    let mut document = read(&hub.ask(Op::LogQuery, &params).await?)?;
    if is_plain && !is_newest_first {
        let records = document.get("records").and_then(|raw| raw.array().ok());
        let mut records = records.unwrap_or_default();
        records.reverse();
        document.set("records", Raw::of(&records));
    }
    if !follows {
        print_once(desk, &document, format)?;
        return Ok(Exit::Ok);
    }
    if !print_records(desk, &document, format)? {
        return Ok(Exit::Ok);
    }
    params.remove("reverse");
    params.set(
        "limit",
        Raw::of(&desk.config.settings.int(key::LOGSTORE_FOLLOW_BACKLOG)),
    );
    loop {
        let is_more = document.get("more").and_then(Raw::boolean).unwrap_or(false);
        if let Some(cursor) = document.string("cursor") {
            params.set("after", cursor);
        }
        if !is_more {
            tokio::time::sleep(LOOK).await;
        }
        document = read(&hub.ask(Op::LogQuery, &params).await?)?;
        if !print_records(desk, &document, format)? {
            return Ok(Exit::Ok);
        }
    }
}

fn read(answer: &mcpx_api::client::Answer) -> Result<Object, Failure> {
    super::call::object(&answer.json()?)
}

fn print_once(desk: &Desk<'_>, document: &Object, format: Format) -> Result<(), Failure> {
    if desk.printer.json {
        return desk.printer.document(&Raw::from(document.clone()));
    }
    let links = members(document.get("chain"));
    for link in &links {
        let depth = link.get("depth").and_then(Raw::integer).unwrap_or(0);
        let indent = "  ".repeat(usize::try_from(depth).unwrap_or(0).min(40));
        let trace = link.string("trace").unwrap_or_default();
        desk.printer.result(&format!("{indent}{trace}"))?;
        for record in members(link.get("records")) {
            for line in format.lines(&record).lines() {
                desk.printer.result(&format!("{indent}  {line}"))?;
            }
        }
    }
    if links.is_empty() {
        let records = members(document.get("records"));
        if records.is_empty() {
            desk.printer.note("no record matches");
        }
        print_records(desk, document, format)?;
    }
    Ok(())
}

/// Says whether somebody still reads.
fn print_records(desk: &Desk<'_>, document: &Object, format: Format) -> Result<bool, Failure> {
    let mut text = String::new();
    for record in members(document.get("records")) {
        let line = if desk.printer.json {
            Format::Json.lines(&record)
        } else {
            format.lines(&record)
        };
        text.push_str(&line);
        text.push('\n');
    }
    if text.is_empty() {
        return Ok(true);
    }
    desk.printer.streamed(text.as_bytes())
}
