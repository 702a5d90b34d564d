//! From one daemon to the next: what is open, what is said again, what the client may have missed.

use mcp_wire::{Frame, Id, Object, Raw, Request, meta, method};

use super::{Greeting, Session, bound};
use crate::serve::glance;
use crate::serve::ledger::{Broken, Delivery, Outgoing};

/// What changes, the capability that declares it, and what a subscription calls it.
const LISTS: [(&str, &str, &str); 3] = [
    (method::TOOLS_CHANGED, "tools", "toolsListChanged"),
    (method::PROMPTS_CHANGED, "prompts", "promptsListChanged"),
    (
        method::RESOURCES_CHANGED,
        "resources",
        "resourcesListChanged",
    ),
];

impl Session {
    /// The connection broke: what goes to the next one, and lines for the client.
    pub(in crate::serve) fn broke(
        &mut self,
        taken: Option<u64>,
        why: &str,
    ) -> (Vec<Outgoing>, Vec<Vec<u8>>) {
        self.generation += 1;
        self.own.clear();
        let Broken { again, lost } = self.ledger.broke(taken);
        let mut lines = refusals(lost, why);
        let mut asked: Vec<Id> = self.asked.drain().map(|(shown, _)| shown).collect();
        asked.sort_unstable();
        lines.extend(asked.iter().map(|id| {
            let params = Object::new()
                .with("requestId", id.raw())
                .with("reason", why);
            glance::notification(method::CANCELLED, params)
        }));
        (again, lines)
    }

    /// Gives up on what is open: lines for the client.
    pub(in crate::serve) fn lose(&mut self, keeps_listening: bool, why: &str) -> Vec<Vec<u8>> {
        refusals(self.ledger.lose(keeps_listening), why)
    }

    /// The handshake for another connection, when there was one.
    pub(in crate::serve) fn greeting(&mut self) -> Option<Greeting> {
        let id = self.own_id();
        let handshake = self.handshake.as_ref()?;
        Some(Greeting {
            line: glance::with_id(&handshake.line, &id)?,
            id,
            revision: handshake.revision.clone(),
        })
    }

    /// What another daemon has to be told behind the handshake.
    pub(in crate::serve) fn replay(&mut self) -> Vec<Outgoing> {
        if self.handshake.is_none() {
            return Vec::new();
        }
        let mut all = Vec::new();
        if self.is_initialized {
            let line = glance::notification(method::INITIALIZED, Object::new());
            all.push(bound(line));
        }
        let level = self.level.clone().map(|level| (method::SET_LEVEL, level));
        let watched = self.watched.iter().map(|uri| {
            let params = Object::new().with("uri", uri.as_str());
            (method::RESOURCES_SUBSCRIBE, params)
        });
        let requests: Vec<(&str, Object)> = level.into_iter().chain(watched).collect();
        for (method, params) in requests {
            let id = self.own_id();
            self.own.insert(id.clone());
            all.push(bound(
                Frame::from(Request::new(id, method, params)).to_line(),
            ));
        }
        all
    }

    /// What a legacy client may have missed while there was no daemon.
    pub(in crate::serve) fn missed(&self) -> Vec<Vec<u8>> {
        let Some(handshake) = &self.handshake else {
            return Vec::new();
        };
        let declared = |what: &str| {
            let ability = handshake.capabilities.object(what);
            ability.and_then(|ability| ability.get("listChanged")?.boolean()) == Some(true)
        };
        let mut lines: Vec<Vec<u8>> = LISTS
            .iter()
            .filter(|(_, what, _)| declared(what))
            .map(|(method, ..)| glance::notification(method, Object::new()))
            .collect();
        lines.extend(self.watched.iter().map(|uri| {
            let params = Object::new().with("uri", uri.as_str());
            glance::notification(method::RESOURCE_UPDATED, params)
        }));
        lines
    }

    fn own_id(&mut self) -> Id {
        self.next_own += 1;
        Id::Text(format!("mcpx-serve-{}", self.next_own))
    }
}

/// What may have changed of what a subscription listens to.
pub(super) fn missed_by(id: &Id, accepted: &Object) -> Vec<Vec<u8>> {
    let said = |method: &str, mut params: Object| {
        meta::set(&mut params, meta::SUBSCRIPTION_ID, id.raw());
        glance::notification(method, params)
    };
    let mut lines: Vec<Vec<u8>> = LISTS
        .iter()
        .filter(|(.., switch)| accepted.get(switch).and_then(Raw::boolean) == Some(true))
        .map(|(method, ..)| said(method, Object::new()))
        .collect();
    let uris = accepted.get("resourceSubscriptions");
    let uris = uris.and_then(|raw| raw.array().ok()).unwrap_or_default();
    lines.extend(uris.into_iter().map(|uri| {
        let params = Object::new().with("uri", uri);
        said(method::RESOURCE_UPDATED, params)
    }));
    lines
}

fn refusals(lost: Vec<(Id, Delivery)>, why: &str) -> Vec<Vec<u8>> {
    lost.into_iter()
        .map(|(id, delivery)| glance::refusal(Some(id), delivery.error(why)))
        .collect()
}
