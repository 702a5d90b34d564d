//! `mcpx call`: one tool, its result on stdout.

pub(super) mod arguments;
pub(super) mod blocks;

use std::path::Path;

use mcp_wire::{CallResult, Object, Raw};
use mcpx_api::Op;
use mcpx_config::settings::parse_duration;
use untrusted_text::terminal::one_line;

use self::arguments::{Arguments, Between, Schema};
use super::Desk;
use super::from_table::members;
use crate::args::from_table::{switch, text, texts};
use crate::args::nearest::did_you_mean;
use crate::exit::{Exit, Failure};
use crate::ladder::Hub;

/// Calls one tool.
pub(super) async fn call(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    let typed_tool = text(matches, "tool").unwrap_or_default();
    let is_server = |name: &str| {
        let servers = desk.config.servers.values();
        servers
            .into_iter()
            .any(|server| server.name == name || server.namespace == name)
    };
    let words = texts(matches, "arguments");
    let (tool, typed) = wanted(&typed_tool, &words, &is_server)?;
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
    let mut strangers = Vec::new();
    let arguments = match typed {
        Arguments::Whole(object) => object,
        Arguments::Pairs(pairs) => {
            let schema = schema_of(&hub, &tool).await?;
            let object = arguments::by_schema(&pairs, &schema)?;
            strangers = schema.strangers(&object);
            object
        }
        Arguments::Listed(values) => arguments::by_order(values, &schema_of(&hub, &tool).await?)?,
    };
    params.set("args", arguments);
    let answer = hub.ask(Op::Call, &params).await?;
    let document = object(&answer.json()?)?;
    let exit = shown(desk, &document)?;
    if !desk.printer.json {
        told_target(desk, &tool, &document);
        // What the server refused was told already.
        if !document.contains("diagnostics") {
            told_strangers(desk, &tool, &strangers);
        }
    }
    Ok(exit)
}

/// Which tool is meant, and with what: `demo.echo` with words behind it, `demo echo` with words behind it, or a call as a
/// script writes it.
fn wanted(
    tool: &str,
    words: &[String],
    is_server: &dyn Fn(&str) -> bool,
) -> Result<(String, Arguments), Failure> {
    if let Some((tool, between)) = arguments::called(tool)? {
        let arguments = match between {
            Between::Named(object) => Arguments::Whole(object),
            Between::Listed(values) => Arguments::Listed(values),
        };
        return match words {
            [] => Ok((tool, arguments)),
            [word, ..] => Err(Failure::usage(format!(
                "the call has its arguments in brackets, and `{}` follows",
                one_line(word, 120)
            ))),
        };
    }
    match words {
        [name, rest @ ..] if is_tool(name) && (!tool.contains(['.', '/']) || is_server(tool)) => {
            wanted(&format!("{tool}.{name}"), rest, &|_| false)
        }
        words => Ok((tool.trim().to_owned(), arguments::read(words)?)),
    }
}

/// Whether a word behind a namespace is a tool: a name, or a call as a script writes it.
fn is_tool(word: &str) -> bool {
    let name = word.split('(').next().unwrap_or_default();
    let begins = name.starts_with(|char: char| char.is_alphabetic() || char == '_');
    let is_name = name
        .chars()
        .all(|char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | '/'));
    begins && is_name && Raw::parse(name).is_err()
}

/// Which server a bare name was taken from.
fn told_target(desk: &Desk<'_>, tool: &str, document: &Object) {
    if tool.contains(['.', '/']) {
        return;
    }
    if let (Some(server), Some(tool)) = (document.string("server"), document.string("tool")) {
        desk.printer
            .note(&format!("note: called `{server}.{tool}`"));
    }
}

/// Arguments that the schema does not have, and that the server took without a word.
fn told_strangers(desk: &Desk<'_>, tool: &str, strangers: &[(String, Vec<String>)]) {
    for (name, near) in strangers {
        let near: Vec<&str> = near.iter().map(String::as_str).collect();
        let meant = did_you_mean(&near)
            .map(|meant| format!("; {meant}"))
            .unwrap_or_default();
        desk.printer.note(&format!(
            "note: `{}` is sent, and the schema of `{tool}` does not have it{meant}",
            one_line(name, 120)
        ));
    }
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
        for line in &written.lines {
            printer.note(line);
        }
        if !printer.json && !is_error {
            printer.result(&written.beside)?;
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
        if blocks::has_bytes(&parsed(&result)?) {
            printer.note("hint: `-o FILE` writes what is no text");
        }
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
        let call = fix.strip_prefix("await ").unwrap_or(&fix);
        let shown = if call.contains('\'') {
            fix.clone()
        } else {
            format!("mcpx call '{call}'")
        };
        desk.printer
            .note(&format!("hint: a call that works: {shown}"));
    }
}
