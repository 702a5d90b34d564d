//! The service of the demo: what is offered, and which file answers what.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use mcp_server::{Context, Incoming, Level, Notifier, Offer, Reply, Service};
use mcp_wire::content::Content;
use mcp_wire::{
    CallResult, Era, Implementation, Object, Raw, RpcError, ServerCapabilities, method,
};
use serde_json::{Value, json};

use super::issues::{Issue, Issues, Query, REPOS};
use super::{arguments, asking, reading, schemas, trouble};

/// The demo server.
pub(super) struct Demo {
    offer: Arc<Offer>,
    notifier: Notifier,
    issues: Issues,
    is_changed: AtomicBool,
    has_failed: AtomicBool,
}

impl Demo {
    /// Announces changes with `notifier`. Speaks every revision of `era`, or of both.
    pub(super) fn new(era: Option<Era>, is_changed: bool, notifier: Notifier) -> Self {
        let capabilities = json!({
            "tools": {"listChanged": true},
            "resources": {"subscribe": true},
            "prompts": {},
            "completions": {},
            "logging": {}
        });
        let capabilities = Raw::from(capabilities).object().unwrap_or_default();
        let info = Implementation::new("mcpx-demo", env!("CARGO_PKG_VERSION"));
        let mut offer = Offer::new(info, ServerCapabilities::from(capabilities));
        offer.instructions =
            Some("A small issue tracker to try things with. Nothing is kept.".to_owned());
        if let Some(era) = era {
            offer.revisions.retain(|revision| revision.era() == era);
        }
        Self {
            offer: Arc::new(offer),
            notifier,
            issues: Issues::default(),
            is_changed: AtomicBool::new(is_changed),
            has_failed: AtomicBool::new(false),
        }
    }

    fn is_changed(&self) -> bool {
        self.is_changed.load(Ordering::Relaxed)
    }

    async fn call(&self, incoming: Incoming, context: Context) -> Result<Reply, RpcError> {
        let name = incoming.params.string("name").unwrap_or_default();
        let sent = incoming.params.object("arguments").unwrap_or_default();
        self.reject_strangers(&name, &sent)?;
        match name.as_str() {
            "echo" => self.echo(&sent),
            "search" => self.search(&sent),
            "create_issue" => self.create_issue(&sent, &context),
            "close_issue" => self.close_issue(&sent, &context),
            "slow" => trouble::slow(&sent, &context).await,
            "ask" => asking::ask(&incoming),
            "sign_in" => asking::sign_in(&incoming),
            "big" => trouble::big(&sent),
            "flaky" => trouble::flaky(&sent, &self.has_failed),
            "change_schema" => self.change_schema(&sent),
            _ => Err(RpcError::invalid_params(format!("Unknown tool: {name}"))),
        }
    }

    /// The schemas take no argument that they do not name, and so does the server.
    fn reject_strangers(&self, tool: &str, sent: &Object) -> Result<(), RpcError> {
        let schema =
            schemas::input(tool, self.is_changed()).and_then(|schema| schema.object().ok());
        let Some(properties) = schema.and_then(|schema| schema.object("properties")) else {
            return Ok(());
        };
        match sent.iter().find(|(name, _)| !properties.contains(name)) {
            Some((name, _)) => Err(RpcError::invalid_params(format!(
                "Invalid params: `{name}` is not an argument of `{tool}`"
            ))),
            None => Ok(()),
        }
    }

    fn echo(&self, sent: &Object) -> Result<Reply, RpcError> {
        let message = if self.is_changed() {
            arguments::text(sent, "message")?
        } else {
            arguments::optional_text(sent, "message")?.unwrap_or_default()
        };
        Ok(Reply::tool(CallResult::text(&message, false)))
    }

