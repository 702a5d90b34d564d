//! One look through the queue: who can be served, who needs room, and whose instance makes it.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Act, Begun, Desk, Phase, Place, Waiter, end};
use crate::registry::{
    lease::LeaseError,
    pool::Ending,
    scope::{Key, Lane},
};

/// What one look through the queue has found so far.
#[derive(Default)]
struct Pass {
    /// Instances that end, or will with their last lease, and whose room nobody before was promised; by lane.
    coming: [usize; 2],
    /// Instances that get no new leases, because somebody before needs their room.
    reserved: HashSet<u64>,
    /// Keys that somebody before needs room for.
    wanted: HashSet<Key>,
    needs_cap: bool,
}

impl Pass {
    fn coming_in(&mut self, lane: Lane) -> &mut usize {
        let [newest, legacy] = &mut self.coming;
        match lane {
            Lane::Newest => newest,
            Lane::Legacy => legacy,
        }
    }
}

impl Desk {
    /// Gives what there is to who waits for it.
    pub(in crate::registry::pool) fn pump(&mut self, now: Instant) -> Vec<Act> {
        let mut acts = Vec::new();
        self.drop_what_is_gone(&mut acts, now);
        self.end_what_is_over(&mut acts);
        let mut pass = Pass::default();
        for place in &self.places {
            if place.is_ending() || place.retired.is_some() {
                *pass.coming_in(place.key.lane()) += 1;
            }
        }
        let mut left = VecDeque::with_capacity(self.queue.len());
        for waiter in std::mem::take(&mut self.queue) {
            // It gave up: what it is sent would come back at once.
            if !waiter.reply.is_closed() {
                left.extend(self.serve(waiter, &mut pass, &mut acts, now));
            }
        }
        self.queue = left;
        if !pass.needs_cap {
            if let Some(waiting) = self.waits_for_cap.take() {
                waiting.cancel();
            }
        } else if self.waits_for_cap.is_none() {
            let waiting = CancellationToken::new();
            self.waits_for_cap = Some(waiting.clone());
            acts.push(Act::WaitForCap(waiting));
        }
        acts
    }

    /// Serves one waiter, or returns it.
    fn serve(
        &mut self,
        waiter: Waiter,
        pass: &mut Pass,
        acts: &mut Vec<Act>,
        now: Instant,
    ) -> Option<Waiter> {
        let at = self.places.iter().position(|place| place.key == waiter.key);
        if let Some(at) = at {
            let is_exclusive = self.is_exclusive;
            let place = &mut self.places[at];
            let is_free = place.retired.is_none()
                && !pass.reserved.contains(&place.seq)
                && !(is_exclusive && place.holders > 0);
            match &place.phase {
                Phase::Live(instance) if is_free => {
                    instance.count_call();
                    acts.push(Act::Grant(waiter.reply, Arc::clone(instance)));
                    place.holders += 1;
                    (place.last_used, place.granted) = (now, now);
                    place.ends_with_caller &= waiter.ends_with_caller;
                    if !waiter.ends_with_caller {
                        self.remember(&waiter.key);
                    }
                    return None;
                }
                Phase::Starting(_) => place.ends_with_caller &= waiter.ends_with_caller,
                _ => {}
            }
            // What ends makes room for its own key first.
            if (place.is_ending() || place.retired.is_some())
                && pass.wanted.insert(waiter.key.clone())
            {
                let coming = pass.coming_in(waiter.key.lane());
                *coming = coming.saturating_sub(1);
            }
            return Some(waiter);
        }
        if let Some((failure, left)) = self.backoff.refuses(now) {
            let retry_in = Some(left);
            acts.push(Act::Refuse(
                waiter.reply,
                LeaseError::Start { failure, retry_in },
            ));
            return None;
        }
        match self.begin(&waiter.key, waiter.ends_with_caller, now) {
            Begun::Place(act) => acts.push(act),
            Begun::CapReached => pass.needs_cap = true,
            Begun::Full => {
                // Somebody before it needs the same room.
                if pass.wanted.insert(waiter.key.clone()) {
                    self.make_room(waiter.key.lane(), pass, acts);
                }
            }
        }
        Some(waiter)
    }

    /// Takes room from an instance of another key of the lane, at once or when it is free.
    fn make_room(&mut self, lane: Lane, pass: &mut Pass, acts: &mut Vec<Act>) {
        let coming = pass.coming_in(lane);
        if *coming > 0 {
            *coming -= 1;
            return;
        }
        let is_candidate = |place: &Place| place.is_in(lane) && !pass.reserved.contains(&place.seq);
        if let Some(place) = self.unused_longest(is_candidate) {
            acts.extend(end(place, Ending::Evicted));
            return;
        }
        let busy = self.places.iter().filter(|place| {
            place.live().is_some() && place.retired.is_none() && is_candidate(place)
        });
        let oldest = busy.min_by_key(|place| place.granted);
        pass.reserved.extend(oldest.map(|place| place.seq));
    }

    /// The instance without leases that was unused for the longest time; one with subscriptions only when all have some.
    pub(in crate::registry::pool) fn unused_longest(
        &mut self,
        is_candidate: impl Fn(&Place) -> bool,
    ) -> Option<&mut Place> {
        self.places
            .iter_mut()
            .filter(|place| place.is_idle() && is_candidate(place))
            .min_by_key(|place| (place.is_subscribed(), place.last_used))
    }

    /// Finds what is gone and was not told to be.
    fn drop_what_is_gone(&mut self, acts: &mut Vec<Act>, now: Instant) {
        let is_gone = |place: &&Place| {
            place
                .live()
                .is_some_and(|instance| instance.link().is_closed())
        };
        while let Some(gone) = self.places.iter().find(is_gone).map(|place| place.seq) {
            acts.extend(self.died(gone, "its connection is gone".to_owned(), now));
        }
    }

    /// Ends what nobody may use any more.
    fn end_what_is_over(&mut self, acts: &mut Vec<Act>) {
        let wanted: HashSet<Key> = self
            .queue
            .iter()
            .filter(|waiter| !waiter.reply.is_closed())
            .map(|waiter| waiter.key.clone())
            .collect();
        for place in &mut self.places {
            if !place.is_idle() {
                continue;
            }
            let why = if let Some(why) = place.retired.clone() {
                Some(why)
            } else if place.ends_with_caller
                && !wanted.contains(&place.key)
                && !place.is_subscribed()
            {
                Some(Ending::CallerDone)
            } else {
                None
            };
            acts.extend(why.and_then(|why| end(place, why)));
        }
    }

    fn remember(&mut self, key: &Key) {
        self.recent.retain(|other| other != key);
        self.recent.push_back(key.clone());
        while self.recent.len() > self.sizes.max {
            self.recent.pop_front();
        }
    }
}
