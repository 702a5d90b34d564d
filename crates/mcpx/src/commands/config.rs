//! `mcpx config`: the configuration as it is read. Needs no daemon.

use mcp_wire::{Object, Raw};
use mcpx_config::settings::{reference, schema};

use super::Desk;
use super::from_table::pretty;
use crate::args::from_table::switch;
use crate::exit::{Exit, Failure};
use crate::render::Table;

/// Prints it, or a part.
pub(super) fn config(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    if switch(matches, "schema") {
        let document = Raw::from(schema());
        if desk.printer.json {
            desk.printer.document(&document)?;
        } else {
            desk.printer.result(&pretty(&document))?;
        }
    } else if switch(matches, "defaults") {
        defaults(desk)?;
    } else if switch(matches, "path") {
        paths(desk)?;
    } else if switch(matches, "sources") {
        sources(desk)?;
    } else {
        whole(desk)?;
    }
    for warning in &desk.config.warnings {
        desk.printer.note(&format!("warning: {warning}"));
    }
    Ok(Exit::Ok)
}

fn files(desk: &Desk<'_>) -> Vec<String> {
    let files = desk.config.files.iter();
    files.map(|file| file.display().to_string()).collect()
}

fn paths(desk: &Desk<'_>) -> Result<(), Failure> {
    let files = files(desk);
    if desk.printer.json {
        let document = Object::new().with("files", Raw::of(&files));
        return desk.printer.document(&Raw::from(document));
    }
    if files.is_empty() {
        desk.printer
            .note("no configuration file was found; `mcpx init` writes one");
    }
    desk.printer.result(&files.join("\n"))
}

fn defaults(desk: &Desk<'_>) -> Result<(), Failure> {
    let rows = reference::rows();
    if desk.printer.json {
        let rows: Object = rows
            .iter()
            .map(|row| {
                let default = if row.default == "(empty)" {
                    ""
                } else {
                    &row.default
                };
                (row.path.to_owned(), Raw::from(default))
            })
            .collect();
        return desk.printer.document(&Raw::from(rows));
    }
    let mut table = Table::new(["SETTING", "DEFAULT", "MEANING"]);
    for row in rows.iter().filter(|row| !row.is_plumbing) {
        table.row([row.path, &row.default, row.help]);
    }
    desk.printer.painted(&table.lines(desk.printer))
}

fn sources(desk: &Desk<'_>) -> Result<(), Failure> {
    let servers = desk.config.servers.values();
    let place = |server: &mcpx_config::Server| {
        if server.origin.line == 0 {
            "built in".to_owned()
        } else {
            format!("{}:{}", server.origin.file.display(), server.origin.line)
        }
    };
    let set = desk
        .config
        .settings
        .all()
        .filter(|(_, resolved)| !resolved.shadowed.is_empty());
    if desk.printer.json {
        let servers: Object = servers
            .map(|server| (server.name.clone(), Raw::from(place(server))))
            .collect();
        let settings: Object = set
            .map(|(setting, resolved)| {
                (
                    setting.path.to_owned(),
                    Raw::from(resolved.source.to_string()),
                )
            })
            .collect();
        let document = Object::new()
            .with("files", Raw::of(&files(desk)))
            .with("servers", servers)
            .with("settings", settings);
        return desk.printer.document(&Raw::from(document));
    }
    let mut table = Table::new(["WHAT", "FROM"]);
    for server in servers {
        table.row([format!("server {}", server.name), place(server)]);
    }
    for (setting, resolved) in set {
        table.row([
            format!("{} = {}", setting.path, resolved.value),
            resolved.source.to_string(),
        ]);
    }
    for file in files(desk) {
        desk.printer.note(&format!("file: {file}"));
    }
    if table.is_empty() {
        desk.printer.note("nothing is configured");
        return Ok(());
    }
    desk.printer.painted(&table.lines(desk.printer))
}

fn whole(desk: &Desk<'_>) -> Result<(), Failure> {
    let servers: Object = desk
        .config
        .servers
        .values()
        .map(|server| (server.name.clone(), Raw::from(server.shown())))
        .collect();
    let settings: Object = desk
        .config
        .settings
        .all()
        .filter(|(_, resolved)| !resolved.shadowed.is_empty())
        .map(|(setting, resolved)| (setting.path.to_owned(), Raw::from(resolved.value.to_json())))
        .collect();
    let document = Raw::from(
        Object::new()
            .with("key", desk.config.key.as_str())
            .with("files", Raw::of(&files(desk)))
            .with("mcpServers", servers)
            .with("settings", settings),
    );
    if desk.printer.json {
        desk.printer.document(&document)
    } else {
        desk.printer.result(&pretty(&document))
    }
}
