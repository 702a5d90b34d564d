//! `mcpx tool`, `resources read`, `prompts get`, `complete`: requests whose parameters people type in their own way.

use std::path::Path;

use mcp_wire::content::{Block, resource as read_resource};
use mcp_wire::{Object, Raw};
use mcpx_api::{Op, operations};
use untrusted_text::terminal::one_line;

use super::Desk;
use super::call::{self, arguments};
use super::from_table::{members, pretty};
use crate::args::from_table::{text, texts};
use crate::args::nearest::{did_you_mean, nearest};
use crate::exit::{Exit, Failure};
use crate::files;

/// Calls one of the hub's own MCP tools.
pub(super) async fn tool(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    let arguments = match arguments::read(&texts(matches, "arguments"))? {
        arguments::Arguments::Whole(object) => object,
        arguments::Arguments::Pairs(pairs) => {
            arguments::by_schema(&pairs, &arguments::Schema::unknown())?
        }
        arguments::Arguments::Listed(values) => {
            arguments::by_order(values, &arguments::Schema::unknown())?
        }
    };
    let tool = text(matches, "tool").unwrap_or_default();
    let known: Vec<&str> = operations::all()
        .filter_map(|operation| operation.tool)
        .collect();
    if !known.contains(&tool.as_str()) {
        let near = nearest(&tool, known.iter().copied());
        let failure = Failure::usage(format!(
            "the hub has no tool of its own `{}`",
            one_line(&tool, 120)
        ));
        return Err(failure.hint(
            did_you_mean(&near)
                .unwrap_or_else(|| "those of servers are called by `mcpx call`".to_owned()),
        ));
    }
    let params = Object::new()
        .with("tool", tool)
        .with("arguments", arguments);
    let answer = desk.hub()?.ask(Op::ToolInvoke, &params).await?;
    if answer.media_type.starts_with("text/") || answer.media_type.ends_with("typescript") {
        if desk.printer.json {
            let document = Object::new()
                .with("text", answer.text())
                .with("mediaType", answer.media_type.as_str());
            desk.printer.document(&Raw::from(document))?;
        } else {
            desk.printer.result(&answer.text())?;
        }
        return Ok(Exit::Ok);
    }
    let document = answer.json()?;
    match document.object() {
        Ok(object) if object.contains("result") => call::shown(desk, &object),
        _ => {
            if desk.printer.json {
                desk.printer.document(&document)?;
            } else {
                desk.printer.result(&pretty(&document))?;
            }
            Ok(Exit::Ok)
        }
    }
}

/// `before` and `after` the first `separator`, neither empty.
fn halves<'a>(
    typed: &'a str,
    separator: char,
    example: &str,
) -> Result<(&'a str, &'a str), Failure> {
    typed
        .split_once(separator)
        .filter(|(before, after)| !before.is_empty() && !after.is_empty())
        .ok_or_else(|| {
            Failure::usage(format!(
                "`{}` names no server, expected it as `{example}`",
                one_line(typed, 200)
            ))
        })
}

/// A refusal of the server with where to look, when nothing better is known.
fn looking(failure: Failure, command: &str, server: &str) -> Failure {
    let is_answered = failure.error.data.string("delivery").as_deref() == Some("answered");
    if !is_answered || failure.error.hint.is_some() {
        return failure;
    }
    failure.hint(format!(
        "`mcpx {command} {}` shows what there is",
        one_line(server, 120)
    ))
}

/// Reads a resource.
pub(super) async fn resource(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    let typed = text(matches, "uri").unwrap_or_default();
    let (server, uri) = halves(&typed, '/', "namespace/uri")?;
    if server.ends_with(':') && uri.starts_with('/') {
        return Err(Failure::usage(format!(
            "`{}` names no server, expected it as `namespace/uri`",
            one_line(&typed, 200)
        ))
        .hint("`mcpx resources` shows both"));
    }
    let params = Object::new()
        .with("server", server)
        .with("uri", uri)
        .with_some("session", text(matches, "session"));
    let answer = desk.hub()?.ask(Op::ResourceRead, &params).await;
    let answer = answer.map_err(|failure| looking(failure, "resources", server))?;
    let document = call::object(&answer.json()?)?;
    let contents = members(
        document
            .object("result")
            .and_then(|result| result.get("contents").cloned())
            .as_ref(),
    );
    let blocks: Vec<Block> = contents
        .iter()
        .map(read_resource)
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::failed(format!("the resource cannot be read: {error}")))?;
    if let Some(path) = text(matches, "out") {
        let mut all = Vec::new();
        for block in &blocks {
            match block {
                Block::ResourceText { text, .. } => all.extend_from_slice(text.as_bytes()),
                Block::ResourceBytes { bytes, .. } => all.extend_from_slice(bytes),
                _ => {}
            }
        }
        files::write(Path::new(&path), &all)?;
        desk.printer.note(&format!("{path}: {} bytes", all.len()));
    }
    if desk.printer.json {
        desk.printer.document(&Raw::from(document))?;
        return Ok(Exit::Ok);
    }
    if text(matches, "out").is_some() {
        return Ok(Exit::Ok);
    }
    if blocks.is_empty() {
        return call::shown(desk, &document);
    }
    for block in blocks {
        match block {
            Block::ResourceText { text, .. } => desk.printer.result(&text)?,
            Block::ResourceBytes {
                media_type, bytes, ..
            } => {
                let kind = media_type.unwrap_or_else(|| "unknown type".to_owned());
                desk.printer.result(&format!(
                    "[{}, {} bytes; `-o FILE` writes them]",
                    one_line(&kind, 80),
                    bytes.len()
                ))?;
            }
            _ => {}
        }
    }
    Ok(Exit::Ok)
}

