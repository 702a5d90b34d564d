//! Subscriptions to resources: one at the server, however many fronts have clients that watch.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use mcpx_api::Caller;

use super::names::Owned;
use crate::hub::Hub;
use crate::registry::call::CallError;
use crate::registry::watch::Watching;

/// Subscriptions to resources.
#[derive(Default)]
pub(super) struct Watches {
    /// By server: a server that is slow to subscribe delays no other.
    servers: Mutex<HashMap<String, Arc<tokio::sync::Mutex<OfServer>>>>,
}

/// By the server's URI.
type OfServer = HashMap<String, Watched>;

struct Watched {
    watching: Watching,
    caller: Caller,
    /// The fronts whose clients watch.
    by: BTreeSet<u64>,
}

impl Watches {
    fn of(&self, server: &str) -> Arc<tokio::sync::Mutex<OfServer>> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(servers.entry(server.to_owned()).or_default())
    }

    /// A client of `front` watches; the server is asked once.
    ///
    /// # Errors
    /// When the server does not announce this resource.
    pub(super) async fn add(
        &self,
        hub: &Hub,
        front: u64,
        owned: &Owned,
        caller: Caller,
    ) -> Result<(), CallError> {
        let of_server = self.of(&owned.server);
        let mut of_server = of_server.lock().await;
        if let Some(watched) = of_server.get_mut(&owned.name) {
            watched.by.insert(front);
            return Ok(());
        }
        let watching = hub
            .registry
            .watch(&owned.server, &owned.name, &caller)
            .await?;
        let watched = Watched {
            watching,
            caller,
            by: [front].into(),
        };
        of_server.insert(owned.name.clone(), watched);
        Ok(())
    }

    /// No client of `front` watches any more. The last one ends the subscription.
    pub(super) async fn remove(&self, front: u64, owned: &Owned) {
        let of_server = self.of(&owned.server);
        let mut of_server = of_server.lock().await;
        let Some(watched) = of_server.get_mut(&owned.name) else {
            return;
        };
        watched.by.remove(&front);
        if watched.by.is_empty()
            && let Some(watched) = of_server.remove(&owned.name)
        {
            watched.watching.end().await;
        }
    }

    /// An instance ended: what it told of is subscribed at another. Returns what may have changed meanwhile: the
    /// server's URIs.
    pub(super) async fn renew(&self, hub: &Hub, server: &str, instance: &str) -> Vec<String> {
        let of_server = self.of(server);
        let mut of_server = of_server.lock().await;
        let lost: Vec<String> = of_server
            .iter()
            .filter(|(_, watched)| watched.watching.instance() == instance)
            .map(|(uri, _)| uri.clone())
            .collect();
        for uri in &lost {
            let Some(mut watched) = of_server.remove(uri) else {
                continue;
            };
            // A server that is out of order for now is asked again by the next client that watches.
            if let Ok(watching) = hub.registry.watch(server, uri, &watched.caller).await {
                watched.watching = watching;
                of_server.insert(uri.clone(), watched);
            }
        }
        lost
    }
}
