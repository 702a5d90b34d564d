//! `mcpx batch`: several calls, what became of each.

use std::path::Path;

use mcp_wire::json::Kind;
use mcp_wire::{CallResult, Object, Raw};
use mcpx_api::Op;

use super::Desk;
use super::call::{arguments, blocks};
use super::from_table::members;
use crate::args::from_table::{switch, text};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::render::{Table, scalar};

/// Longest result in the table, in characters.
const SHOWN: usize = 120;

/// Calls as they could be typed.
const EXAMPLE: &str = "'[{\"tool\":\"demo.echo\",\"args\":{\"message\":\"hi\"}}]'";

/// Makes the calls.
pub(super) async fn batch(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    let mut params = Object::new().with("calls", calls(desk)?);
    let stops = match text(matches, "stop-on-error").as_deref() {
        _ if switch(matches, "no-stop-on-error") => Some(false),
        Some("false" | "no" | "0") => Some(false),
        Some("true" | "yes" | "1") => Some(true),
        Some(other) => {
            return Err(Failure::usage(format!(
                "`--stop-on-error` was `{other}`, expected true or false"
            )));
        }
        None => None,
    };
    if let Some(stops) = stops {
        params.set("stopOnError", stops);
    }
    if switch(matches, "parallel") {
        params.set("parallel", true);
    }
    if let Some(session) = text(matches, "session") {
        params.set("session", session);
    }
    let document = desk.hub()?.ask(Op::Batch, &params).await?.json()?;
    let whole = document.object().unwrap_or_default();
    let failed = whole.get("failed").and_then(Raw::integer).unwrap_or(0);
    let exit = if failed > 0 { Exit::Failed } else { Exit::Ok };
    if desk.printer.json {
        desk.printer.document(&document)?;
        return Ok(exit);
    }
    let mut table = Table::new(["#", "TOOL", "STATUS", "RESULT"]).keeping(1);
    for row in members(whole.get("results")) {
        let cell = |name: &str| row.get(name).map(scalar).unwrap_or_default();
        let server = cell("server");
        let tool = cell("tool");
        let tool = if server.is_empty() || tool.contains('.') {
            tool
        } else {
            format!("{server}.{tool}")
        };
        let result = match row.object("result") {
            Some(result) => CallResult::parse(result)
                .map(|result| blocks::shown(&result, false))
                .unwrap_or_default(),
            None => cell("error"),
        };
        let result = untrusted_text::terminal::one_line(&result, SHOWN);
        table.row([cell("index"), tool, cell("status"), result]);
    }
    if table.is_empty() {
        desk.printer.note("there are no calls");
        return Ok(exit);
    }
    desk.printer.painted(&table.lines(desk.printer))?;
    Ok(exit)
}

/// The calls: from `-c`, `--file`, a positional, or stdin.
fn calls(desk: &Desk<'_>) -> Result<Raw, Failure> {
    let matches = &desk.typed.matches;
    let typed = text(matches, "calls");
    let json = if let Some(json) = text(matches, "calls-json") {
        json
    } else if let Some(file) = text(matches, "file") {
        files::text_of(Path::new(&file))?
    } else {
        match typed.as_deref() {
            Some(json) if json.trim_start().starts_with(['[', '{']) => json.to_owned(),
            Some(file) if !file.starts_with('@') && file != "-" => files::text_of(Path::new(file))?,
            Some(named) => files::text_or_file(named)?,
            None => {
                return Err(Failure::usage("`mcpx batch` needs the calls")
                    .hint(format!("such as {EXAMPLE}, a file, or `-` for stdin")));
            }
        }
    };
    let raw = arguments::json(&json, "the calls", EXAMPLE)?;
    match raw.kind() {
        Kind::Array => Ok(raw),
        // What the body of `/v1/batch` looks like.
        Kind::Object => match raw
            .object()
            .ok()
            .and_then(|object| object.get("calls").cloned())
        {
            Some(calls) => Ok(calls),
            None => Ok(Raw::of(&[raw])),
        },
        kind => Err(Failure::usage(format!(
            "the calls were {}, expected a list of objects, each with `tool` and `args`",
            kind.word()
        ))),
    }
}
