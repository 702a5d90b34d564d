//! The service of the fixture: what is listed, and which file answers what.

#[path = "asking.rs"]
mod asking;
#[path = "plain.rs"]
mod plain;
#[path = "resources.rs"]
mod resources;
#[path = "tasks.rs"]
mod tasks;

use std::sync::Arc;

use async_trait::async_trait;
use mcp_server::{Context, Incoming, Notifier, Offer, Reply, Service};
use mcp_wire::page::{CacheHint, CacheScope};
use mcp_wire::{CallResult, Implementation, Object, Raw, RpcError, ServerCapabilities, method};
use serde_json::{Value, json};

/// Something of everything.
pub(crate) struct Everything {
    notifier: Notifier,
    offer: Arc<Offer>,
}

/// One tool: its name, its input schema, what else is in its description.
pub(crate) type Row = (&'static str, Value);

fn object(value: Value) -> Object {
    Raw::from(value).object().unwrap_or_default()
}

fn text(text: &str) -> Reply {
    Reply::tool(CallResult::text(text, false))
}

fn result(value: Value) -> Reply {
    Reply::complete(object(value))
}

/// A schema without properties.
fn nothing() -> Value {
    json!({"type": "object", "properties": {}})
}

impl Everything {
    /// Announces changes with `notifier`.
    pub(crate) fn new(notifier: Notifier) -> Self {
        let capabilities = object(json!({
            "tools": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
            "prompts": {"listChanged": true},
            "completions": {},
            "logging": {},
            "extensions": {"io.modelcontextprotocol/tasks": {}}
        }));
        let info = Implementation::new("everything", env!("CARGO_PKG_VERSION"));
        let mut offer = Offer::new(info, ServerCapabilities::from(capabilities));
        offer.instructions = Some("A fixture: every tool answers the same each time.".to_owned());
        Self {
            notifier,
            offer: Arc::new(offer),
        }
    }

    fn tools() -> Vec<Value> {
        let of_tasks = tasks::tools();
        let is_task = |name: &str| of_tasks.iter().any(|(task, _)| *task == name);
        [plain::tools(), asking::tools(), tasks::tools()]
            .into_iter()
            .flatten()
            .map(|(name, schema)| {
                let mut tool = json!({"name": name, "description": name.replace('_', " "), "inputSchema": schema});
                if is_task(name) {
                    tool["execution"] = json!({"taskSupport": "optional"});
                }
                tool
            })
            .collect()
    }

    async fn call(&self, incoming: Incoming, context: Context) -> Result<Reply, RpcError> {
        let name = incoming.params.string("name").unwrap_or_default();
        let arguments = incoming.params.object("arguments").unwrap_or_default();
        if let Some(reply) = plain::call(&self.notifier, &name, &arguments, &context).await {
            return reply;
        }
        if let Some(reply) = asking::call(&name, &arguments, &incoming, &context) {
            return reply;
        }
        if let Some(reply) = tasks::call(&name, &arguments, &incoming, &context) {
            return reply;
        }
        Err(RpcError::invalid_params(format!("no tool `{name}`")))
    }
}

fn page(member: &str, elements: Vec<Value>) -> Reply {
    Reply::Complete {
        result: Object::new().with(member, Raw::from(Value::Array(elements))),
        cache: Some(CacheHint {
            ttl_ms: 60_000,
            scope: CacheScope::Public,
        }),
    }
}

#[async_trait]
impl Service for Everything {
    fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer)
    }

    async fn handle(&self, incoming: Incoming, context: Context) -> Result<Reply, RpcError> {
        match incoming.method.as_str() {
            method::TOOLS_LIST => Ok(page("tools", Self::tools())),
            method::TOOLS_CALL => self.call(incoming, context).await,
            method::RESOURCES_LIST => Ok(page("resources", resources::list())),
            method::RESOURCE_TEMPLATES_LIST => {
                Ok(page("resourceTemplates", resources::templates()))
            }
            method::RESOURCES_READ => resources::read(&incoming.params),
            method::PROMPTS_LIST => Ok(page("prompts", resources::prompts())),
            method::PROMPTS_GET => match asking::prompt(&incoming) {
                Some(reply) => Ok(reply),
                None => resources::prompt(&incoming.params),
            },
            method::COMPLETE => Ok(result(
                json!({"completion": {"values": [], "total": 0, "hasMore": false}}),
            )),
            other => Err(RpcError::method_not_found(other)),
        }
    }

    async fn input_schema(&self, tool: &str, _context: &Context) -> Option<Raw> {
        Self::tools()
            .into_iter()
            .find(|row| row["name"] == tool)
            .map(|row| Raw::from(row["inputSchema"].clone()))
    }
}
