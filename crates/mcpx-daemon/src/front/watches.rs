//! Subscriptions to resources: one at the server, however many fronts have clients that watch.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpx_api::Caller;
use tokio::time::Instant;

use super::names::Owned;
use crate::hub::Hub;
use crate::registry::call::CallError;
use crate::registry::watch::Watching;

/// The longest that a new subscription waits, after instances that ended.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Subscriptions to resources.
#[derive(Default)]
pub(super) struct Watches {
    /// By server: a server that is slow to subscribe delays no other.
    servers: Mutex<HashMap<String, Arc<tokio::sync::Mutex<OfServer>>>>,
}

/// By the server's URI.
type OfServer = HashMap<String, Watched>;

struct Watched {
    /// `None` while another instance is looked for.
    watching: Option<Watching>,
    caller: Caller,
    /// The fronts whose clients watch.
    by: BTreeSet<u64>,
    /// How often the instance was lost in a short time, and when last.
    losses: u32,
    lost_at: Option<Instant>,
}

impl Watched {
    /// The instance is lost; how long to wait before another one is asked.
    fn lose(&mut self) -> Duration {
        self.watching = None;
        let is_streak = self
            .lost_at
            .is_some_and(|last| last.elapsed() < 2 * LONGEST_PAUSE);
        self.losses = if is_streak { self.losses + 1 } else { 0 };
        self.lost_at = Some(Instant::now());
        match self.losses {
            0 => Duration::ZERO,
            losses => Duration::from_secs(1 << losses.min(6)).min(LONGEST_PAUSE),
        }
    }
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
        if let Some(watched) = of_server.get_mut(&owned.name)
            && watched.watching.is_some()
        {
            watched.by.insert(front);
            return Ok(());
        }
        let watching = hub
            .registry
            .watch(&owned.server, &owned.name, &caller)
            .await?;
        let watched = of_server
            .entry(owned.name.clone())
            .or_insert_with(|| Watched {
                watching: None,
                caller,
                by: BTreeSet::new(),
                losses: 0,
                lost_at: None,
            });
        watched.watching = Some(watching);
        watched.by.insert(front);
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
            && let Some(watching) = of_server
                .remove(&owned.name)
                .and_then(|watched| watched.watching)
        {
            watching.end().await;
        }
    }

    /// An instance ended: what it told of is subscribed at another, later and later when that goes on. Returns what may
    /// have changed meanwhile: the server's URIs.
    pub(super) async fn renew(&self, hub: &Hub, server: &str, instance: &str) -> Vec<String> {
        let of_server = self.of(server);
        let mut lost = Vec::new();
        let mut pause = Duration::ZERO;
        for (uri, watched) in of_server.lock().await.iter_mut() {
            let is_of = |watching: &Watching| watching.instance() == instance;
            if watched.watching.as_ref().is_some_and(is_of) {
                pause = pause.max(watched.lose());
                lost.push(uri.clone());
            }
        }
        if lost.is_empty() {
            return lost;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = hub.stopping.cancelled() => return Vec::new(),
        }
        let mut of_server = of_server.lock().await;
        for uri in &lost {
            let Some(watched) = of_server.get_mut(uri) else {
                continue;
            };
            if watched.watching.is_none() {
                // A server that is out of order for now is asked again by the next client that watches.
                watched.watching = hub.registry.watch(server, uri, &watched.caller).await.ok();
            }
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_ends_again_and_again_is_asked_later_and_later() {
        let mut watched = Watched {
            watching: None,
            caller: Caller::default(),
            by: BTreeSet::new(),
            losses: 0,
            lost_at: None,
        };
        assert_eq!(watched.lose(), Duration::ZERO);
        let pauses: Vec<u64> = (0..8).map(|_| watched.lose().as_secs()).collect();
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60, 60]);
        tokio::time::advance(Duration::from_secs(200)).await;
        assert_eq!(watched.lose(), Duration::ZERO);
    }
}
