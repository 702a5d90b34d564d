//! Reading the servers' tools in the background: after the start, and again when a server says that they changed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use mcpx_config::settings::key;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::events::{Event, kind};
use crate::hub::Hub;
use crate::registry::upstream::{Backing, Upstream};

/// How long after the start nothing is read: whoever started the daemon asks first.
const SETTLE: Duration = Duration::from_secs(1);
/// The first and the longest pause before servers that could not be read are tried again.
const AGAIN: Duration = Duration::from_secs(15);
const RARELY: Duration = Duration::from_secs(15 * 60);
/// There is nothing to read.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3_600);
/// How many servers are read at the same time.
const AT_ONCE: usize = 4;
/// How long changes that come together are gathered.
const GATHER: Duration = Duration::from_millis(200);
/// The longest pause between two readings of a server that says all the time that it changed.
const MOST: Duration = Duration::from_secs(60);

/// Reads the servers of which nothing is known, neither by this daemon nor by one before it; each pass takes at most
/// `daemon.warmTimeout`. Those that cannot be read are tried again after ever longer pauses, so that a server that is
/// ready late is found without being asked for. A server whose instances belong to callers gets one for the reading
/// alone. When all are read it waits for a configuration with others.
pub async fn warm(hub: Arc<Hub>) {
    if !hub.settings().bool(key::DAEMON_WARM) {
        return;
    }
    let mut events = hub.events.changes();
    let mut pause = SETTLE;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = other_configuration(&mut events) => pause = GATHER,
            () = hub.stopping.cancelled() => return,
        }
        let unread: Vec<(Arc<Upstream>, Arc<Backing>)> = by_backing(&hub)
            .into_iter()
            .filter(|(_, backing)| backing.known().is_none())
            .collect();
        if unread.is_empty() {
            pause = FOREVER;
            continue;
        }
        let reading =
            futures::stream::iter(unread).for_each_concurrent(AT_ONCE, |(upstream, backing)| {
                let hub = Arc::clone(&hub);
                async move {
                    // Why it failed is in the status, and the start that failed in the log.
                    let _read = hub.registry.read(&upstream, &backing, false).await;
                }
            });
        let limit = hub.settings().duration(key::DAEMON_WARM_TIMEOUT);
        tokio::select! {
            _late = tokio::time::timeout(limit, reading) => {}
            () = hub.stopping.cancelled() => return,
        }
        pause = (pause * 2).clamp(AGAIN, RARELY);
    }
}

/// Returns when there is a configuration that may have other servers.
async fn other_configuration(events: &mut Receiver<Arc<Event>>) {
    loop {
        match events.recv().await {
            Ok(event) if event.kind == kind::CONFIG_CHANGED => return,
            Ok(_) => {}
            // It may have been among those that were missed.
            Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Each thing that stands behind servers once, with the server whose definition starts it.
fn by_backing(hub: &Hub) -> Vec<(Arc<Upstream>, Arc<Backing>)> {
    let views = hub.registry.views();
    hub.registry
        .backings()
        .into_iter()
        .filter_map(|backing| {
            let upstream = views.by_name.get(&backing.name)?;
            Some((Arc::clone(upstream), backing))
        })
        .collect()
}

/// Reads a server again when it says that its lists changed. Runs until the daemon ends.
pub async fn follow(hub: Arc<Hub>) {
    let mut events = hub.events.changes();
    let mut paces: HashMap<String, Pace> = HashMap::new();
    let mut due: BTreeSet<String> = BTreeSet::new();
    loop {
        let wait = due
            .iter()
            .map(|server| paces.entry(server.clone()).or_default().wait())
            .min();
        let pause = async {
            match wait {
                Some(wait) => tokio::time::sleep(wait.max(GATHER)).await,
                // Nothing is due: the next event wakes it.
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = hub.stopping.cancelled() => return,
            event = events.recv() => match event {
                Ok(event) => {
                    if let (true, Some(server)) = (is_change(event.kind), event.server.clone()) {
                        due.insert(server);
                    }
                    continue;
                }
                // Which ones were missed cannot be told: whatever runs may have changed.
                Err(RecvError::Lagged(_)) => {
                    let running = hub.registry.backings().into_iter();
                    due.extend(running.filter(|one| one.known().is_some() && !one.pool.running().is_empty())
                        .map(|one| one.name.clone()));
                    continue;
                }
                Err(RecvError::Closed) => return,
            },
            () = pause => {}
        }
        let ready: Vec<String> = due
            .iter()
            .filter(|server| paces.get(*server).is_none_or(|pace| pace.wait().is_zero()))
            .cloned()
            .collect();
        for server in ready {
            due.remove(&server);
            paces.entry(server.clone()).or_default().begins();
            let found = by_backing(&hub)
                .into_iter()
                .find(|(_, backing)| backing.name == server);
            if let Some((upstream, backing)) = found {
                let hub = Arc::clone(&hub);
                tokio::spawn(async move {
                    tokio::select! {
                        _why_is_in_the_status = hub.registry.read(&upstream, &backing, true) => {}
                        () = hub.stopping.cancelled() => {}
                    }
                });
            }
        }
    }
}

fn is_change(kind: &str) -> bool {
    matches!(
        kind,
        kind::TOOLS_CHANGED | kind::PROMPTS_CHANGED | kind::RESOURCES_CHANGED
    )
}

/// How often a server is read again.
#[derive(Debug, Default)]
struct Pace {
    last: Option<Instant>,
    streak: u32,
}

impl Pace {
    fn pause(&self) -> Duration {
        if self.streak < 3 {
            return Duration::ZERO;
        }
        Duration::from_secs(1 << self.streak.min(10).saturating_sub(3)).min(MOST)
    }

    fn wait(&self) -> Duration {
        self.last.map_or(Duration::ZERO, |last| {
            self.pause().saturating_sub(last.elapsed())
        })
    }

    fn begins(&mut self) {
        let is_quiet = self.last.is_none_or(|last| last.elapsed() > 2 * MOST);
        self.streak = if is_quiet { 1 } else { self.streak + 1 };
        self.last = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_changes_all_the_time_is_read_less_and_less() {
        let mut pace = Pace::default();
        assert_eq!(pace.wait(), Duration::ZERO);
        for _ in 0..2 {
            pace.begins();
            assert_eq!(pace.wait(), Duration::ZERO);
        }
        for _ in 0..20 {
            pace.begins();
        }
        assert!(pace.wait() > Duration::from_secs(50), "{:?}", pace.wait());
        assert!(pace.wait() <= MOST);
    }
}
