//! The right to use an instance for one call. Dropping it gives the instance back or ends it, whatever happened to the
//! call: an answer, a panic, or a caller that went away.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use mcp_client::{Connection, Failure};
use tokio_util::sync::CancellationToken;

use super::{instance::Instance, pool::Pool};

/// How long a caller waits for an instance.
#[derive(Debug, Clone)]
pub struct Wait {
    /// For room, or for the callers before it. Waiting for a start that is under way has its own deadline, the server's
    /// start timeout, and is not cut by this one.
    pub queue: Duration,
    /// For a start, where that is shorter than the time that the start has: another server that shares the instances may
    /// give it more. `None`: as long as it takes.
    pub start: Option<Duration>,
    /// The caller does not want it any more.
    pub cancelled: CancellationToken,
}

/// Why there is no lease. In each case nothing was sent to the server.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LeaseError {
    /// Others had all there is, until the deadline. Another try may help.
    #[error("{}", exhausted(*waited, *max, holders))]
    Exhausted {
        /// How long it was waited for.
        waited: Duration,
        /// Most instances at a time.
        max: usize,
        /// What is in use: an instance, whose it is and by how many calls; never empty unless others' servers fill the
        /// hub.
        holders: Vec<String>,
    },
    /// The server cannot be started, or could not a moment ago.
    #[error("{failure}")]
    Start {
        /// Why.
        failure: Failure,
        /// When it is tried again: until then calls fail at once with the failure of the last try. `None`: it was tried
        /// just now.
        retry_in: Option<Duration>,
    },
    /// The caller gave up.
    #[error("the caller gave up while it waited for an instance")]
    Cancelled,
    /// The hub stops, or the server was taken out of the configuration.
    #[error("the server was closed: the hub stops, or its entry is no longer there")]
    Closed,
}

fn exhausted(waited: Duration, max: usize, holders: &[String]) -> impl fmt::Display {
    let held = if holders.is_empty() {
        String::new()
    } else {
        format!("; in use: {}", holders.join(", "))
    };
    format!(
        "pool exhausted: none of at most {max} instances was free within {:.1} s{held}\n\
         hint: try again, or raise `max` of the server or the queue's time",
        waited.as_secs_f64()
    )
}

/// The right to use an instance for one call.
pub struct Lease {
    pool: Arc<Pool>,
    instance: Arc<Instance>,
    poison: Mutex<Option<String>>,
}

impl Lease {
    pub(super) fn new(pool: Arc<Pool>, instance: Arc<Instance>) -> Self {
        Self {
            pool,
            instance,
            poison: Mutex::default(),
        }
    }

    /// Returns the instance.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Returns the connection to call on.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        self.instance.connection()
    }

    /// Nobody gets this instance any more; it ends when its last lease is given back. `why` goes to the log.
    pub fn poison(&self, why: impl Into<String>) {
        let why = why.into();
        self.poison
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(|| why.clone());
        self.pool.retire(self.instance.seq(), why);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let poison = self
            .poison
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        self.pool.give_back(self.instance.seq(), poison);
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({})", self.instance.id())
    }
}