/// Renders a prompt.
pub(super) async fn prompt(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    let typed = text(matches, "prompt").unwrap_or_default();
    let (server, name) = halves(&typed, '.', "namespace.prompt")?;
    let params = Object::new()
        .with("server", server)
        .with("name", name)
        .with("arguments", plain_arguments(&texts(matches, "arguments"))?)
        .with_some("session", text(matches, "session"));
    let answer = desk.hub()?.ask(Op::PromptGet, &params).await;
    let answer = answer.map_err(|failure| looking(failure, "prompts", server))?;
    let document = call::object(&answer.json()?)?;
    let result = document.object("result");
    if desk.printer.json || result.is_none() {
        return call::shown(desk, &document);
    }
    let messages = result.and_then(|result| result.get("messages").cloned());
    for (at, message) in members(messages.as_ref()).iter().enumerate() {
        let between = if at == 0 { "" } else { "\n" };
        let role = message.string("role").unwrap_or_default();
        let content = message.object("content").unwrap_or_default();
        let text = content
            .string("text")
            .unwrap_or_else(|| Raw::from(content.clone()).as_str().to_owned());
        desk.printer
            .result(&format!("{between}{}:\n{text}", one_line(&role, 40)))?;
    }
    Ok(Exit::Ok)
}

/// Completes an argument.
pub(super) async fn complete(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    let typed = text(matches, "reference").unwrap_or_default();
    let is_resource = typed
        .find(['/', '.'])
        .is_some_and(|at| typed[at..].starts_with('/'));
    let (server, reference) = if is_resource {
        let (server, uri) = halves(&typed, '/', "namespace/uri-template")?;
        (
            server,
            Object::new().with("type", "ref/resource").with("uri", uri),
        )
    } else {
        let (server, name) = halves(&typed, '.', "namespace.prompt")?;
        (
            server,
            Object::new().with("type", "ref/prompt").with("name", name),
        )
    };
    let argument = text(matches, "argument").unwrap_or_default();
    let (name, value) = argument.split_once('=').unwrap_or((argument.as_str(), ""));
    let mut params = Object::new()
        .with("server", server)
        .with("ref", reference)
        .with(
            "argument",
            Object::new().with("name", name).with("value", value),
        );
    let filled = plain_arguments(&texts(matches, "arguments"))?;
    if !filled.is_empty() {
        params.set("arguments", filled);
    }
    let answer = desk.hub()?.ask(Op::Complete, &params).await?;
    let document = call::object(&answer.json()?)?;
    if desk.printer.json {
        desk.printer.document(&Raw::from(document))?;
        return Ok(Exit::Ok);
    }
    let values = document
        .object("result")
        .and_then(|result| result.object("completion"))
        .and_then(|completion| completion.get("values").cloned())
        .and_then(|values| values.read::<Vec<String>>().ok())
        .unwrap_or_default();
    for value in values {
        desk.printer.result(&value)?;
    }
    Ok(Exit::Ok)
}

/// Arguments that are all text, as prompts want them.
fn plain_arguments(words: &[String]) -> Result<Object, Failure> {
    if let [one] = words
        && one.trim_start().starts_with(['{', '@', '-'])
    {
        return arguments::object(&files::text_or_file(one)?);
    }
    let mut object = Object::new();
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            Failure::usage(format!("`{}` is no `key=value`", one_line(word, 120)))
        })?;
        object.set(name, value);
    }
    Ok(object)
}
