//! `mcpx events`: what happens, as it happens.

use mcp_wire::{Object, Raw};
use mcpx_api::{Op, operation};
use mcpx_config::settings::key;
use untrusted_text::terminal::one_line;

use super::Desk;
use crate::args::from_table::params;
use crate::exit::{Exit, Failure};
use crate::printer::escape_json;
use crate::render::scalar;

/// Prints events until Ctrl-C; a stream that breaks is taken up again where it broke.
pub(super) async fn events(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let mut params = params(
        operation(Op::Events),
        &desk.typed.matches,
        &desk.config.settings,
    )?;
    let hub = desk.hub()?;
    let pause = desk.config.settings.duration(key::EVENTS_RECONNECT);
    loop {
        let mut stream = hub.stream(Op::Events, &params).await?;
        // A stream that ends is a daemon that ends; one that breaks may come back.
        while let Ok(Some(event)) = stream.next().await {
            if let Some(id) = event.id.as_deref().and_then(|id| id.parse::<i64>().ok()) {
                params.set("since", id);
            }
            let line = line(desk, event.kind.as_deref(), &event.data);
            if !desk.printer.streamed(line.as_bytes())? {
                return Ok(Exit::Ok);
            }
        }
        desk.printer
            .note("note: the stream ended; looking for it again");
        tokio::time::sleep(pause).await;
    }
}

/// An event as a line; its document with `--json`. Safe to print.
fn line(desk: &Desk<'_>, kind: Option<&str>, data: &str) -> String {
    let document = Raw::parse(data).unwrap_or_else(|_| Raw::from(data));
    if desk.printer.json {
        return format!("{}\n", escape_json(document.as_str()));
    }
    let object = document.object().unwrap_or_default();
    let cell = |object: &Object, name: &str| object.get(name).map(scalar).unwrap_or_default();
    let kind = kind.map_or_else(|| cell(&object, "kind"), str::to_owned);
    let rest: Vec<String> = object
        .iter()
        .filter(|(name, value)| !matches!(*name, "kind" | "server") && !value.is_null())
        .map(|(name, value)| format!("{name}={}", scalar(value)))
        .collect();
    let server = cell(&object, "server");
    let line = format!("{kind}  {server}  {}", rest.join(" "));
    format!("{}\n", one_line(&line, 8_000))
}
