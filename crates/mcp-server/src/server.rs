//! A server: a service, and what all of its clients share.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use mcp_wire::{RpcError, error};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::Connection;
use crate::tasks::Tasks;
use crate::{Config, Context, Incoming, Limits, Notifier, Offer, Reply, Sealer, Service};

/// The code of an error that says there is no room. Not one of the protocol's: this happened here.
pub(crate) const BUSY: i64 = 503;

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A service ready to be served. A clone is the same server.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// What all clones of a server share. Nothing of it is for others.
pub struct Shared {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) config: Config,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) notifier: Notifier,
    pub(crate) tasks: Tasks,
    pub(crate) closing: CancellationToken,
    pub(crate) running: TaskTracker,
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) listeners: Arc<Semaphore>,
    connections: AtomicU64,
    /// Instead of [`Limits::message_bytes`] and [`Limits::task_ttl`], which may change while it runs.
    message_bytes: AtomicUsize,
    task_ttl_ms: AtomicU64,
}

impl std::ops::Deref for Server {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Server {
    /// A server for `service`, which announces changes with `notifier` and seals states with `sealer`.
    #[must_use]
    pub fn new(
        service: Arc<dyn Service>,
        notifier: Notifier,
        sealer: Arc<Sealer>,
        config: Config,
    ) -> Self {
        let limits = &config.limits;
        Self(Arc::new(Shared {
            service,
            sealer,
            notifier,
            tasks: Tasks::new(limits.tasks),
            closing: CancellationToken::new(),
            running: TaskTracker::new(),
            requests: Arc::new(Semaphore::new(limits.requests)),
            listeners: Arc::new(Semaphore::new(limits.listeners)),
            connections: AtomicU64::new(0),
            message_bytes: AtomicUsize::new(limits.message_bytes),
            task_ttl_ms: AtomicU64::new(millis(limits.task_ttl)),
            config,
        }))
    }

    /// From now on messages may have so many bytes, and new tasks are kept at most so long; instead of
    /// [`Limits::message_bytes`] and [`Limits::task_ttl`].
    pub fn resize(&self, message_bytes: usize, task_ttl: Duration) {
        self.0.message_bytes.store(message_bytes, Ordering::Relaxed);
        self.0
            .task_ttl_ms
            .store(millis(task_ttl), Ordering::Relaxed);
    }

    /// Ends it: subscriptions end with their answer, requests may go on for [`Limits::grace`], what then still runs is
    /// cancelled and dropped.
    pub async fn shut_down(&self) {
        self.closing.cancel();
        self.tasks.cancel_all();
        self.running.close();
        let wait = self.config.limits.grace.saturating_mul(3);
        let _ended = tokio::time::timeout(wait, self.running.wait()).await;
    }

    /// How many requests, tasks and streams run at this moment.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.len()
    }
}

impl Shared {
    pub(crate) fn limits(&self) -> &Limits {
        &self.config.limits
    }

    pub(crate) fn message_bytes(&self) -> usize {
        self.message_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn task_ttl(&self) -> Duration {
        Duration::from_millis(self.task_ttl_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn offer(&self) -> Arc<Offer> {
        self.service.offer()
    }

    pub(crate) fn now(&self) -> jiff::Timestamp {
        (self.config.clock)()
    }

    /// A new connection, which ends when the server does.
    pub(crate) fn connect(&self, principal: Option<String>) -> Arc<Connection> {
        let number = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        Arc::new(Connection::new(number, principal, CancellationToken::new()))
    }

    /// Room for one more.
    pub(crate) fn room(
        semaphore: &Arc<Semaphore>,
        what: &str,
    ) -> Result<OwnedSemaphorePermit, RpcError> {
        Arc::clone(semaphore)
            .try_acquire_owned()
            .map_err(|_| RpcError::new(BUSY, format!("too many {what} at once; try again later")))
    }

    /// Hands a request to the service. A panic in it ends this request; a cancelled one is dropped after its grace.
    pub(crate) async fn call_service(
        &self,
        incoming: Incoming,
        context: Context,
    ) -> Result<Reply, RpcError> {
        let cancelled = context.cancelled.clone();
        let method = incoming.method.clone();
        let work = AssertUnwindSafe(self.service.handle(incoming, context)).catch_unwind();
        let dropped = async {
            let grace = self.limits().grace;
            tokio::select! {
                () = cancelled.cancelled() => {}
                () = self.closing.cancelled() => {
                    let _cancelled = tokio::time::timeout(grace, cancelled.cancelled()).await;
                    cancelled.cancel();
                }
            }
            tokio::time::sleep(grace).await;
        };
        tokio::select! {
            biased;
            reply = work => reply.unwrap_or_else(|_| {
                Err(RpcError::new(error::INTERNAL_ERROR, format!("the server failed while it answered `{method}`")))
            }),
            () = dropped => Err(RpcError::new(error::INTERNAL_ERROR, "the request was cancelled")),
            () = tokio::time::sleep(self.limits().call) => Err(RpcError::new(
                error::INTERNAL_ERROR,
                format!("the request ran longer than {} s", self.limits().call.as_secs()),
            )),
        }
    }

    /// Tells the service of resources that nobody watches any more.
    pub(crate) async fn unwatch(&self, uris: impl IntoIterator<Item = String>) {
        for uri in uris {
            if !self.notifier.is_watched(&uri) {
                let told = self.service.unwatch(&uri);
                let _told = tokio::time::timeout(self.limits().grace, told).await;
            }
        }
    }
}
