//! Starting, watching and ending an instance: the tasks behind the desk.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, PoisonError, Weak},
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture};
use mcp_client::{Cause, Delivery, Event, Failure, FailureKind, Label};
use mcpx_config::{Protocol, Server, Sharing};
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{Ending, Pool};
use crate::registry::{
    instance::{self, About, Instance, Link},
    launch::{EraSource, Launch},
    scope::{Key, Lane},
};

/// How long ending one instance may take before its place is given away all the same. Far above the grace that a program
/// gets.
const END: Duration = Duration::from_secs(20);
/// How long closing a pool may take.
pub(super) const CLOSING: Duration = Duration::from_secs(25);
/// What a start gets on top of the server's own time, in which it ends by itself and says why. Who waits for it waits
/// longer than that, to be told.
pub(super) const SLACK: Duration = Duration::from_secs(5);

/// Starts what an instance is spoken to over.
pub(super) trait Starter: Send + Sync {
    fn start(
        &self,
        server: Arc<Server>,
        id: String,
        key: Key,
    ) -> BoxFuture<'static, Result<(Link, EraSource), Failure>>;
}

/// Starts connections.
pub(super) struct Launched(pub(super) Arc<dyn Launch>);

impl Starter for Launched {
    fn start(
        &self,
        server: Arc<Server>,
        id: String,
        key: Key,
    ) -> BoxFuture<'static, Result<(Link, EraSource), Failure>> {
        let launch = Arc::clone(&self.0);
        async move {
            let reached = launch.launch_for(&server, &id, &key).await?;
            Ok((Link::Real(reached.connection), reached.era_source))
        }
        .boxed()
    }
}

impl Pool {
    /// Starts an instance for a place. No caller owns the start: all may go away, and it goes on.
    pub(super) fn start(self: &Arc<Self>, seq: u64, key: Key) {
        let pool = Arc::clone(self);
        let started = async move {
            let began = Instant::now();
            let server = pool.to_launch(&key);
            let launched = pool.launch(&server, seq, &key).await;
            match launched {
                Ok((link, era_source)) => {
                    let about = About {
                        sharing: if pool.is_exclusive() {
                            Sharing::Exclusive
                        } else {
                            Sharing::Shared
                        },
                        scope: server.scope,
                        era_source,
                        began,
                        ready: began.elapsed(),
                    };
                    pool.take_in(Instance::new(&server.name, seq, key, link, about))
                        .await;
                }
                Err(failure) => {
                    // A start that was stopped with the pool is nobody's failure.
                    if !pool.closing.is_cancelled() {
                        pool.watch.start_failed(&pool.server().name, &failure);
                    }
                    let acts = {
                        let mut desk = pool.desk.lock().unwrap_or_else(PoisonError::into_inner);
                        desk.start_failed(seq, &failure, Instant::now())
                    };
                    pool.act(acts);
                    pool.change(|_, _| ());
                }
            }
        };
        self.spawn(started);
    }

    /// The server as it is started for a key.
    fn to_launch(&self, key: &Key) -> Arc<Server> {
        let mut server = self.server();
        if self.is_exclusive() && !server.single_caller_questions {
            Arc::make_mut(&mut server).single_caller_questions = true;
        }
        if server.protocol == Protocol::Follow {
            Arc::make_mut(&mut server).protocol = match key.lane() {
                Lane::Newest => Protocol::PreferDiscover,
                Lane::Legacy => Protocol::PreferInitialize,
            };
        }
        server
    }

    async fn launch(
        &self,
        server: &Arc<Server>,
        seq: u64,
        key: &Key,
    ) -> Result<(Link, EraSource), Failure> {
        let limit = server.start_timeout.min(super::FOREVER) + SLACK;
        let id = instance::id(&server.name, seq);
        let starting = self.starter.start(Arc::clone(server), id, key.clone());
        let starting = AssertUnwindSafe(starting).catch_unwind();
        let not_started = |why: String| self.not_started(why);
        tokio::select! {
            () = self.closing.cancelled() => Err(not_started("the pool was closed".to_owned())),
            started = timeout(limit, starting) => match started {
                Ok(Ok(started)) => started,
                Ok(Err(_panic)) => Err(not_started("its start broke; this is a defect of the hub".to_owned())),
                Err(_) => Err(not_started(format!("it was not started within {} s", limit.as_secs_f64()))),
            },
        }
    }

    /// There is no connection, and no server said why.
    pub(super) fn not_started(&self, why: String) -> Failure {
        Failure {
            server: Label {
                name: self.server().name.clone(),
                resolved: String::new(),
            },
            kind: FailureKind::NoAnswer {
                delivery: Delivery::NotSent,
                cause: Cause::Start,
                why,
            },
            stderr: None,
        }
    }

