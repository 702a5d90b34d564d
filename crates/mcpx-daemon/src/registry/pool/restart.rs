//! Ending what runs and starting it anew, because a person wants that.

use std::sync::Arc;

use mcpx_config::Scope;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Ending, FOREVER, LeaseError, Pool, Wait, life::CLOSING};
use crate::registry::scope::{Key, Scoped};

/// What came of a restart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restarted {
    /// How many instances were ended.
    pub stopped: usize,
    /// The instances that run in their place, by id.
    pub started: Vec<String>,
    /// Keys whose instance could not be started, and why.
    pub failed: Vec<(String, String)>,
    /// Keys that got no new instance, and why.
    pub skipped: Vec<(String, String)>,
    /// What a person should know besides.
    pub note: Option<String>,
}

impl Pool {
    /// Ends every instance, used or not, forgets failures, and starts one for each key again; a global server of which
    /// nothing ran is started once to prove that it works. With `lazy` it only ends: the next call starts.
    pub async fn restart(self: &Arc<Self>, lazy: bool) -> Restarted {
        self.in_runtime();
        let mut restarted = Restarted::default();
        let live: Vec<(u64, Scoped)> = self.change(|desk, _| {
            desk.backoff.reset();
            desk.places
                .iter()
                .filter(|place| place.live().is_some())
                .map(|place| (place.seq, place.scoped()))
                .collect()
        });
        for (seq, _) in &live {
            self.end_now(*seq, Ending::Restarted);
        }
        restarted.stopped = live.len();
        let all: Vec<u64> = live.iter().map(|(seq, _)| *seq).collect();
        if timeout(CLOSING, self.gone(&all)).await.is_err() {
            restarted.note = Some("an instance did not end in time".to_owned());
        }
        if lazy {
            restarted.note = Some("nothing was started: the next call does".to_owned());
            return restarted;
        }
        let mut keys: Vec<Scoped> = live.into_iter().map(|(_, scoped)| scoped).collect();
        if keys.is_empty() && self.server().scope == Scope::Global {
            keys.push(Scoped {
                key: Key::global(),
                ends_with_caller: false,
                degraded: None,
            });
            restarted.note = Some("nothing ran: one was started to see that it works".to_owned());
        }
        let starts = keys.into_iter().filter_map(|scoped| {
            let why = if scoped.ends_with_caller || scoped.key.is_call() {
                "it belongs to one call"
            } else if scoped.key.is_process_gone() {
                "its process ended"
            } else {
                return Some(scoped);
            };
            restarted
                .skipped
                .push((scoped.key.to_string(), why.to_owned()));
            None
        });
        let starts: Vec<Scoped> = starts.collect();
        let limit = self.server().start_timeout.min(FOREVER) + CLOSING;
        let leases = starts.iter().map(|scoped| {
            let wait = Wait {
                queue: limit,
                start: None,
                cancelled: CancellationToken::new(),
            };
            async move { (&scoped.key, self.lease(scoped, wait).await) }
        });
        for (key, lease) in futures::future::join_all(leases).await {
            match lease {
                Ok(lease) => restarted.started.push(lease.instance().id().to_owned()),
                Err(LeaseError::Start { failure, .. }) => restarted
                    .failed
                    .push((key.to_string(), failure.to_string())),
                Err(other) => restarted.failed.push((key.to_string(), other.to_string())),
            }
        }
        restarted
    }

    /// Waits until these places are free.
    async fn gone(self: &Arc<Self>, seqs: &[u64]) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let is_gone =
                self.change_only(|desk| !desk.places.iter().any(|place| seqs.contains(&place.seq)));
            if is_gone {
                return;
            }
            changed.await;
        }
    }
}
