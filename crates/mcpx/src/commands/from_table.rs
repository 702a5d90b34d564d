//! The commands that ask for one operation and print what comes back.

use std::path::Path;

use mcp_wire::{Object, Raw};
use mcpx_api::reply::Found;
use mcpx_api::{Op, Operation, Output};

use super::Desk;
use crate::args::from_table::{params, text};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::render::{Table, scalar};

/// Longest description in a listing, in characters.
const DESCRIPTION: usize = 90;

/// Asks and prints.
pub(super) async fn run(desk: &Desk<'_>, operation: &'static Operation) -> Result<Exit, Failure> {
    let params = params(operation, &desk.typed.matches, &desk.config.settings)?;
    let answer = desk.hub()?.ask(operation.id, &params).await?;
    if let Some(path) = text(&desk.typed.matches, "out") {
        files::write(Path::new(&path), &answer.body)?;
        desk.printer.note(&format!("{path}: {} bytes", answer.body.len()));
        if desk.printer.json {
            let document = Object::new()
                .with("written", path.as_str())
                .with("bytes", Raw::of(&answer.body.len()));
            desk.printer.document(&Raw::from(document))?;
        }
        return Ok(Exit::Ok);
    }
    if let Output::Text(media_type) = operation.output {
        if desk.printer.json {
            let document = Object::new()
                .with("text", answer.text())
                .with("mediaType", media_type);
            desk.printer.document(&Raw::from(document))?;
        } else {
            desk.printer.result(&answer.text())?;
        }
        return Ok(Exit::Ok);
    }
    let document = answer.json()?;
    if desk.printer.json {
        desk.printer.document(&document)?;
        return Ok(Exit::Ok);
    }
    match operation.id {
        Op::Search => search(desk, &answer.read::<Vec<Found>>()?)?,
        // Documents for programs.
        Op::Schema | Op::Openapi | Op::Tools => desk.printer.result(&pretty(&document))?,
        Op::ResultRead => piece(desk, &document)?,
        Op::StatsQuery => stats(desk, &document)?,
        Op::Status => status(desk, &document)?,
        Op::SettingsSet | Op::SettingsUnset => {
            desk.print(&document)?;
        }
        _ => desk.print(&document)?,
    }
    Ok(Exit::Ok)
}

/// A document with line breaks.
pub(super) fn pretty(document: &Raw) -> String {
    document
        .value()
        .ok()
        .and_then(|value| serde_json::to_string_pretty(&value).ok())
        .unwrap_or_else(|| document.as_str().to_owned())
}

fn search(desk: &Desk<'_>, found: &[Found]) -> Result<(), Failure> {
    if found.is_empty() {
        desk.printer.note("nothing found");
        desk.printer
            .note("hint: `mcpx ls` shows the servers; those that are unread are read by `mcpx refresh`");
        return Ok(());
    }
    let mut table = Table::new(["FUNCTION", "DESCRIPTION"]);
    for one in found {
        let description = one.description.as_deref().unwrap_or_default();
        table.row([
            one.function.clone(),
            untrusted_text::terminal::one_line(description, DESCRIPTION),
        ]);
    }
    desk.printer.painted(&table.lines(desk.printer))
}

/// A piece of a result that was put aside: the piece on stdout, how to go on on stderr.
fn piece(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
    let piece = document.object().unwrap_or_default();
    if let Some(text) = piece.string("text") {
        desk.printer.result(&text)?;
    } else {
        desk.printer.result(&pretty(document))?;
    }
    let number = |name: &str| piece.get(name).and_then(Raw::integer);
    if let (Some(next), Some(total)) = (number("next"), number("total")) {
        desk.printer.note(&format!(
            "note: {next} of {total} bytes so far; go on with `--offset {next}`"
        ));
    }
    Ok(())
}

/// Whatever the statistics counted, as a table.
fn stats(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
    let rows = document.object().ok().and_then(|object| {
        let lists: Vec<Raw> = object
            .iter()
            .filter(|(_, value)| value.array().is_ok())
            .map(|(_, value)| value.clone())
            .collect();
        match lists.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        }
    });
    let rows = rows.unwrap_or_else(|| document.clone());
    if rows.array().is_ok_and(|rows| rows.is_empty()) {
        desk.printer.note("nothing is counted yet");
        return Ok(());
    }
    desk.print(&rows)
}

/// The daemon, its servers, their instances.
fn status(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
    let whole = document.object().unwrap_or_default();
    let head = whole.without(&["servers"]);
    let mut text = crate::render::document(&Raw::from(head), desk.printer);
    let servers = members(whole.get("servers"));
    let mut table = Table::new(["SERVER", "STATE", "TOOLS", "SHARING", "SCOPE", "MAX", "WAITING", "REACHED"]);
    let cell = |object: &Object, name: &str| object.get(name).map(scalar).unwrap_or_default();
    for server in &servers {
        let names = ["name", "state", "tools", "sharing", "scope", "max", "waiting", "reached"];
        table.row(names.map(|name| cell(server, name)));
    }
    if !table.is_empty() {
        text.push('\n');
        text.push_str(&table.lines(desk.printer));
    }
    let mut table = Table::new(["INSTANCE", "PID", "HOLDERS", "CALLS", "UPTIME", "IDLE", "PROTOCOL", "KEY"]);
    for instance in servers.iter().flat_map(|server| members(server.get("instances"))) {
        let seconds = |name: &str| format!("{}s", cell(&instance, name));
        table.row([
            cell(&instance, "id"),
            cell(&instance, "pid"),
            cell(&instance, "holders"),
            cell(&instance, "calls"),
            seconds("uptimeSec"),
            seconds("idleSec"),
            cell(&instance, "protocol"),
            cell(&instance, "key"),
        ]);
    }
    if !table.is_empty() {
        text.push('\n');
        text.push_str(&table.lines(desk.printer));
    }
    desk.printer.painted(&text)?;
    for server in &servers {
        if let Some(error) = server.string("lastError") {
            desk.printer.note(&format!("{}: {error}", cell(server, "name")));
        }
    }
    Ok(())
}

/// The objects of a list.
pub(super) fn members(list: Option<&Raw>) -> Vec<Object> {
    list.and_then(|raw| raw.array().ok())
        .unwrap_or_default()
        .iter()
        .filter_map(|raw| raw.object().ok())
        .collect()
}
