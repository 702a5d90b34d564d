//! `mcpx init`: a first configuration file.

use mcp_wire::{Object, Raw};
use mcpx_config::files::user_file;
use mcpx_config::write::init as write_init;

use crate::args::Typed;
use crate::args::from_table::switch;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::settings::surroundings;

/// Writes it: the project's, or with `--global` the person's own.
pub(super) fn init(typed: &Typed, printer: Printer) -> Result<Exit, Failure> {
    let surroundings = surroundings()?;
    let path = match &typed.choice.config_file {
        Some(file) => surroundings.cwd.join(file),
        None if switch(&typed.matches, "global") => user_file(&surroundings)
            .ok_or_else(|| Failure::failed("there is no home to write into"))?,
        None => surroundings.cwd.join(".mcpx.json"),
    };
    let saved = write_init(&path, switch(&typed.matches, "force"))
        .map_err(|error| Failure::with_hint_lines(Exit::Failed, &error.to_string()))?;
    if printer.json {
        let backup = saved.backup.map(|path| path.display().to_string());
        let document = Object::new()
            .with("written", saved.path.display().to_string())
            .with_some("backup", backup);
        printer.document(&Raw::from(document))?;
    } else {
        printer.result(&format!("{} is written", saved.path.display()))?;
        printer.note("hint: change it, then `mcpx servers trust` accepts what it starts, and `mcpx ls` shows it");
    }
    Ok(Exit::Ok)
}
