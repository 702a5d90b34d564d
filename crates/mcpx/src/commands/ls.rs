//! `mcpx ls`: the servers, from what is known. Starts none.

use mcp_wire::Raw;
use mcpx_api::reply::Namespace;
use mcpx_api::{Op, operation};

use super::{Desk, trust};
use crate::args::from_table::{params, switch};
use crate::exit::{Exit, Failure};
use crate::render::Table;

/// Lists the servers. Somebody at a terminal is asked once about those that nobody accepted yet.
pub(super) async fn ls(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let printer = desk.printer;
    let is_asked = !desk.config.untrusted.is_empty() && printer.can_ask && !printer.json;
    let mut accepted = false;
    if is_asked {
        printer.note(&trust::listing(&desk.config.untrusted));
        accepted = printer.confirms("accept them?");
        if accepted {
            trust::accept(desk, &desk.config.untrusted)?;
            trust::take_up(desk).await?;
        }
    }
    if !printer.json {
        for warning in &desk.config.warnings {
            printer.note(&format!("warning: {warning}"));
        }
    }
    let params = params(
        operation(Op::Namespaces),
        &desk.typed.matches,
        &desk.config.settings,
    )?;
    let answer = desk.hub()?.ask(Op::Namespaces, &params).await?;
    let document: Raw = answer.json()?;
    if printer.json {
        printer.document(&document)?;
        return Ok(Exit::Ok);
    }
    let rows: Vec<Namespace> = answer.read()?;
    if rows.is_empty() {
        printer.note("no server is configured");
        printer.note("hint: `mcpx servers import --from claude-code` takes a list you have, `mcpx init` writes a first file, `mcpx --demo ls` shows the built-in one");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new([
        "NAMESPACE",
        "TOOLS",
        "SHARING",
        "SCOPE",
        "LIVE",
        "STATE",
        "DESCRIPTION",
    ]);
    for row in &rows {
        table.row([
            row.namespace.clone(),
            row.tools.map_or("-".to_owned(), |tools| tools.to_string()),
            row.sharing.clone(),
            row.scope.clone(),
            row.live.to_string(),
            row.state.clone(),
            row.description.clone().unwrap_or_default(),
        ]);
    }
    printer.painted(&table.lines(printer))?;
    notes(desk, &rows);
    if !accepted && rows.iter().any(|row| row.state == "untrusted") {
        printer.note(
            "hint: read what the project's files would start, and accept it: `mcpx servers trust`",
        );
    }
    Ok(Exit::Ok)
}

/// Why servers are not ready, and what to do.
fn notes(desk: &Desk<'_>, rows: &[Namespace]) {
    let is_verbose = switch(&desk.typed.matches, "verbose");
    for row in rows {
        if row.state == "untrusted" && !is_verbose {
            continue;
        }
        if let Some(error) = &row.error {
            // The first line alone; `status` and `-v` have the rest.
            let shown = if is_verbose {
                error.as_str()
            } else {
                error.lines().next().unwrap_or_default()
            };
            desk.printer.note(&format!("{}: {shown}", row.namespace));
            for hint in row.hint.iter().flat_map(|hint| hint.lines()) {
                desk.printer.note(&format!("hint: {hint}"));
            }
        }
    }
    let unread: Vec<&str> = rows
        .iter()
        .filter(|row| row.state == "unread")
        .map(|row| row.namespace.as_str())
        .collect();
    if !unread.is_empty() {
        desk.printer.note(&format!(
            "note: never read: {}; `mcpx refresh` reads them, and so does the first call",
            unread.join(", ")
        ));
    }
}