    /// Puts a started instance into its place.
    async fn take_in(self: &Arc<Self>, instance: Instance) {
        let instance = Arc::new(instance);
        let seq = instance.seq();
        let events = instance.link().events();
        let is_wanted = !self.closing.is_cancelled()
            && self
                .desk
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .started(&instance, Instant::now());
        if !is_wanted {
            let _gave_up = timeout(END, instance.link().close()).await;
            self.free(seq);
            return;
        }
        self.watch.started(&instance, instance.ready_after());
        // The listener keeps neither the pool nor the instance: both end when nobody has them.
        let listening = listen(Arc::downgrade(self), seq, events);
        if let Some(runtime) = self.runtime.get() {
            drop(runtime.spawn(listening));
        }
        self.change(|_, _| ());
        // Closed in between: nobody else ends it.
        if self.closing.is_cancelled() {
            self.end_now(seq, Ending::Closed);
        }
    }

    /// Ends an instance whose place is marked so already.
    pub(super) fn end(self: &Arc<Self>, instance: Arc<Instance>, why: Ending) {
        self.watch.ended(&instance, why);
        let pool = Arc::clone(self);
        let ending = async move {
            let survivors = timeout(END, instance.link().close()).await;
            let text = match survivors {
                Ok(survivors) if survivors.is_empty() => None,
                Ok(survivors) => Some(format!("could not end the processes {survivors:?}")),
                Err(_) => Some(format!("did not end within {} s", END.as_secs())),
            };
            if let Some(text) = text {
                let text = format!("{}: {text}", instance.id());
                pool.watch.warned(&pool.server().name, text);
            }
            let seq = instance.seq();
            drop(instance);
            pool.free(seq);
        };
        self.spawn(ending);
    }

    /// Ends an instance whether it is used or not.
    pub(super) fn end_now(self: &Arc<Self>, seq: u64, why: Ending) {
        let act = {
            let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
            desk.end(seq, why)
        };
        self.act(act.into_iter().collect());
        self.change(|_, _| ());
    }

    fn free(self: &Arc<Self>, seq: u64) {
        let place = self.change_only(|desk| desk.ended(seq));
        // With what it holds, and before others look for room.
        drop(place);
        self.change(|_, _| ());
        self.changed.notify_waiters();
    }

    /// Waits for a place among all pools' instances, until the pool is closed or has nobody to start for.
    pub(super) fn wait_for_cap(self: &Arc<Self>, over: CancellationToken) {
        let Some(cap) = self.change_only(|desk| desk.cap.clone()) else {
            return;
        };
        let pool = Arc::clone(self);
        let waiting = async move {
            let taken = tokio::select! {
                () = pool.closing.cancelled() => return,
                () = over.cancelled() => return,
                taken = cap.take() => taken,
            };
            pool.change(|desk, _| {
                if !over.is_cancelled() {
                    desk.waits_for_cap = None;
                }
                desk.spare.extend(taken);
            });
            // Nobody wanted it any more.
            let left = pool.change_only(|desk| std::mem::take(&mut desk.spare));
            drop(left);
        };
        self.spawn(waiting);
    }

    pub(super) fn change_only<T>(&self, change: impl FnOnce(&mut super::Desk) -> T) -> T {
        change(&mut self.desk.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        // Every way to a place begins in a runtime.
        if let Some(runtime) = self.runtime.get() {
            drop(self.tasks.spawn_on(task, runtime));
        }
    }

    /// What runs at this moment.
    pub(crate) fn running(&self) -> Vec<Arc<Instance>> {
        let live = |desk: &mut super::Desk| {
            let places = desk.places.iter();
            places.filter_map(|place| place.live().cloned()).collect()
        };
        self.change_only(live)
    }

    fn live(&self, seq: u64) -> Option<Arc<Instance>> {
        self.change_only(|desk| desk.place(seq)?.live().cloned())
    }
}

/// Passes on what an instance says, until it is gone.
async fn listen(pool: Weak<Pool>, seq: u64, mut events: broadcast::Receiver<Event>) {
    loop {
        let event = events.recv().await;
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let why = match event {
            // What is lost was said to nobody in particular, and the end is asked for besides; that a list changed may
            // have been in it.
            Err(RecvError::Lagged(_)) => {
                let Some(instance) = pool.live(seq) else {
                    return;
                };
                for changed in [
                    Event::ToolsChanged,
                    Event::PromptsChanged,
                    Event::ResourcesChanged,
                ] {
                    pool.watch.event(&instance, changed);
                }
                continue;
            }
            Err(RecvError::Closed) => "its connection is gone".to_owned(),
            Ok(event) => {
                let Some(instance) = pool.live(seq) else {
                    return;
                };
                pool.heard(&instance, &event);
                pool.watch.event(&instance, event.clone());
                match event {
                    Event::Closed { why } => why,
                    _ => continue,
                }
            }
        };
        let acts = pool.change_only(|desk| desk.died(seq, why, Instant::now()));
        pool.act(acts);
        pool.change(|_, _| ());
        return;
    }
}

impl Pool {
    fn heard(&self, instance: &Instance, event: &Event) {
        if let Event::Unattributed { method } = event
            && self.learn_exclusive()
        {
            let method: String = method.chars().take(60).collect();
            let text = format!(
                "{} sent `{method}` while several calls were open, so nobody could be asked; from now on it serves one call \
                 at a time\nhint: write `\"sharing\": \"exclusive\"` into its entry",
                instance.id()
            );
            self.watch.warned(&self.server().name, text);
        }
    }
}
