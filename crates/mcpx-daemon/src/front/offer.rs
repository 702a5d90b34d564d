//! What a front says of itself: capabilities, name, instructions.

use mcp_server::Offer;
use mcp_wire::capability::TASKS_EXTENSION;
use mcp_wire::{Implementation, Object, Raw, ServerCapabilities};

use super::Kind;
use super::surface::Surface;
use crate::hub::Hub;

/// What is offered: of the one server there is what it declared, as far as it can be passed on; else all of it.
pub(super) fn offer(hub: &Hub, kind: &Kind) -> Offer {
    let surface = Surface::new(hub, kind);
    let info = surface
        .info()
        .and_then(|info| Implementation::parse(&Raw::from(info)).ok())
        .unwrap_or_else(|| Implementation::new("mcpx", &hub.identity.version));
    let capabilities = match surface.declared() {
        Some(declared) => narrowed(&declared),
        None => everything(!kind.passthrough.is_empty()),
    };
    let mut offer = Offer::new(info, capabilities);
    offer.instructions = surface.instructions();
    offer
}

/// The hub's own tools never change; those of servers do.
fn everything(tools_change: bool) -> ServerCapabilities {
    let lists = || Object::new().with("listChanged", true);
    let tools = if tools_change { lists() } else { Object::new() };
    ServerCapabilities::default()
        .with("tools", tools)
        .with("prompts", lists())
        .with("resources", lists().with("subscribe", true))
        .with("completions", Object::new())
        .with("logging", Object::new())
        .with("extensions", tasks())
}

fn tasks() -> Object {
    Object::new().with(TASKS_EXTENSION, Object::new())
}

/// What can be passed on of what a server declared.
fn narrowed(declared: &ServerCapabilities) -> ServerCapabilities {
    let mut capabilities = ServerCapabilities::default();
    for name in ["tools", "prompts", "resources", "completions", "logging"] {
        if let Some(value) = declared.raw().get(name) {
            capabilities = capabilities.with(name, value.clone());
        }
    }
    if declared.has("tasks") || declared.extension(TASKS_EXTENSION) {
        capabilities = capabilities.with("extensions", tasks());
    }
    capabilities
}
