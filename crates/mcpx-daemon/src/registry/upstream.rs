//! The daemon's view of a configured server, and what stands behind one or several of them.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use mcp_client::CallOptions;
use mcpx_api::Caller;
use mcpx_config::{Scope, Server, ToolFilter};
use tokio_util::sync::CancellationToken;

use super::call::{CallError, lease_failed, of_server};
use super::known::Known;
use super::pool::{Pool, Wait};
use super::scope::key_of;

/// What stands behind one or several servers: one pool, one set of tools.
pub struct Backing {
    /// The server whose definition starts it; others may be views of it.
    pub name: String,
    /// What runs.
    pub pool: Arc<Pool>,
    known: RwLock<Option<Arc<Known>>>,
    failed: Mutex<Option<String>>,
    reading: tokio::sync::Mutex<()>,
}

impl Backing {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(name: &str, pool: Arc<Pool>) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            pool,
            known: RwLock::new(None),
            failed: Mutex::new(None),
            reading: tokio::sync::Mutex::new(()),
        })
    }

    /// The same under another server's name.
    #[must_use]
    pub fn renamed(&self, name: &str) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            pool: Arc::clone(&self.pool),
            known: RwLock::new(self.known()),
            failed: Mutex::new(self.failure()),
            reading: tokio::sync::Mutex::new(()),
        })
    }

    /// What is known of its tools.
    #[must_use]
    pub fn known(&self) -> Option<Arc<Known>> {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// From now on this is known.
    pub fn learn(&self, known: Arc<Known>) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
        self.fail(None);
    }

    /// Why the last reading failed; `None` when it did not.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Says how the last reading went.
    pub fn fail(&self, why: Option<String>) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }
}

/// A configured server.
pub struct Upstream {
    /// As it is configured.
    pub server: Arc<Server>,
    /// What stands behind it; `None` when it cannot be used.
    pub backing: Option<Arc<Backing>>,
}

impl Upstream {
    /// What is known of its tools.
    #[must_use]
    pub fn known(&self) -> Option<Arc<Known>> {
        self.backing.as_ref()?.known()
    }

    /// Whether what stands behind it has this name: its own, or that of the server it is a view of.
    #[must_use]
    pub fn stands_on(&self, backing: &str) -> bool {
        self.backing
            .as_ref()
            .is_some_and(|behind| behind.name == backing)
    }

    /// Which of its tools exist.
    #[must_use]
    pub fn filter(&self) -> &ToolFilter {
        &self.server.tools
    }
}

/// How a reading is made.
pub struct Reading<'a> {
    /// How long to wait for room.
    pub queue: Duration,
    /// How long all of it may take.
    pub limit: Duration,
    /// The time.
    pub now: &'a (dyn Fn() -> Timestamp + Send + Sync),
    /// Read again even when another reading ended while this one waited.
    pub again: bool,
}

impl Backing {
    /// Reads the server's lists. However many ask at the same time, it is read once; who waited gets what the other read.
    ///
    /// # Errors
    /// When there is no instance, or the tools cannot be read. What was known before stays known.
    pub async fn read(
        self: &Arc<Self>,
        server: &Server,
        reading: Reading<'_>,
    ) -> Result<Arc<Known>, CallError> {
        let before = self.known();
        let _single = self.reading.lock().await;
        if let Some(known) = self.known()
            && !reading.again
            && known.confirmed
            && before.is_none_or(|before| !Arc::ptr_eq(&before, &known) || before.confirmed)
        {
            return Ok(known);
        }
        let read = tokio::time::timeout(reading.limit, self.read_now(server, &reading)).await;
        let read = read.unwrap_or_else(|_| {
            Err(CallError::Timeout {
                server: server.name.clone(),
                what: "reading its tools".to_owned(),
                after: reading.limit,
            })
        });
        match read {
            Ok(known) => {
                self.learn(Arc::clone(&known));
                Ok(known)
            }
            Err(error) => {
                self.fail(Some(error.to_string()));
                Err(error)
            }
        }
    }

    async fn read_now(
        self: &Arc<Self>,
        server: &Server,
        reading: &Reading<'_>,
    ) -> Result<Arc<Known>, CallError> {
        // Of a server whose instances belong to callers, one is started for the reading and ends with it.
        let caller = Caller {
            call: Some("schema".to_owned()),
            ephemeral: true,
            ..Caller::default()
        };
        let scope = match server.scope {
            Scope::Global => Scope::Global,
            _ => Scope::Call,
        };
        let wait = Wait {
            queue: reading.queue,
            start: Some(server.start_timeout),
            cancelled: CancellationToken::new(),
        };
        let lease = self
            .pool
            .lease(&key_of(scope, &caller), wait)
            .await
            .map_err(|error| lease_failed(&server.name, error))?;
        let options = CallOptions::default();
        let known = Known::read(lease.connection(), &options, (reading.now)())
            .await
            .map_err(|failure| CallError::Failed {
                failure: of_server(&server.name, failure),
                findings: Vec::new(),
                verify_with: None,
            })?;
        Ok(Arc::new(known))
    }
}
