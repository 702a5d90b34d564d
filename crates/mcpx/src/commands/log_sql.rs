//! `mcpx log sql`: the log's index, asked directly; needs no daemon.

use mcp_wire::{Object, Raw};
use mcpx_store::StateDir;
use mcpx_store::log::index::{Index, SqlError, SqlLimits};

use super::Desk;
use crate::args::from_table::{switch, text};
use crate::exit::{Exit, Failure};
use crate::render::{Table, scalar};

/// Asks.
pub(super) fn sql(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    let printer = desk.printer;
    if switch(matches, "schema") {
        if printer.json {
            printer.document(&Raw::from(Object::new().with("schema", Index::schema())))?;
        } else {
            printer.result(Index::schema().trim_start())?;
        }
        return Ok(Exit::Ok);
    }
    let failed = |error: mcpx_store::StoreError| Failure::failed(error.to_string());
    let mut index = Index::open(&StateDir::at(&desk.told.state)).map_err(failed)?;
    if switch(matches, "path") {
        let path = index.path().display().to_string();
        if printer.json {
            printer.document(&Raw::from(Object::new().with("path", path)))?;
        } else {
            printer.result(&path)?;
        }
        return Ok(Exit::Ok);
    }
    index.refresh().map_err(failed)?;
    let query = text(matches, "query").unwrap_or_default();
    let table = index
        .sql(&query, SqlLimits::default())
        .map_err(|error: SqlError| Failure::with_hint_lines(Exit::Usage, &error.to_string()))?;
    if printer.json {
        printer.document(&Raw::of(&table))?;
        return Ok(Exit::Ok);
    }
    let mut shown = Table::new(
        table
            .columns
            .iter()
            .map(|name| untrusted_text::terminal::one_line(name, 80)),
    );
    for row in &table.rows {
        shown.row(row.iter().map(|value| scalar(&Raw::of(value))));
    }
    printer.painted(&shown.lines(printer))?;
    if table.cut {
        printer.note(&format!(
            "note: there are more rows; {} are shown, `limit` and `offset` reach the others",
            table.rows.len()
        ));
    }
    Ok(Exit::Ok)
}
