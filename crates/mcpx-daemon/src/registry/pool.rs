//! The instances behind one launch identity, and who may use them.
//!
//! A caller gets a [`Lease`] by its [key](super::scope): the instance of the key is used again, or one is started while
//! there are fewer than `max`, or the one that was unused for the longest time makes room, or the caller waits in order
//! and with a deadline. Every pool has its own failures: a server that cannot be started fails fast with the stored
//! reason and delays no other.
//!
//! `min` instances stay when nobody uses them. For the scope `global` it is started at the first sweep. For the other
//! scopes nobody knows the keys beforehand: from the first lease of a key on, up to `min` of the keys that were used last
//! keep their instance, and get it again when it died. Keys that end with their caller never count.

mod alarm;
mod backoff;
mod cap;
mod desk;
#[cfg(test)]
pub(super) mod fake;
mod life;
mod restart;
mod status;
mod sweep;
#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use mcp_client::{Event, Failure};
use mcpx_config::{Server, Sharing};
use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    alarm::{Alarm, Rung},
    desk::{Act, Desk, Sizes},
    life::{Launched, Starter},
};
pub use self::{cap::Cap, restart::Restarted, status::PoolStatus};
pub use super::lease::{Lease, LeaseError, Wait};
use super::{
    instance::Instance,
    launch::Launch,
    scope::{Key, Scoped},
};

/// The longest wait that a clock can hold; longer ones are cut to it.
const FOREVER: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Why an instance ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ending {
    /// Nobody used it for the idle time, or there were more than `max` allows now.
    #[error("nobody used it")]
    Idle,
    /// Its room was needed for another caller.
    #[error("its room was needed for another caller")]
    Evicted,
    /// It ended by itself, or its connection was lost.
    #[error("it ended by itself: {why}")]
    Died {
        /// In words; may hold text from outside.
        why: String,
    },
    /// A caller said that it is not to be used again.
    #[error("it is not to be used again: {why}")]
    Poisoned {
        /// In words; may hold text from outside.
        why: String,
    },
    /// A person restarted the server.
    #[error("the server was restarted")]
    Restarted,
    /// It belonged to a caller that is done.
    #[error("its caller is done")]
    CallerDone,
    /// It belonged to a process that ended.
    #[error("the process it belonged to ended")]
    ProcessGone,
    /// The hub stops, or the server was taken out of the configuration.
    #[error("the server was closed")]
    Closed,
}

/// Told of what happens in a pool, never with a lock held. Must not block.
pub trait PoolWatch: Send + Sync {
    /// An instance is ready, so long after its start.
    fn started(&self, instance: &Instance, ready: Duration);
    /// An instance is not used any more and is being ended.
    fn ended(&self, instance: &Instance, why: Ending);
    /// Something a person should know, once per server and reason.
    fn warned(&self, server: &str, text: String);
    /// An instance said something that belongs to no call.
    fn event(&self, instance: &Instance, event: Event);
    /// An instance could not be started.
    fn start_failed(&self, server: &str, failure: &Failure);
}

/// The instances behind one launch identity.
pub struct Pool {
    desk: Mutex<Desk>,
    server: Mutex<Arc<Server>>,
    starter: Arc<dyn Starter>,
    watch: Arc<dyn PoolWatch>,
    /// What was warned of.
    warned: Mutex<HashSet<String>>,
    /// Starts and ends; joined by `close`.
    tasks: TaskTracker,
    closing: CancellationToken,
    /// Told when a place is free.
    changed: Notify,
    runtime: OnceLock<Handle>,
}

impl Pool {
    /// A pool without instances; nothing is started before somebody asks or [`Pool::sweep`] runs.
    #[must_use]
    pub fn new(
        server: Arc<Server>,
        launch: Arc<dyn Launch>,
        watch: Arc<dyn PoolWatch>,
    ) -> Arc<Self> {
        Self::build(server, Arc::new(Launched(launch)), watch, None)
    }

