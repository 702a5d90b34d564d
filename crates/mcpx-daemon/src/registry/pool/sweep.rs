//! What is done now and then: ending what nobody uses, and starting what `min` keeps.

use std::{collections::HashSet, sync::Arc};

use mcpx_config::Scope;
use tokio::time::Instant;

use super::{
    Ending, Pool,
    desk::{Act, Begun, Desk},
};
use crate::registry::scope::{Key, Lane};

impl Pool {
    /// Ends instances that were unused for the idle time and have no subscriptions, down to `min`; those whose process
    /// ended; those above `max`. Then starts what `min` keeps. Waits for nothing that it begins.
    pub async fn sweep(self: &Arc<Self>) {
        self.in_runtime();
        if self.closing.is_cancelled() {
            return;
        }
        let is_global = self.server().scope == Scope::Global;
        let acts = self.change(|desk, now| {
            let gone: HashSet<Key> = desk
                .places
                .iter()
                .map(|place| &place.key)
                .chain(&desk.recent)
                .filter(|key| key.is_process_gone())
                .cloned()
                .collect();
            let mut acts = end_unused(desk, &gone, now);
            if desk.backoff.refuses(now).is_none() {
                acts.extend(start_kept(desk, is_global, now));
            }
            acts
        });
        self.act(acts);
    }
}

fn end_unused(desk: &mut Desk, gone: &HashSet<Key>, now: Instant) -> Vec<Act> {
    desk.recent.retain(|key| !gone.contains(key));
    let mut acts = Vec::new();
    let dead: Vec<u64> = desk
        .places
        .iter()
        .filter(|place| gone.contains(&place.key))
        .map(|place| place.seq)
        .collect();
    for seq in dead {
        // A call of a process that ended is nobody's any more.
        acts.extend(desk.end(seq, Ending::ProcessGone));
    }
    let idle = desk.sizes.idle;
    let mut unused: Vec<(Instant, Lane, u64)> = desk
        .places
        .iter()
        .filter(|place| place.live().is_some() && place.holders == 0 && !place.is_subscribed())
        .map(|place| (place.last_used, place.key.lane(), place.seq))
        .collect();
    unused.sort_unstable_by_key(|(last_used, _, seq)| (*last_used, *seq));
    for (last_used, lane, seq) in unused {
        let is_idle = !idle.is_zero() && now.saturating_duration_since(last_used) >= idle;
        let in_lane = desk.staying().filter(|place| place.key.lane() == lane);
        let is_too_many = in_lane.count() > desk.sizes.max;
        if desk.staying().count() > desk.sizes.min && (is_idle || is_too_many) {
            acts.extend(desk.end(seq, Ending::Idle));
        }
    }
    acts
}

fn start_kept(desk: &mut Desk, is_global: bool, now: Instant) -> Vec<Act> {
    let mut acts = Vec::new();
    let keys: Vec<Key> = if is_global {
        vec![Key::global()]
    } else {
        desk.recent.iter().rev().cloned().collect()
    };
    for key in keys {
        if desk.staying().count() >= desk.sizes.min {
            break;
        }
        if desk.places.iter().any(|place| place.key == key) {
            continue;
        }
        match desk.begin(&key, false, now) {
            Begun::Place(act) => acts.push(act),
            Begun::Full | Begun::CapReached => break,
        }
    }
    acts
}
