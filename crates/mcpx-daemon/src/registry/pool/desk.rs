//! Who gets which instance: the places of a pool and the queue before it, as plain data. Nothing here waits, starts or
//! ends anything: each change returns what is to be done, and the time is given.
//!
//! The rules:
//! - Each lane of keys has its own `max`.
//! - A key has at most one instance at a time, and one that ends counts until it has ended: the state of a key is never in
//!   two processes.
//! - The queue is looked through from its front at every change, so nobody is overtaken by who wants the same.
//! - Who needs room takes it from the instance that was unused for the longest time. Are all in use, the one whose last
//!   lease is oldest is *reserved*: it gets no new leases until it is free, so that busy keys cannot keep a new one out.

mod pump;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use mcp_client::{Cause, Delivery, Failure, FailureKind};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    Ending,
    backoff::Backoff,
    cap::{Cap, CapPlace},
    life::SLACK,
};
use crate::registry::{
    instance::Instance,
    lease::{Lease, LeaseError},
    scope::{Key, Lane, Scoped},
};

/// What a caller in the queue is told.
pub(super) type Reply = oneshot::Sender<Result<Lease, LeaseError>>;

/// The place of an instance, from before its start to after its end.
pub(super) struct Place {
    pub(super) seq: u64,
    pub(super) key: Key,
    pub(super) phase: Phase,
    /// Leases that are out.
    pub(super) holders: usize,
    /// When a lease was given or came back last; until then, when its start began.
    pub(super) last_used: Instant,
    /// When a lease was given last: what reservation goes by, because it does not change while there are none.
    granted: Instant,
    /// Whether it ends with its last lease. Not when a caller that stays used it too.
    ends_with_caller: bool,
    /// Why nobody gets it any more.
    retired: Option<Ending>,
    /// Its place among all pools' instances.
    _permit: Option<CapPlace>,
}

pub(super) enum Phase {
    /// Until when at the latest.
    Starting(Instant),
    Live(Arc<Instance>),
    Ending,
}

impl Place {
    pub(super) fn live(&self) -> Option<&Arc<Instance>> {
        match &self.phase {
            Phase::Live(instance) => Some(instance),
            _ => None,
        }
    }

    fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Ending)
    }

    fn is_in(&self, lane: Lane) -> bool {
        self.key.lane() == lane
    }

    /// Its caller went away. Returns whether it ends for that.
    pub(super) fn release(&mut self) -> bool {
        self.ends_with_caller = true;
        self.live().is_some()
    }

    /// Whose it is.
    pub(super) fn scoped(&self) -> Scoped {
        Scoped {
            key: self.key.clone(),
            ends_with_caller: self.ends_with_caller,
            degraded: None,
        }
    }

    /// Whether somebody is told of its changes.
    pub(super) fn is_subscribed(&self) -> bool {
        self.live()
            .is_some_and(|instance| instance.subscriptions() > 0)
    }

    fn is_idle(&self) -> bool {
        self.live().is_some() && self.holders == 0
    }
}

struct Waiter {
    ticket: u64,
    key: Key,
    ends_with_caller: bool,
    reply: Reply,
}

/// What is to be done when the lock is given back.
pub(super) enum Act {
    Grant(Reply, Arc<Instance>),
    Refuse(Reply, LeaseError),
    Start {
        seq: u64,
        key: Key,
    },
    End(Arc<Instance>, Ending),
    /// Nothing of the cap over all pools is left: somebody has to give up an instance. Until the token is cancelled.
    WaitForCap(CancellationToken),
}

/// Sizes and times, as configured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) max: usize,
    pub(super) min: usize,
    /// Zero: for ever.
    pub(super) idle: Duration,
    /// How long a start may take.
    pub(super) start: Duration,
}

pub(super) struct Desk {
    pub(super) sizes: Sizes,
    pub(super) is_exclusive: bool,
    pub(super) is_closed: bool,
    pub(super) backoff: Backoff,
    pub(super) cap: Option<Arc<Cap>>,
    /// Places that came from the cap after it was waited for.
    pub(super) spare: Vec<CapPlace>,
    /// Cancels the wait for a place among all pools' instances, while there is one.
    pub(super) waits_for_cap: Option<CancellationToken>,
    pub(super) places: Vec<Place>,
    queue: VecDeque<Waiter>,
    /// Keys that had a lease and whose caller stays, the last used last: what `min` is kept for.
    pub(super) recent: VecDeque<Key>,
    last_seq: u64,
    last_ticket: u64,
}

impl Desk {
    pub(super) fn new(sizes: Sizes, is_exclusive: bool, cap: Option<Arc<Cap>>) -> Self {
        Self {
            sizes,
            is_exclusive,
            is_closed: false,
            backoff: Backoff::default(),
            cap,
            spare: Vec::new(),
            waits_for_cap: None,
            places: Vec::new(),
            queue: VecDeque::new(),
            recent: VecDeque::new(),
            last_seq: 0,
            last_ticket: 0,
        }
    }

    /// Puts a caller at the end of the queue; returns its ticket.
    pub(super) fn queue(&mut self, scoped: &Scoped, reply: Reply) -> u64 {
        self.last_ticket += 1;
        self.queue.push_back(Waiter {
            ticket: self.last_ticket,
            key: scoped.key.clone(),
            ends_with_caller: scoped.ends_with_caller,
            reply,
        });
        self.last_ticket
    }

    /// Takes a caller out of the queue.
    pub(super) fn leave(&mut self, ticket: u64) -> bool {
        let before = self.queue.len();
        self.queue.retain(|waiter| waiter.ticket != ticket);
        before != self.queue.len()
    }

    /// The instances that will not end soon.
    pub(super) fn staying(&self) -> impl Iterator<Item = &Place> {
        self.places
            .iter()
            .filter(|place| !place.is_ending() && place.retired.is_none())
    }

