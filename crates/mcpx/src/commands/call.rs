//! `mcpx call`: one tool, its result on stdout.

pub(super) mod arguments;
mod blocks;

use std::path::Path;

use mcp_wire::{CallResult, Object, Raw};
use mcpx_api::Op;
use mcpx_config::settings::parse_duration;

use self::arguments::{Arguments, Schema};
use super::Desk;
use super::from_table::members;
use crate::args::from_table::{switch, text, texts};
use crate::exit::{Exit, Failure};
use crate::ladder::Hub;

/// Calls one tool.
pub(super) async fn call(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    let tool = text(matches, "tool").unwrap_or_default();
    let typed = arguments::read(&texts(matches, "arguments"))?;
    let mut params = Object::new().with("tool", tool.as_str());
    let time = |id: &str| match text(matches, id).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => parse_duration(&text)
            .map(|time| i64::try_from(time.as_millis()).ok())
            .map_err(|error| Failure::usage(format!("`--{id}`: {error}"))),
    };
    if let Some(ms) = time("timeout")? {
        params.set("timeoutMs", ms);
    }
    if text(matches, "task").is_some() {
        params.set("task", Object::new().with_some("ttlMs", time("task")?));
    }
    if switch(matches, "raw") || text(matches, "out").is_some() {
        params.set("raw", true);
    }
    if let Some(session) = text(matches, "session") {
        params.set("session", session);
    }
    let hub = desk.hub()?;
    let arguments = match typed {
        Arguments::Whole(object) => object,
        Arguments::Pairs(pairs) => {
            let schema = if pairs.iter().any(|pair| pair.needs_schema()) {
                schema_of(&hub, &tool).await?
            } else {
                Schema::unknown()
            };
            arguments::by_schema(&pairs, &schema)?
        }
    };
    params.set("args", arguments);
    let answer = hub.ask(Op::Call, &params).await?;
    shown(desk, &object(&answer.json()?)?)
}

/// What the tool's schema says of its properties. A tool that is not there is told as the call would tell it.
async fn schema_of(hub: &Hub<'_>, tool: &str) -> Result<Schema, Failure> {
    let params = Object::new().with("ns", Raw::of(&[tool]));
    let answer = hub.ask(Op::Tools, &params).await?;
    let tools = members(Some(&answer.json()?));
    Ok(match tools.as_slice() {
        [one] => Schema::of(one.get("inputSchema")),
        _ => Schema::unknown(),
    })
}

/// `mcpx task result`: what the call would have printed.
pub(super) async fn task_result(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let operation = mcpx_api::operation(Op::TaskResult);
    let params =
        crate::args::from_table::params(operation, &desk.typed.matches, &desk.config.settings)?;
    let answer = desk.hub()?.ask(Op::TaskResult, &params).await?;
    shown(desk, &object(&answer.json()?)?)
}

pub(super) fn object(raw: &Raw) -> Result<Object, Failure> {
    raw.object()
        .map_err(|error| Failure::failed(error.to_string()))
}

/// Prints what a call answered.
pub(super) fn shown(desk: &Desk<'_>, document: &Object) -> Result<Exit, Failure> {
    let printer = desk.printer;
    let result = document.object("result");
    let is_error = result
        .as_ref()
        .and_then(|result| result.get("isError"))
        .and_then(Raw::boolean)
        .unwrap_or(false);
    let exit = match &result {
        Some(_) if is_error => Exit::Failed,
        Some(_) => Exit::Ok,
        None if document.contains("task") || document.contains("inputRequired") => Exit::Waiting,
        None => Exit::Ok,
    };
    // A task that was asked for is what was asked for.
    let exit = match exit {
        Exit::Waiting if text(&desk.typed.matches, "task").is_some() => Exit::Ok,
        exit => exit,
    };
    let out = text(&desk.typed.matches, "out");
    if let (Some(path), Some(result)) = (&out, &result) {
        let written = blocks::write(&parsed(result)?, Path::new(path))?;
        for line in &written {
            printer.note(line);
        }
    }
    if printer.json {
        printer.document(&Raw::from(document.clone()))?;
        return Ok(exit);
    }
    let Some(result) = result else {
        waiting(desk, document)?;
        return Ok(exit);
    };
    if switch(&desk.typed.matches, "raw") {
        printer.result(Raw::from(result.clone()).as_str())?;
    } else if out.is_none() || is_error {
        let text = blocks::shown(&parsed(&result)?, printer.width.is_some());
        if is_error && text.trim().is_empty() {
            printer.note("error: the tool failed and said nothing");
        }
        printer.result(&text)?;
    }
    if let Some(kept) = result
        .object("_meta")
        .and_then(|meta| meta.object("dev.mcpx/result"))
        && let (Some(handle), Some(bytes)) = (
            kept.string("handle"),
            kept.get("bytes").and_then(Raw::integer),
        )
    {
        printer.note(&format!(
            "note: the result has {bytes} bytes and was put aside\nhint: read it in pieces: `mcpx read {handle}`; whole: `mcpx call --raw …`, or `-o FILE`"
        ));
    }
    told_findings(desk, document);
    Ok(exit)
}

fn parsed(result: &Object) -> Result<CallResult, Failure> {
    CallResult::parse(result.clone()).map_err(|error| Failure::failed(error.to_string()))
}

/// A call that is not over.
fn waiting(desk: &Desk<'_>, document: &Object) -> Result<(), Failure> {
    if let Some(task) = document.object("task") {
        let id = task
            .string("id")
            .or_else(|| task.string("taskId"))
            .unwrap_or_default();
        desk.printer.result(&id)?;
        desk.printer
            .note(&format!("hint: its result: `mcpx task result {id}`"));
        return Ok(());
    }
    desk.printer.result(Raw::from(document.clone()).as_str())?;
    desk.printer
        .note("note: the server waits for an answer before it goes on");
    Ok(())
}

/// What is known about why a call was wrong, behind what the server said itself.
fn told_findings(desk: &Desk<'_>, document: &Object) {
    let findings = members(document.get("diagnostics"));
    let mut fixes: Vec<String> = Vec::new();
    for finding in &findings {
        if let Some(message) = finding.string("message") {
            desk.printer.note(&message);
        }
        if let Some(fix) = finding.string("fix")
            && !fixes.contains(&fix)
        {
            fixes.push(fix);
        }
    }
    for fix in fixes {
        desk.printer
            .note(&format!("hint: a call that works: {fix}"));
    }
}
