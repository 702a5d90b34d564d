//! One running process or session of a server.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_client::{Connection, Event, Label};
use mcpx_config::{Scope, Sharing};
use tokio::{sync::broadcast, time::Instant};

use super::{launch::EraSource, levels::Told, scope::Key, users::Users};

/// What an instance is spoken to over. Tests put something else than a connection behind it.
pub(super) enum Link {
    Real(Connection),
    #[cfg(test)]
    Fake(super::pool::fake::FakeLink),
}

impl Link {
    pub(super) fn events(&self) -> broadcast::Receiver<Event> {
        match self {
            Self::Real(connection) => connection.events(),
            #[cfg(test)]
            Self::Fake(fake) => fake.events(),
        }
    }

    /// Whether it is known to be gone. A server over HTTP is asked by the next call.
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Real(connection) => connection.is_closed(),
            #[cfg(test)]
            Self::Fake(fake) => fake.is_closed(),
        }
    }

    /// Ends it; returns the process ids of what could not be ended.
    pub(super) async fn close(&self) -> Vec<i32> {
        match self {
            Self::Real(connection) => connection.close().await,
            #[cfg(test)]
            Self::Fake(fake) => fake.close().await,
        }
    }

    pub(super) fn label(&self) -> Label {
        match self {
            Self::Real(connection) => connection.label(),
            #[cfg(test)]
            Self::Fake(_) => super::pool::fake::failure().server,
        }
    }

    fn pid(&self) -> Option<i32> {
        match self {
            Self::Real(connection) => connection.pid(),
            #[cfg(test)]
            Self::Fake(_) => None,
        }
    }

    fn protocol(&self) -> String {
        match self {
            Self::Real(connection) => connection.agreed().revision.as_str().to_owned(),
            #[cfg(test)]
            Self::Fake(_) => mcp_wire::Revision::NEWEST.as_str().to_owned(),
        }
    }
}

/// How an instance was started.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// How many callers it serves at a time, as configured or as learned.
    pub sharing: Sharing,
    /// What it belongs to.
    pub scope: Scope,
    /// From where it was known which era it speaks.
    pub era_source: EraSource,
    /// When its start began.
    pub began: Instant,
    /// How long it took to become ready.
    pub ready: Duration,
}

/// One running process or session of a server.
pub struct Instance {
    id: String,
    seq: u64,
    key: Key,
    trace: String,
    pid: Option<i32>,
    about: About,
    calls: AtomicU64,
    subscriptions: AtomicUsize,
    users: Users,
    told: Told,
    /// Whether a caller came that can answer more than was declared.
    lacks: AtomicBool,
    link: Link,
}

impl Instance {
    pub(super) fn new(name: &str, seq: u64, key: Key, link: Link, about: About) -> Self {
        Self {
            id: id(name, seq),
            seq,
            key,
            trace: format!("srv-{:016x}", fastrand::u64(..)),
            pid: link.pid(),
            about,
            calls: AtomicU64::new(0),
            subscriptions: AtomicUsize::new(0),
            users: Users::default(),
            told: Told::default(),
            lacks: AtomicBool::new(false),
            link,
        }
    }

    /// Returns `name#seq`. The number grows and is never given twice in the life of a pool.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns its number in its pool.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns whose it is.
    #[must_use]
    pub const fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the log's span of its life, `srv-` and 16 hexadecimal digits.
    #[must_use]
    pub fn trace(&self) -> &str {
        &self.trace
    }

    /// Returns the process, when it is a program.
    #[must_use]
    pub const fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// Returns how many leases of it were given.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(super) fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how long it has run, its start included.
    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.about.began.elapsed()
    }

    /// Returns how long it took to become ready.
    #[must_use]
    pub const fn ready_after(&self) -> Duration {
        self.about.ready
    }

    /// Returns how it was started.
    #[must_use]
    pub const fn about(&self) -> About {
        self.about
    }

    /// Returns the revision that is spoken.
    #[must_use]
    pub fn protocol(&self) -> String {
        self.link.protocol()
    }

    /// Returns the connection. It may be gone by now: calls on it then fail as not sent.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        match &self.link {
            Link::Real(connection) => connection,
            #[cfg(test)]
            Link::Fake(_) => panic!("a fake instance has no connection"),
        }
    }

    /// Returns the connection; `None` where a test put something else behind it.
    pub(super) fn live_connection(&self) -> Option<&Connection> {
        match &self.link {
            Link::Real(connection) => Some(connection),
            #[cfg(test)]
            Link::Fake(_) => None,
        }
    }

    /// Returns who made calls on it.
    #[must_use]
    pub fn users(&self) -> &Users {
        &self.users
    }

    pub(super) const fn told(&self) -> &Told {
        &self.told
    }

    /// Notes that a caller can answer more than was declared; whether that is news.
    pub(super) fn is_first_lack(&self) -> bool {
        !self.lacks.swap(true, Ordering::Relaxed)
    }

    /// Keeps it from ending for idleness until the value is dropped; for who is told when a resource changes.
    #[must_use]
    pub fn subscribe(self: &Arc<Self>) -> Subscription {
        self.subscriptions.fetch_add(1, Ordering::SeqCst);
        Subscription {
            instance: Arc::clone(self),
        }
    }

    /// Returns how many subscriptions there are.
    #[must_use]
    pub fn subscriptions(&self) -> usize {
        self.subscriptions.load(Ordering::SeqCst)
    }

    pub(super) const fn link(&self) -> &Link {
        &self.link
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instance({} of {})", self.id, self.key)
    }
}

/// Somebody is told of an instance's changes. Holds the instance, not its process: that may end meanwhile.
#[derive(Debug)]
pub struct Subscription {
    instance: Arc<Instance>,
}

impl Subscription {
    /// Returns the instance.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.instance.subscriptions.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(super) fn id(name: &str, seq: u64) -> String {
    format!("{name}#{seq}")
}