    /// A pool that shares a most number of instances with others.
    #[must_use]
    pub fn capped(
        server: Arc<Server>,
        launch: Arc<dyn Launch>,
        watch: Arc<dyn PoolWatch>,
        cap: &Arc<Cap>,
    ) -> Arc<Self> {
        Self::build(server, Arc::new(Launched(launch)), watch, Some(cap))
    }

    fn build(
        server: Arc<Server>,
        starter: Arc<dyn Starter>,
        watch: Arc<dyn PoolWatch>,
        cap: Option<&Arc<Cap>>,
    ) -> Arc<Self> {
        let is_exclusive = server.sharing == Sharing::Exclusive || server.single_caller_questions;
        let desk = Desk::new(sizes(&server), is_exclusive, cap.map(Arc::clone));
        let pool = Arc::new(Self {
            desk: Mutex::new(desk),
            server: Mutex::new(server),
            starter,
            watch,
            warned: Mutex::default(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            changed: Notify::new(),
            runtime: OnceLock::new(),
        });
        if let Some(cap) = cap {
            cap.join(&pool);
        }
        pool
    }

    /// Takes up other sizes and timeouts. Instances stay; those that are too many end when they are unused.
    pub fn reconfigure(self: &Arc<Self>, server: Arc<Server>) {
        let sizes = sizes(&server);
        let is_exclusive = server.sharing == Sharing::Exclusive || server.single_caller_questions;
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = server;
        self.change(|desk, _| {
            desk.sizes = sizes;
            desk.is_exclusive |= is_exclusive;
        });
    }

    /// From now on an instance serves one call at a time: the server asks what cannot be attributed otherwise. Returns
    /// whether that is news. The pool does it by itself when it sees such a question, and says so by a warning.
    pub fn learn_exclusive(&self) -> bool {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut desk.is_exclusive, true)
    }