    fn search(&self, sent: &Object) -> Result<Reply, RpcError> {
        let limit = arguments::optional_whole(sent, "limit", 1..=100)?.unwrap_or(20);
        let older = arguments::optional_whole(sent, "olderThanDays", 0..=i64::MAX)?;
        let query = Query {
            words: arguments::optional_text(sent, "query")?.unwrap_or_default(),
            repo: arguments::optional_text(sent, "repo")?,
            older_than_days: older.unwrap_or(0),
        };
        let found = self.issues.search(&query);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let shown: Vec<Value> = found.iter().take(limit).map(Issue::to_value).collect();
        Ok(structured(json!({"issues": shown, "total": found.len()})))
    }

    fn create_issue(&self, sent: &Object, context: &Context) -> Result<Reply, RpcError> {
        let title = arguments::text(sent, "title")?;
        if title.is_empty() {
            return Err(RpcError::invalid_params(
                "Invalid params: `title` must not be empty",
            ));
        }
        let repo = if self.is_changed() {
            arguments::text(sent, "repo")?
        } else {
            REPOS[0].to_owned()
        };
        let body = arguments::optional_text(sent, "body")?.unwrap_or_default();
        let labels = arguments::texts(sent, "labels")?;
        let Some(issue) = self.issues.create(repo, title, body, labels) else {
            return Ok(failed("There are too many issues; start the demo anew."));
        };
        let line = format!("created issue {}", issue.id);
        context.log(Level::Info, Some("issues"), line.as_str());
        Ok(structured(issue.to_value()))
    }

    fn close_issue(&self, sent: &Object, context: &Context) -> Result<Reply, RpcError> {
        let id = arguments::whole(sent, "id", 1..=i64::MAX)?;
        let Some(issue) = self.issues.close(id) else {
            return Ok(failed(&format!(
                "There is no issue {id}; `search` lists those there are."
            )));
        };
        let line = format!("closed issue {id}");
        context.log(Level::Info, Some("issues"), line.as_str());
        self.notifier.resource_updated(&issue.uri());
        Ok(structured(issue.to_value()))
    }

    fn change_schema(&self, sent: &Object) -> Result<Reply, RpcError> {
        let changed = arguments::optional_switch(sent, "changed")?.unwrap_or(true);
        let was = self.is_changed.swap(changed, Ordering::Relaxed);
        if was != changed {
            self.notifier.tools_changed();
        }
        let set = if changed { "second" } else { "first" };
        let text = format!("The tools have the {set} set of schemas.");
        Ok(Reply::tool(CallResult::text(&text, false)))
    }
}

/// A structured result, and the same as text for clients that read no other.
fn structured(value: Value) -> Reply {
    let raw = Raw::from(value);
    let content = vec![Content::text(raw.as_str())];
    Reply::tool(CallResult::new(content, Some(raw), false))
}

fn failed(text: &str) -> Reply {
    Reply::tool(CallResult::text(text, true))
}

fn page(member: &str, elements: Vec<Value>) -> Reply {
    Reply::complete(Object::new().with(member, Raw::from(Value::Array(elements))))
}

#[async_trait]
impl Service for Demo {
    fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer)
    }

    async fn handle(&self, incoming: Incoming, context: Context) -> Result<Reply, RpcError> {
        match incoming.method.as_str() {
            method::TOOLS_LIST => Ok(page("tools", schemas::tools(self.is_changed()))),
            method::TOOLS_CALL => self.call(incoming, context).await,
            method::RESOURCES_LIST => Ok(page("resources", reading::resources())),
            method::RESOURCE_TEMPLATES_LIST => Ok(page("resourceTemplates", reading::templates())),
            method::RESOURCES_READ => reading::read(&incoming.params, &self.issues),
            method::PROMPTS_LIST => Ok(page("prompts", reading::prompts())),
            method::PROMPTS_GET => reading::prompt(&incoming.params, &self.issues),
            method::COMPLETE => Ok(reading::complete(&incoming.params, &self.issues)),
            other => Err(RpcError::method_not_found(other)),
        }
    }

    async fn input_schema(&self, tool: &str, _context: &Context) -> Option<Raw> {
        schemas::input(tool, self.is_changed())
    }
}
