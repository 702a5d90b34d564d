//! What a pool says of itself.

use std::{sync::PoisonError, time::Duration};

use mcpx_api::reply::InstanceStatus;
use tokio::time::Instant;

use super::{
    LeaseError, Pool,
    desk::{Phase, Place},
};
use crate::registry::scope::Lane;

/// A pool at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolStatus {
    /// Callers in the queue.
    pub waiting: usize,
    /// Instances that are being started.
    pub starting: usize,
    /// Whether an instance serves one call at a time, as configured or as learned.
    pub is_exclusive: bool,
    /// Why the last start failed; `None` as soon as one succeeded.
    pub last_error: Option<String>,
    /// When a start is tried again, after failures.
    pub retry_in: Option<Duration>,
    /// What runs, in the order of their starts; those that are being ended are not among them.
    pub instances: Vec<InstanceStatus>,
}

impl Pool {
    /// Says what runs and who waits.
    #[must_use]
    pub fn status(&self) -> PoolStatus {
        let now = Instant::now();
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let mut places: Vec<&Place> = desk.places.iter().collect();
        places.sort_by_key(|place| place.seq);
        PoolStatus {
            waiting: desk.waiting(),
            starting: places
                .iter()
                .filter(|place| matches!(place.phase, Phase::Starting(_)))
                .count(),
            is_exclusive: desk.is_exclusive,
            last_error: desk.backoff.last().map(ToString::to_string),
            retry_in: desk.backoff.refuses(now).map(|(_, left)| left),
            instances: places
                .into_iter()
                .filter_map(|place| instance(place, now))
                .collect(),
        }
    }

    pub(super) fn exhausted(&self, lane: Lane, waited: Duration) -> LeaseError {
        let now = Instant::now();
        let name = self.server().name.clone();
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let mut holders: Vec<String> = desk
            .places
            .iter()
            .filter(|place| place.key.lane() == lane)
            .map(|place| holder(&name, place, now))
            .collect();
        if desk.waits_for_cap.is_some()
            && let Some(cap) = &desk.cap
        {
            holders.push(format!(
                "all {} instances that the hub may have (`pool.globalMax`)",
                cap.max()
            ));
        }
        LeaseError::Exhausted {
            waited,
            max: desk.sizes.max,
            holders,
        }
    }
}

impl Pool {
    /// What a caller is told who waits for no longer a start.
    pub(super) fn not_ready(&self, after: Duration) -> LeaseError {
        let why = format!(
            "it is not ready after {} s; its start goes on, because another server that shares its instances gives it longer",
            after.as_secs_f64()
        );
        LeaseError::Start {
            failure: self.not_started(why),
            retry_in: None,
        }
    }
}

fn instance(place: &Place, now: Instant) -> Option<InstanceStatus> {
    let instance = place.live()?;
    Some(InstanceStatus {
        id: instance.id().to_owned(),
        pid: instance.pid(),
        holders: place.holders,
        key: place.key.to_string(),
        calls: instance.calls(),
        uptime_sec: instance.uptime().as_secs(),
        idle_sec: if place.holders > 0 {
            0
        } else {
            now.saturating_duration_since(place.last_used).as_secs()
        },
        protocol: instance.protocol(),
        trace: instance.trace().to_owned(),
    })
}

fn holder(name: &str, place: &Place, now: Instant) -> String {
    let id = crate::registry::instance::id(name, place.seq);
    let since = now.saturating_duration_since(place.last_used).as_secs_f64();
    let key = &place.key;
    match (&place.phase, place.holders) {
        (Phase::Starting(_), _) => format!("{id} of {key}, which is being started"),
        (Phase::Ending, _) => format!("{id} of {key}, which is being ended"),
        (Phase::Live(_), 1) => format!("{id} of {key} (1 call, since {since:.1} s)"),
        (Phase::Live(_), calls) => {
            format!("{id} of {key} ({calls} calls, the last since {since:.1} s)")
        }
    }
}
