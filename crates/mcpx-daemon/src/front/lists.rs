//! The lists of a front, and telling its clients when they are not what they were.

use std::collections::HashMap;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use mcp_server::{Incoming, Reply};
use mcp_wire::page::{CacheHint, CacheScope};
use mcp_wire::{Object, Raw, RpcError, method};
use mcpx_config::settings::key;

use super::Front;
use super::finish::as_rpc;
use super::surface::Surface;
use crate::hub::Hub;

/// The lists of one moment, as digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lists {
    tools: u64,
    prompts: u64,
    resources: u64,
}

/// Which lists changed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Changed {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl Changed {
    fn add(&mut self, other: Self) {
        self.tools |= other.tools;
        self.prompts |= other.prompts;
        self.resources |= other.resources;
    }
}

/// What servers said to have changed.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// By the server, until it was read again: a client that came before would find the old list.
    unread: HashMap<String, Changed>,
    /// What clients can be told.
    read: Changed,
}

impl Front {
    pub(super) async fn list(
        &self,
        hub: &Arc<Hub>,
        incoming: &Incoming,
    ) -> Result<Reply, RpcError> {
        // All is on one page, so nobody was given a cursor.
        if incoming
            .params
            .get("cursor")
            .is_some_and(|raw| !raw.is_null())
        {
            return Err(RpcError::invalid_params(
                "`cursor` was given, and there is one page only",
            ));
        }
        self.read(hub).await.map_err(|error| as_rpc(&error))?;
        self.read_for_more(hub).await;
        let surface = Surface::new(hub, &self.kind);
        let (member, elements) = match incoming.method.as_str() {
            method::TOOLS_LIST => ("tools", surface.tools()),
            method::PROMPTS_LIST => ("prompts", surface.prompts()),
            method::RESOURCES_LIST => ("resources", surface.resources()),
            _ => ("resourceTemplates", surface.templates()),
        };
        Ok(Reply::Complete {
            result: Object::new().with(member, Raw::of(&elements)),
            cache: Some(kept_for(
                hub.settings().duration(key::PROTO_MESSAGES_LIST_MAX_AGE),
            )),
        })
    }

    /// Servers that are passed through may list more for a client that can more than those before; for a while that is
    /// waited for.
    async fn read_for_more(&self, hub: &Arc<Hub>) {
        let passed: Vec<_> = Surface::new(hub, &self.kind).passed().cloned().collect();
        let reading = passed.into_iter().map(|upstream| {
            let hub = Arc::clone(hub);
            tokio::spawn(async move { hub.registry.read_for_more(&upstream).await })
        });
        let all = futures::future::join_all(reading);
        // What cannot be read now is as it was.
        let _goes_on = tokio::time::timeout(super::FIRST_LIST, all).await;
    }

    /// Tells clients which lists are not what they were.
    pub(super) fn tell_what_changed(&self, hub: &Hub) {
        self.renew_offer(hub);
        let surface = Surface::new(hub, &self.kind);
        let mut resources = surface.resources();
        resources.extend(surface.templates());
        let now = Lists {
            tools: digest(&surface.tools()),
            prompts: digest(&surface.prompts()),
            resources: digest(&resources),
        };
        let before = self
            .told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(now);
        let Some(before) = before else { return };
        let said = std::mem::take(
            &mut self
                .said
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .read,
        );
        if said.tools || before.tools != now.tools {
            self.notifier.tools_changed();
        }
        if said.prompts || before.prompts != now.prompts {
            self.notifier.prompts_changed();
        }
        if said.resources || before.resources != now.resources {
            self.notifier.resources_changed();
        }
    }

    /// A server says that lists of its changed. Clients hear of it when it was read again, also when nothing is seen to be
    /// different.
    pub(super) fn said_changed(&self, hub: &Hub, backing: &str, changed: Changed) {
        let surface = Surface::new(hub, &self.kind);
        if !surface.passed().any(|upstream| upstream.stands_on(backing)) {
            return;
        }
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.unread
            .entry(backing.to_owned())
            .or_default()
            .add(changed);
    }

    /// A server was read.
    pub(super) fn was_read(&self, backing: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(changed) = said.unread.remove(backing) {
            said.read.add(changed);
        }
    }
}

pub(super) fn kept_for(age: Duration) -> CacheHint {
    CacheHint {
        ttl_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
        scope: CacheScope::Private,
    }
}

fn digest(elements: &[Raw]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for element in elements {
        element.as_str().hash(&mut hasher);
    }
    hasher.finish()
}
