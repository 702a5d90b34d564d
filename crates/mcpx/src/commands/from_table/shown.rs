//! What an operation answered, as people read it, where names and values alone would be hard to read.

use mcp_wire::{Object, Raw};
use mcpx_api::reply::{Found, Saving};
use untrusted_text::terminal::one_line;

use super::{Desk, members, pretty};
use crate::args::from_table::switch;
use crate::exit::Failure;
use crate::render::{Table, scalar};

/// Longest description in a listing, in characters.
const DESCRIPTION: usize = 90;

fn cell(object: &Object, name: &str) -> String {
    object.get(name).map(scalar).unwrap_or_default()
}

/// Tools that were found.
pub(super) fn search(desk: &Desk<'_>, found: &[Found]) -> Result<(), Failure> {
    if found.is_empty() {
        desk.printer.note("nothing found");
        desk.printer.note(
            "hint: `mcpx ls` shows the servers; those that are unread are read by `mcpx refresh`",
        );
        return Ok(());
    }
    let mut table = Table::new(["FUNCTION", "DESCRIPTION"]);
    for one in found {
        let description = one.description.as_deref().unwrap_or_default();
        table.row([one.function.clone(), one_line(description, DESCRIPTION)]);
    }
    desk.printer.painted(&table.lines(desk.printer))
}

