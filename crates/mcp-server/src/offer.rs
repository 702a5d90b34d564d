//! What a server says about itself, and how each revision spells it.

use mcp_wire::capability::TASKS_EXTENSION;
use mcp_wire::page::CacheHint;
use mcp_wire::{Era, Implementation, Object, Raw, Revision, ServerCapabilities, meta, method};
use serde_json::Value;

/// What is offered, in the newest shape.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Name and version, for showing.
    pub info: Implementation,
    /// What a model should know about the server.
    pub instructions: Option<String>,
    /// As the modern era spells them: tasks are the extension, for every revision that has them.
    pub capabilities: ServerCapabilities,
    /// The revisions that are spoken, in any order.
    pub revisions: Vec<Revision>,
    /// How long a client may keep the answer to `server/discover`.
    pub cache: CacheHint,
    /// Whether the service keeps its own tasks: then `tasks/*` are requests like any other, and a complete result may
    /// be of the type `task`.
    pub keeps_tasks: bool,
}

impl Offer {
    /// An offer of every revision, with these capabilities.
    #[must_use]
    pub fn new(info: Implementation, capabilities: ServerCapabilities) -> Self {
        Self {
            info,
            instructions: None,
            capabilities,
            revisions: Revision::ALL.to_vec(),
            cache: CacheHint::NONE,
            keeps_tasks: false,
        }
    }

    /// The revisions of an era, newest first.
    #[must_use]
    pub fn of_era(&self, era: Era) -> Vec<Revision> {
        Revision::ALL
            .into_iter()
            .filter(|revision| revision.era() == era && self.revisions.contains(revision))
            .collect()
    }

    /// What a request with an unknown revision may be sent with instead.
    pub(crate) fn supported(&self) -> Vec<Revision> {
        let modern = self.of_era(Era::Modern);
        if modern.is_empty() {
            self.of_era(Era::Legacy)
        } else {
            modern
        }
    }

    pub(crate) fn tasks(&self) -> bool {
        self.capabilities.extension(TASKS_EXTENSION)
    }

    /// The result of `server/discover`.
    pub(crate) fn discovered(&self) -> Object {
        let versions = Revision::ALL
            .into_iter()
            .filter(|revision| self.revisions.contains(revision))
            .map(|revision| Value::from(revision.as_str()))
            .collect();
        let mut result = Object::new()
            .with("supportedVersions", Raw::from(Value::Array(versions)))
            .with("capabilities", self.capabilities.raw().clone())
            .with_some("instructions", self.instructions.as_deref())
            .with("resultType", "complete");
        self.cache.put(&mut result);
        meta::set(&mut result, meta::SERVER_INFO, self.info.raw().clone());
        result
    }

    /// The result of `initialize` for `revision`.
    pub(crate) fn initialized(&self, revision: Revision) -> Object {
        let mut capabilities = self.capabilities.raw().clone();
        capabilities.remove("extensions");
        if revision == Revision::V2025_11_25 && self.tasks() {
            let call = Object::new().with("call", Object::new());
            capabilities.set(
                "tasks",
                Object::new()
                    .with("list", Object::new())
                    .with("cancel", Object::new())
                    .with("requests", Object::new().with("tools", call)),
            );
        }
        if revision < Revision::V2025_03_26 {
            capabilities.remove("completions");
        }
        Object::new()
            .with("protocolVersion", revision.as_str())
            .with("capabilities", capabilities)
            .with("serverInfo", self.info.raw().clone())
            .with_some("instructions", self.instructions.as_deref())
    }

    /// Whether the capability that a method belongs to is offered. Methods of no capability are.
    pub(crate) fn allows(&self, method: &str) -> bool {
        let capability = match method {
            method::COMPLETE => "completions",
            method::SET_LEVEL => "logging",
            method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE => {
                return self.capabilities.switch("resources", "subscribe");
            }
            _ => match method.split_once('/').map(|(family, _)| family) {
                Some(family @ ("tools" | "prompts" | "resources")) => family,
                _ => return true,
            },
        };
        self.capabilities.has(capability)
    }
}
