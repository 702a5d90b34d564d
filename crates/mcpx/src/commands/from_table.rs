//! The commands that ask for one operation and print what comes back.

mod changes;
mod left_out;
pub(super) mod shown;

use std::path::Path;

use mcp_wire::{Object, Raw};
use mcpx_api::reply::Found;
use mcpx_api::{Op, Operation, Output};

use super::Desk;
use crate::args::from_table::{params, text};
use crate::exit::{Exit, Failure};
use crate::files;

/// Asks and prints.
pub(super) async fn run(desk: &Desk<'_>, operation: &'static Operation) -> Result<Exit, Failure> {
    let params = params(operation, &desk.typed.matches, &desk.config.settings)?;
    let hub = desk.hub()?;
    let answer = hub.ask(operation.id, &params).await?;
    if is_of_all(operation.id, &params) && !desk.printer.json {
        left_out::told(desk, &hub).await?;
    }
    if let Some(path) = text(&desk.typed.matches, "out") {
        files::write(Path::new(&path), &answer.body)?;
        desk.printer
            .note(&format!("{path}: {} bytes", answer.body.len()));
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
        Op::Search => shown::search(desk, &answer.read::<Vec<Found>>()?)?,
        // Documents for programs.
        Op::Schema | Op::Openapi | Op::Tools => desk.printer.result(&pretty(&document))?,
        Op::ResultRead => shown::piece(desk, &document)?,
        Op::StatsQuery => shown::stats(desk, &document)?,
        Op::Status => shown::status(desk, &document)?,
        Op::ServersList => shown::servers(desk, &document)?,
        Op::TasksList => shown::tasks(desk, &document)?,
        Op::History => changes::history(desk, &document)?,
        Op::Refresh => return changes::refresh(desk, &document),
        Op::Prompts => shown::prompts(desk, &document)?,
        Op::Resources => shown::list(desk, &document, "no server has a resource")?,
        Op::ResourceTemplates => shown::list(desk, &document, "no server has a template")?,
        Op::Restart => shown::restart(desk, &document)?,
        Op::SettingsSet | Op::SettingsUnset => shown::setting(desk, &document)?,
        _ => desk.print(&document)?,
    }
    Ok(Exit::Ok)
}

/// Whether an operation is about the tools of every server, and leaves out those that cannot be read.
fn is_of_all(op: Op, params: &Object) -> bool {
    let takes_all = matches!(
        op,
        Op::Client
            | Op::Globals
            | Op::Schema
            | Op::Tools
            | Op::Resources
            | Op::ResourceTemplates
            | Op::Prompts
    );
    takes_all && !params.contains("ns")
}

/// A document with line breaks.
pub(super) fn pretty(document: &Raw) -> String {
    document
        .value()
        .ok()
        .and_then(|value| serde_json::to_string_pretty(&value).ok())
        .unwrap_or_else(|| document.as_str().to_owned())
}

/// The objects of a list.
pub(super) fn members(list: Option<&Raw>) -> Vec<Object> {
    list.and_then(|raw| raw.array().ok())
        .unwrap_or_default()
        .iter()
        .filter_map(|raw| raw.object().ok())
        .collect()
}