    /// Whether an instance may be given up for another pool: one is unused, and none is being ended already.
    pub(super) fn has_spare(&self) -> bool {
        self.places.iter().any(Place::is_idle) && !self.places.iter().any(Place::is_ending)
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Since when a start for this key is under way, and until when at the latest.
    pub(super) fn starting(&self, key: &Key) -> Option<(Instant, Instant)> {
        self.places.iter().find_map(|place| match place.phase {
            Phase::Starting(until) if place.key == *key => Some((place.last_used, until)),
            _ => None,
        })
    }

    pub(super) fn place(&mut self, seq: u64) -> Option<&mut Place> {
        self.places.iter_mut().find(|place| place.seq == seq)
    }

    /// A lease came back.
    pub(super) fn give_back(&mut self, seq: u64, poison: Option<String>, now: Instant) {
        if let Some(place) = self.place(seq) {
            place.holders = place.holders.saturating_sub(1);
            place.last_used = now;
            if let Some(why) = poison {
                place.retired.get_or_insert(Ending::Poisoned { why });
            }
        }
    }

    /// Nobody gets this instance any more; it ends with its last lease.
    pub(super) fn retire(&mut self, seq: u64, why: Ending) {
        if let Some(place) = self.place(seq) {
            place.retired.get_or_insert(why);
        }
    }

    /// An instance ended by itself, or its connection was lost. One that nobody had used yet counts as a failed start:
    /// else a program that ends right after its handshake would be started again without end.
    pub(super) fn died(&mut self, seq: u64, why: String, now: Instant) -> Vec<Act> {
        let Some(place) = self.place(seq) else {
            return Vec::new();
        };
        let Some(instance) = place.live().cloned() else {
            return Vec::new();
        };
        let key = place.key.clone();
        let mut acts = Vec::new();
        if instance.calls() == 0 {
            let failure = Failure {
                server: instance.link().label(),
                kind: FailureKind::NoAnswer {
                    delivery: Delivery::NotSent,
                    cause: Cause::Closed,
                    why: format!("it ended right after its start: {why}"),
                },
                stderr: None,
            };
            acts = self.refuse_all(&key, &failure, now);
        }
        acts.extend(self.end(seq, Ending::Died { why }));
        acts
    }

    /// Ends an instance whether it is used or not.
    pub(super) fn end(&mut self, seq: u64, why: Ending) -> Option<Act> {
        end(self.place(seq)?, why)
    }

    /// An instance has ended: its place is free. The place is to be dropped without the lock.
    pub(super) fn ended(&mut self, seq: u64) -> Option<Place> {
        let at = self.places.iter().position(|place| place.seq == seq)?;
        Some(self.places.swap_remove(at))
    }

    /// A start succeeded. Returns the instance back when nobody wants it any more.
    pub(super) fn started(&mut self, instance: &Arc<Instance>, now: Instant) -> bool {
        self.backoff.reset();
        let Some(place) = self.place(instance.seq()) else {
            return false;
        };
        place.phase = Phase::Live(Arc::clone(instance));
        (place.last_used, place.granted) = (now, now);
        true
    }

    /// A start failed: who waits for this key is told, and nothing is tried for a while.
    pub(super) fn start_failed(&mut self, seq: u64, failure: &Failure, now: Instant) -> Vec<Act> {
        match self.ended(seq) {
            Some(place) => self.refuse_all(&place.key, failure, now),
            None => Vec::new(),
        }
    }

    fn refuse_all(&mut self, key: &Key, failure: &Failure, now: Instant) -> Vec<Act> {
        self.backoff.failed(failure.clone(), now);
        let (told, left): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.queue)
            .into_iter()
            .partition(|waiter| waiter.key == *key);
        self.queue = left;
        told.into_iter()
            .map(|waiter| {
                let failure = failure.clone();
                let retry_in = None;
                Act::Refuse(waiter.reply, LeaseError::Start { failure, retry_in })
            })
            .collect()
    }

    /// Begins a place for a key that has none, when there is room.
    pub(super) fn begin(&mut self, key: &Key, ends_with_caller: bool, now: Instant) -> Begun {
        let there = self.places.iter().filter(|place| place.is_in(key.lane()));
        if there.count() >= self.sizes.max {
            return Begun::Full;
        }
        let permit = match &self.cap {
            None => None,
            Some(cap) => match self.spare.pop().or_else(|| cap.try_take()) {
                Some(permit) => Some(permit),
                None => return Begun::CapReached,
            },
        };
        self.last_seq += 1;
        let seq = self.last_seq;
        self.places.push(Place {
            seq,
            key: key.clone(),
            phase: Phase::Starting(now + self.sizes.start + 2 * SLACK),
            holders: 0,
            last_used: now,
            granted: now,
            ends_with_caller,
            retired: None,
            _permit: permit,
        });
        Begun::Place(Act::Start {
            seq,
            key: key.clone(),
        })
    }

    /// Refuses everybody and ends everything.
    pub(super) fn close(&mut self) -> Vec<Act> {
        self.is_closed = true;
        let mut acts: Vec<Act> = std::mem::take(&mut self.queue)
            .into_iter()
            .map(|waiter| Act::Refuse(waiter.reply, LeaseError::Closed))
            .collect();
        acts.extend(
            self.places
                .iter_mut()
                .filter_map(|place| end(place, Ending::Closed)),
        );
        acts
    }
}

/// What came of wanting a place.
pub(super) enum Begun {
    Place(Act),
    Full,
    CapReached,
}

fn end(place: &mut Place, why: Ending) -> Option<Act> {
    let instance = Arc::clone(place.live()?);
    place.phase = Phase::Ending;
    Some(Act::End(instance, why))
}
