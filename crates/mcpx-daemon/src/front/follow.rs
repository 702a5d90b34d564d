//! Passes on to clients what happens in the hub: lists and resources that change, persons who are done at a page.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;

use super::lists::Changed;
use crate::events::kind as event;
use crate::hub::Hub;
use crate::registry::levels::Levels;

/// Changes that come together are told together.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// How long a server keeps a log level that nobody wants any more.
const LINGER: Duration = Duration::from_secs(1);

/// Passes on what happens in the hub, until it ends.
pub(super) async fn follow(
    hub: Weak<Hub>,
    mut live: tokio::sync::broadcast::Receiver<Arc<crate::events::Event>>,
    stopping: tokio_util::sync::CancellationToken,
) {
    let Some(levels) = hub.upgrade().map(|hub| hub.registry.levels()) else {
        return;
    };
    tokio::spawn(follow_levels(hub.clone(), levels, stopping.clone()));
    tokio::spawn(follow_abilities(hub.clone(), stopping.clone()));
    let mut changed = false;
    loop {
        let said = tokio::select! {
            said = live.recv() => Some(said),
            () = tokio::time::sleep(DEBOUNCE), if changed => None,
            () = stopping.cancelled() => return,
        };
        let Some(hub) = hub.upgrade() else { return };
        match said {
            None => {
                changed = false;
                for front in hub.fronts.all() {
                    front.tell_what_changed(&hub);
                }
            }
            Some(Ok(said)) => changed |= pass_on(&hub, &said),
            // Something was missed: the lists are looked at.
            Some(Err(RecvError::Lagged(_))) => changed = true,
            Some(Err(RecvError::Closed)) => return,
        }
    }
}

/// Servers that log more than anybody wants any more are told so, a while after it began.
async fn follow_levels(
    hub: Weak<Hub>,
    levels: Arc<Levels>,
    stopping: tokio_util::sync::CancellationToken,
) {
    loop {
        tokio::select! {
            () = levels.changed() => {}
            () = stopping.cancelled() => return,
        }
        tokio::select! {
            // Calls that come close upon each other want the same.
            () = tokio::time::sleep(LINGER) => {}
            () = stopping.cancelled() => return,
        }
        let Some(hub) = hub.upgrade() else { return };
        hub.registry.tell_levels().await;
    }
}

/// Legacy servers that have done nothing yet are read again when a client comes that can more than those before.
async fn follow_abilities(hub: Weak<Hub>, stopping: tokio_util::sync::CancellationToken) {
    let Some(somebody) = hub.upgrade().map(|hub| Arc::clone(&hub.registry.somebody)) else {
        return;
    };
    loop {
        tokio::select! {
            () = somebody.grew() => {}
            () = stopping.cancelled() => return,
        }
        let Some(hub) = hub.upgrade() else { return };
        let views = hub.registry.views();
        let upstreams = views.by_name.values();
        let reading = upstreams.map(|upstream| hub.registry.read_for_more(upstream));
        tokio::select! {
            // One that cannot be read says so elsewhere.
            _read = futures::future::join_all(reading) => {}
            () = stopping.cancelled() => return,
        }
    }
}

/// Whether lists may have changed.
fn pass_on(hub: &Arc<Hub>, said: &crate::events::Event) -> bool {
    let server = said.server.clone().unwrap_or_default();
    match said.kind {
        event::CATALOG_READ => {
            for front in hub.fronts.all() {
                front.was_read(&server);
            }
            return true;
        }
        event::CATALOG_CHANGED | event::CONFIG_CHANGED => return true,
        event::RESOURCE_UPDATED => {
            let uri = said.data.string("uri").unwrap_or_default();
            for front in hub.fronts.all() {
                front.resource_updated(hub, &server, &uri);
            }
        }
        event::ELICITATION_COMPLETE => {
            // The session that was asked hears of it; the id is nobody else's.
            let id = said.data.string("elicitationId").unwrap_or_default();
            for front in hub.fronts.all() {
                front.notifier.elicitation_done(&id);
            }
        }
        event::TOOLS_CHANGED | event::PROMPTS_CHANGED | event::RESOURCES_CHANGED => {
            let changed = Changed {
                tools: said.kind == event::TOOLS_CHANGED,
                prompts: said.kind == event::PROMPTS_CHANGED,
                resources: said.kind == event::RESOURCES_CHANGED,
            };
            for front in hub.fronts.all() {
                front.said_changed(hub, &server, changed);
            }
        }
        event::SERVER_STOP => {
            let instance = said.data.string("instance").unwrap_or_default();
            let hub = Arc::clone(hub);
            // It may take a start.
            tokio::spawn(async move {
                let watches = &hub.fronts.common.watches;
                for uri in watches.renew(&hub, &server, &instance).await {
                    for front in hub.fronts.all() {
                        front.resource_updated(&hub, &server, &uri);
                    }
                }
            });
        }
        _ => {}
    }
    false
}
