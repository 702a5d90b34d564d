//! What a probe found, as lines for a person. The printer makes foreign text safe for a terminal.

use std::fmt::Write as _;

use mcp_wire::content::Block;
use mcp_wire::{CallResult, Era, Hints, Tool};

use super::Found;

/// Longest description that is shown of a tool, in characters.
const DESCRIPTION: usize = 100;

/// Returns the lines.
pub(super) fn text(found: &Found) -> String {
    let agreed = found.connection.agreed();
    let mut out = String::new();
    let server = agreed.server_info.as_ref();
    let name = server.map_or("a server that does not say its name", |info| {
        info.name.as_str()
    });
    let version = server.map_or("", |info| info.version.as_str());
    line(&mut out, format!("{name} {version}").trim_end());
    line(
        &mut out,
        &format!("  reached as    {}", found.connection.label().resolved),
    );
    let begun = match found.connection.era() {
        Era::Legacy => "begins with initialize",
        Era::Modern => "each request by itself",
    };
    line(
        &mut out,
        &format!(
            "  era           {} ({}; {begun})",
            found.connection.era(),
            agreed.revision
        ),
    );
    line(
        &mut out,
        &format!("  connected in  {} ms", found.took.as_millis()),
    );
    let capabilities = agreed
        .capabilities
        .raw()
        .iter()
        .map(|(name, _)| name)
        .collect::<Vec<_>>()
        .join(", ");
    let capabilities = if capabilities.is_empty() {
        "none"
    } else {
        &capabilities
    };
    line(&mut out, &format!("  capabilities  {capabilities}"));
    for (word, list) in [
        ("resources", &found.lists.resources),
        ("prompts", &found.lists.prompts),
    ] {
        match list {
            None => {}
            Some(Ok(count)) => line(&mut out, &format!("  {word:<12}  {count}")),
            Some(Err(failure)) => line(&mut out, &format!("  {word:<12}  not listed: {failure}")),
        }
    }
    if let Some(instructions) = &agreed.instructions {
        line(
            &mut out,
            &format!("  instructions  {}", first_line(instructions)),
        );
    }
    tools(&mut out, found);
    if let Some((tool, Ok(result))) = &found.called {
        called(&mut out, tool, result);
    }
    out.trim_end().to_owned()
}

fn tools(out: &mut String, found: &Found) {
    match &found.lists.tools {
        None => line(out, "\nno tools are offered"),
        Some(Err(failure)) => line(out, &format!("\nthe tools could not be listed: {failure}")),
        Some(Ok(listed)) => {
            line(out, &format!("\ntools ({})", listed.elements.len()));
            for tool in &listed.elements {
                one_tool(out, tool);
            }
            for aside in &listed.set_aside {
                let name = aside.name.as_deref().unwrap_or("without a name");
                line(out, &format!("  set aside: {name}: {}", aside.reason));
            }
            if let Some(cut) = &listed.cut {
                line(out, &format!("  the list was cut: {cut}"));
            }
        }
    }
}

fn one_tool(out: &mut String, tool: &Tool) {
    let description = tool
        .description()
        .map(|text| first_line(&text))
        .unwrap_or_default();
    line(out, &format!("  {}  [{}]", tool.name, claims(tool.hints())));
    if !description.is_empty() {
        line(out, &format!("    {description}"));
    }
}

/// What a tool claims about itself, in a word or two.
fn claims(hints: Hints) -> &'static str {
    match (hints.read_only, hints.destructive, hints.idempotent) {
        (true, ..) => "read-only",
        (false, true, true) => "may destroy, may be repeated",
        (false, true, false) => "may destroy",
        (false, false, true) => "changes, may be repeated",
        (false, false, false) => "changes",
    }
}

fn called(out: &mut String, tool: &str, result: &CallResult) {
    let failed = if result.is_error {
        " said that it failed"
    } else {
        " answered"
    };
    line(out, &format!("\n{tool}{failed}"));
    for block in &result.content {
        match block {
            Ok(content) => line(out, &shown(&content.block)),
            Err(error) => line(out, &format!("[a block that cannot be read: {error}]")),
        }
    }
    if let Some(structured) = &result.structured {
        line(out, &format!("structured: {structured}"));
    }
}

fn shown(block: &Block) -> String {
    match block {
        Block::Text(text) => text.clone(),
        Block::Image { media_type, bytes } => {
            format!("[image, {media_type}, {} bytes]", bytes.len())
        }
        Block::Audio { media_type, bytes } => {
            format!("[audio, {media_type}, {} bytes]", bytes.len())
        }
        Block::Link { uri, .. } => format!("[resource {uri}]"),
        Block::ResourceText { uri, text, .. } => format!("[resource {uri}]\n{text}"),
        Block::ResourceBytes { uri, bytes, .. } => {
            format!("[resource {uri}, {} bytes]", bytes.len())
        }
        Block::Unknown { kind } => {
            format!("[content of the type {kind:?}, which this build does not know]")
        }
    }
}

fn first_line(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let mut short: String = line.chars().take(DESCRIPTION).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

fn line(out: &mut String, text: &str) {
    // Writing to a text cannot fail.
    let _ = writeln!(out, "{text}");
}