    /// Whether an instance serves one call at a time.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.desk
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_exclusive
    }

    /// Whether it does so although nobody configured it: see [`Pool::learn_exclusive`].
    #[must_use]
    pub fn has_learned_exclusive(&self) -> bool {
        let server = self.server();
        let is_configured = server.sharing == Sharing::Exclusive || server.single_caller_questions;
        !is_configured && self.is_exclusive()
    }

    /// Waits for the right to use an instance for one call.
    ///
    /// # Errors
    ///
    /// [`LeaseError`]. Nothing was sent to a server.
    pub async fn lease(self: &Arc<Self>, scoped: &Scoped, wait: Wait) -> Result<Lease, LeaseError> {
        self.in_runtime();
        self.warn_of_degradation(scoped);
        let began = Instant::now();
        let start = self.server().start_timeout;
        let mut alarm = Alarm::set(began, &wait, start);
        let (reply, mut answer) = oneshot::channel();
        let ticket = self
            .change(|desk, _| (!desk.is_closed).then(|| desk.queue(scoped, reply)))
            .ok_or(LeaseError::Closed)?;
        // Dropped before `answer`: what was granted meanwhile comes back when that is dropped.
        let _place_in_queue = InQueue { pool: self, ticket };
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return answer.unwrap_or(Err(LeaseError::Closed)),
                () = wait.cancelled.cancelled() => return Err(LeaseError::Cancelled),
                () = sleep_until(alarm.at) => match alarm.rings(self.starting(&scoped.key)) {
                    Rung::Waits => {}
                    Rung::Exhausted => {
                        return Err(self.exhausted(scoped.key.lane(), began.elapsed()));
                    }
                    Rung::StartsTooLong(limit) => return Err(self.not_ready(limit)),
                },
            }
        }
    }

    /// Ends instances that belong to a caller that went away, as soon as nobody uses them. Those that others may share,
    /// such as a repository's, stay. Returns how many.
    pub async fn release(self: &Arc<Self>, keys: &[Key]) -> usize {
        self.in_runtime();
        let is_released = |key: &Key| keys.iter().any(|released| key.has_owner_of(released));
        self.change(|desk, _| {
            let mut released = 0;
            desk.recent
                .retain(|key| !(key.is_callers_own() && is_released(key)));
            for place in &mut desk.places {
                if place.key.is_callers_own() && is_released(&place.key) && place.release() {
                    released += 1;
                }
            }
            released
        })
    }

    /// Refuses everybody who waits, ends everything, and waits for that, some seconds at most.
    pub async fn close(self: &Arc<Self>) {
        self.in_runtime();
        self.closing.cancel();
        let acts = self
            .desk
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .close();
        self.act(acts);
        self.tasks.close();
        let _left_to_the_runtime = tokio::time::timeout(life::CLOSING, self.tasks.wait()).await;
    }

    /// Changes the desk, gives out what that made possible, and does it with the lock given back.
    fn change<T>(self: &Arc<Self>, change: impl FnOnce(&mut Desk, Instant) -> T) -> T {
        let now = Instant::now();
        let (changed, acts, is_needed_elsewhere) = {
            let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
            let changed = change(&mut desk, now);
            let acts = desk.pump(now);
            let is_hungry = desk.cap.as_ref().is_some_and(|cap| cap.is_hungry());
            (changed, acts, is_hungry && desk.has_spare())
        };
        self.act(acts);
        if is_needed_elsewhere {
            self.give_up_one();
        }
        changed
    }

    fn act(self: &Arc<Self>, acts: Vec<Act>) {
        for act in acts {
            match act {
                // A caller that went away drops what it is sent, and the lease comes back.
                Act::Grant(reply, instance) => {
                    let lease = Lease::new(Arc::clone(self), instance);
                    drop(reply.send(Ok(lease)));
                }
                Act::Refuse(reply, why) => drop(reply.send(Err(why))),
                Act::Start { seq, key } => self.start(seq, key),
                Act::End(instance, why) => self.end(instance, why),
                Act::WaitForCap(over) => self.wait_for_cap(over),
            }
        }
    }

    pub(super) fn give_back(self: &Arc<Self>, seq: u64, poison: Option<String>) {
        self.change(|desk, now| desk.give_back(seq, poison, now));
    }

    pub(super) fn retire(self: &Arc<Self>, seq: u64, why: String) {
        self.change(|desk, _| desk.retire(seq, Ending::Poisoned { why }));
    }

    /// Since when an instance is unused, the longest; those that `min` keeps come after all others.
    fn spare_since(&self) -> Option<(bool, Instant)> {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let is_kept = desk.places.len() <= desk.sizes.min;
        let place = desk.unused_longest(|_| true)?;
        Some((is_kept, place.last_used))
    }

    fn give_up_one(self: &Arc<Self>) {
        let act = {
            let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
            let seq = desk.unused_longest(|_| true).map(|place| place.seq);
            seq.and_then(|seq| desk.end(seq, Ending::Evicted))
        };
        self.act(act.into_iter().collect());
    }

    fn starting(&self, key: &Key) -> Option<(Instant, Instant)> {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.starting(key)
    }

    fn warn_of_degradation(&self, scoped: &Scoped) {
        let Some(degraded) = &scoped.degraded else {
            return;
        };
        let news = self
            .warned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(degraded.kind());
        if news {
            self.watch.warned(&self.server().name, degraded.to_string());
        }
    }

    fn server(&self) -> Arc<Server> {
        Arc::clone(&self.server.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers where tasks run: a lease may be dropped by a thread that knows no runtime.
    fn in_runtime(&self) {
        let _known_before = self.runtime.get_or_init(Handle::current);
    }
}

/// A caller in the queue. Dropped, it is in it no more.
struct InQueue<'a> {
    pool: &'a Arc<Pool>,
    ticket: u64,
}

impl Drop for InQueue<'_> {
    fn drop(&mut self) {
        let was_waiting = {
            let mut desk = self
                .pool
                .desk
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            desk.leave(self.ticket)
        };
        // What was reserved for it is for others now.
        if was_waiting {
            self.pool.change(|_, _| ());
        }
    }
}

fn sizes(server: &Server) -> Sizes {
    let max = server.max.max(1);
    Sizes {
        max,
        min: server.min.min(max),
        idle: server.idle_timeout,
        start: server.start_timeout.min(FOREVER),
    }
}