/// A piece of a result that was put aside: the piece on stdout, how to go on on stderr.
pub(super) fn piece(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
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

/// Rows as a table; `none` is said where there is none.
pub(super) fn list(desk: &Desk<'_>, document: &Raw, none: &str) -> Result<(), Failure> {
    if document.array().is_ok_and(|rows| rows.is_empty()) {
        desk.printer.note(none);
        return Ok(());
    }
    desk.print(document)
}

/// Which instances were ended, and which were started for the same callers.
pub(super) fn restart(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
    let whole = document.object().unwrap_or_default();
    let mut table = Table::new(["SERVER", "ENDED", "STARTED"]);
    for server in members(whole.get("servers")) {
        table.row(["server", "stopped", "started"].map(|name| cell(&server, name)));
    }
    if table.is_empty() {
        desk.printer.note("no server runs");
        return Ok(());
    }
    desk.printer.painted(&table.lines(desk.printer))
}

/// Whatever the statistics counted, as a table.
pub(super) fn stats(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
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
pub(super) fn status(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
    let whole = document.object().unwrap_or_default();
    let head = whole.without(&["servers", "saving"]);
    let mut text = crate::render::document(&Raw::from(head), desk.printer);
    let servers = members(whole.get("servers"));
    let mut table = Table::new([
        "SERVER", "STATE", "TOOLS", "SHARING", "SCOPE", "MAX", "WAITING", "REACHED",
    ]);
    for server in &servers {
        let names = [
            "name", "state", "tools", "sharing", "scope", "max", "waiting", "reached",
        ];
        table.row(names.map(|name| cell(server, name)));
    }
    if !table.is_empty() {
        text.push('\n');
        text.push_str(&table.lines(desk.printer));
    }
    let mut table = Table::new([
        "INSTANCE", "PID", "HOLDERS", "CALLS", "UPTIME", "IDLE", "PROTOCOL", "KEY",
    ]);
    let mut shown = Vec::new();
    for instance in servers
        .iter()
        .flat_map(|server| members(server.get("instances")))
    {
        // Servers that share their processes each have them in the document.
        let id = cell(&instance, "id");
        if shown.contains(&id) {
            continue;
        }
        shown.push(id);
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
    if switch(&desk.typed.matches, "verbose") {
        text.push('\n');
        text.push_str(&sizes(&servers).lines(desk.printer));
    }
    desk.printer.painted(&text)?;
    if let Some(saving) = whole.get("saving").and_then(|raw| raw.read().ok()) {
        desk.printer.note(&spared(&saving));
    }
    for server in &servers {
        let others = server.get("sharesWith").and_then(|raw| raw.read().ok());
        let others: Vec<String> = others.unwrap_or_default();
        if !others.is_empty() {
            let name = cell(server, "name");
            let others = one_line(&others.join(", "), 200);
            desk.printer
                .note(&format!("{name}: shares its instances with {others}"));
        }
        if let Some(error) = server.string("lastError") {
            desk.printer
                .note(&format!("{}: {error}", cell(server, "name")));
        }
        let left_out = server.get("leftOut").and_then(|raw| raw.array().ok());
        for text in left_out
            .into_iter()
            .flatten()
            .filter_map(|raw| raw.string())
        {
            desk.printer
                .note(&format!("{}: {text}", cell(server, "name")));
        }
    }
    Ok(())
}

/// What it spares that clients share what runs.
fn spared(saving: &Saving) -> String {
    let Saving {
        clients,
        servers,
        instances,
        calls,
        apart,
    } = saving;
    let some = |count: u64, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let runs = format!(
        "{} of {} answered {}",
        some(*instances as u64, "instance"),
        some(*servers as u64, "server"),
        some(*calls, "call")
    );
    if apart > instances {
        format!("{runs}; {clients} clients share them, each with its own there would be {apart}")
    } else {
        runs
    }
}

/// The sizes and times of each server, and where each comes from.
fn sizes(servers: &[Object]) -> Table {
    let mut table = Table::new(["SERVER", "WHAT", "VALUE", "FROM"]);
    for server in servers {
        let (times, from) = (server.object("timeoutsMs"), server.object("sizesFrom"));
        let (times, from) = (times.unwrap_or_default(), from.unwrap_or_default());
        for what in ["start", "call", "idle", "queue", "max", "min"] {
            let value = match times.get(what) {
                Some(_) => match cell(&times, what).as_str() {
                    // Zero has no end, but for a wait.
                    "0" if what != "queue" => "no limit".to_owned(),
                    ms => in_words(ms),
                },
                None => cell(server, what),
            };
            table.row([
                cell(server, "name"),
                what.to_owned(),
                value,
                cell(&from, what),
            ]);
        }
    }
    table
}

/// Milliseconds as they would be written.
fn in_words(ms: &str) -> String {
    match ms.parse::<u64>() {
        Ok(ms) if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        _ => format!("{ms}ms"),
    }
}

/// The configured servers.
pub(super) fn servers(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
    let whole = document.object().unwrap_or_default();
    let mut table = Table::new(["SERVER", "STATE", "REACHED", "FROM"]);
    for server in members(whole.get("servers")) {
        let words = [
            cell(&server, "command"),
            cell(&server, "args"),
            cell(&server, "url"),
            cell(&server, "aliasOf"),
        ];
        let reached: Vec<String> = words
            .into_iter()
            .filter(|word| !word.is_empty())
            .map(|word| word.replace(", ", " "))
            .collect();
        let line = cell(&server, "line");
        let place = match line.as_str() {
            "" | "0" => cell(&server, "file"),
            line => format!("{}:{line}", cell(&server, "file")),
        };
        table.row([
            cell(&server, "name"),
            cell(&server, "state"),
            reached.join(" "),
            place,
        ]);
    }
    if table.is_empty() {
        desk.printer.note("no server is configured");
        return Ok(());
    }
    desk.printer.painted(&table.lines(desk.printer))?;
    for warning in whole
        .get("warnings")
        .and_then(|raw| raw.read::<Vec<String>>().ok())
        .unwrap_or_default()
    {
        desk.printer.note(&format!("warning: {warning}"));
    }
    Ok(())
}

/// The settings: value, and where it comes from.
pub(in crate::commands) fn settings(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
    let rows = match document.array() {
        Ok(_) => members(Some(document)),
        Err(_) => {
            let whole = document.object().unwrap_or_default();
            members(whole.get("settings"))
        }
    };
    if rows.is_empty() {
        desk.printer.note("no setting is other than its default");
        return Ok(());
    }
    let mut table = Table::new(["SETTING", "VALUE", "FROM", "MEANING"]);
    for row in &rows {
        table.row(["path", "value", "source", "help"].map(|name| cell(row, name)));
    }
    desk.printer.painted(&table.lines(desk.printer))
}

/// The tasks.
pub(super) fn tasks(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
    let whole = document.object().unwrap_or_default();
    let rows = members(whole.get("tasks"));
    if rows.is_empty() {
        desk.printer.note("no task runs, and none is kept");
        return Ok(());
    }
    let mut table = Table::new(["TASK", "STATE", "SERVER", "TOOL", "CREATED", "MESSAGE"]);
    for row in &rows {
        let names = ["id", "state", "server", "tool", "created", "message"];
        table.row(names.map(|name| one_line(&cell(row, name), 200)));
    }
    desk.printer.painted(&table.lines(desk.printer))
}

/// The prompts with the names of their arguments.
pub(super) fn prompts(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
    let rows = members(Some(document));
    if rows.is_empty() {
        desk.printer.note("no server has a prompt");
        return Ok(());
    }
    let mut table = Table::new(["PROMPT", "ARGUMENTS", "DESCRIPTION"]);
    for row in &rows {
        let arguments: Vec<String> = members(row.get("arguments"))
            .iter()
            .map(|argument| {
                let is_required = argument.get("required").and_then(Raw::boolean) == Some(true);
                let name = cell(argument, "name");
                if is_required {
                    name
                } else {
                    format!("[{name}]")
                }
            })
            .collect();
        table.row([
            format!("{}.{}", cell(row, "namespace"), cell(row, "name")),
            arguments.join(" "),
            one_line(&cell(row, "description"), DESCRIPTION),
        ]);
    }
    desk.printer.painted(&table.lines(desk.printer))
}

/// What became of a change of a setting.
pub(super) fn setting(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
    let object = document.object().unwrap_or_default();
    if !object.contains("path") || !object.contains("value") {
        return desk.print(document);
    }
    let source = cell(&object, "source");
    let (path, value) = (cell(&object, "path"), cell(&object, "value"));
    desk.printer
        .result(&format!("{path} = {value}  ({source})"))?;
    let is_on = |name: &str| object.get(name).and_then(Raw::boolean) == Some(true);
    if is_on("restartRequired") {
        desk.printer
            .note("note: it holds after the daemon was started anew: `mcpx daemon restart`");
    }
    for name in ["note", "written", "file"] {
        let text = cell(&object, name);
        if !text.is_empty() {
            desk.printer.note(&format!("{name}: {text}"));
        }
    }
    Ok(())
}
