//! Everything that lives as long as the daemon.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use jiff::Timestamp;
use mcpx_config::{Choice, Config, Settings, Surroundings};
use mcpx_store::StateDir;
use mcpx_store::log::Log;
use mcpx_store::results::Results;
use tokio_util::sync::CancellationToken;

use crate::Clock;
use crate::events::Events;
use crate::front::Fronts;
use crate::registry::Registry;
use crate::running_tasks::RunningTasks;

/// Who this daemon is.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The set of configuration files that it serves.
    pub key: String,
    /// A secret of this run; what it starts carries it.
    pub nonce: String,
    /// The program's version.
    pub version: String,
    /// When it began.
    pub started_at: Timestamp,
    /// The same, for durations.
    pub started: Instant,
    /// Its Unix socket.
    pub socket: PathBuf,
    /// Its TCP endpoint, `http://127.0.0.1:PORT`, when it has one.
    pub endpoint: Option<String>,
}

impl Identity {
    /// The span of its life in the log: `dmn-` and 16 hexadecimal digits. Tells nothing of the nonce.
    #[must_use]
    pub fn span(&self) -> String {
        use sha2::{Digest as _, Sha256};
        let digest = Sha256::digest(format!("span of {}", self.nonce).as_bytes());
        let hex: String = digest
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("dmn-{hex}")
    }
}

/// Everything that lives as long as the daemon.
pub struct Hub {
    /// Who this daemon is.
    pub identity: Identity,
    /// What the configuration is read with.
    pub surroundings: Surroundings,
    /// What was chosen when the daemon was started.
    pub choice: Choice,
    /// The settings that were in force when it began: what is read once, at the start, is read here.
    pub at_start: Settings,
    config: RwLock<Arc<Config>>,
    config_error: Mutex<Option<String>>,
    /// The servers.
    pub registry: Registry,
    /// Its folder on disk.
    pub state: StateDir,
    /// What happened, for later.
    pub log: Log,
    /// What happens, for those who listen.
    pub events: Arc<Events>,
    /// Results too large to be answered whole.
    pub results: Results,
    /// Calls that run as tasks.
    pub tasks: RunningTasks,
    /// The MCP server.
    pub fronts: Fronts,
    /// When somebody last asked something, and how much is open.
    pub activity: Activity,
    /// Cancelled when the daemon ends.
    pub stopping: CancellationToken,
    /// Set when it is to begin anew after its end.
    pub restarting: std::sync::atomic::AtomicBool,
    /// Set as soon as it is to end: what runs may end, nothing new begins.
    pub(crate) draining: std::sync::atomic::AtomicBool,
    /// What the configuration files looked like when they were looked at last.
    pub(crate) look: Mutex<crate::lifecycle::watching::Look>,
    /// One reload at a time.
    pub(crate) reloading: tokio::sync::Mutex<()>,
    /// Tells the time.
    pub clock: Clock,
}

/// What a hub is made of.
pub struct Parts {
    /// Who this daemon is.
    pub identity: Identity,
    /// What the configuration is read with.
    pub surroundings: Surroundings,
    /// What was chosen when the daemon was started.
    pub choice: Choice,
    /// The configuration.
    pub config: Arc<Config>,
    /// The servers.
    pub registry: Registry,
    /// Its folder on disk.
    pub state: StateDir,
    /// What happened, for later.
    pub log: Log,
    /// What happens, for those who listen.
    pub events: Arc<Events>,
    /// Results too large to be answered whole.
    pub results: Results,
    /// Calls that run as tasks.
    pub tasks: RunningTasks,
    /// Tells the time.
    pub clock: Clock,
}

impl Hub {
    /// Puts the parts together. The registry has no servers yet.
    #[must_use]
    pub fn new(parts: Parts) -> Arc<Self> {
        Arc::new(Self {
            identity: parts.identity,
            surroundings: parts.surroundings,
            choice: parts.choice,
            at_start: parts.config.settings.clone(),
            config: RwLock::new(parts.config),
            config_error: Mutex::default(),
            registry: parts.registry,
            state: parts.state,
            log: parts.log,
            events: parts.events,
            results: parts.results,
            tasks: parts.tasks,
            fronts: Fronts::default(),
            activity: Activity::new(),
            stopping: CancellationToken::new(),
            restarting: std::sync::atomic::AtomicBool::new(false),
            draining: std::sync::atomic::AtomicBool::new(false),
            look: Mutex::default(),
            reloading: tokio::sync::Mutex::new(()),
            clock: parts.clock,
        })
    }

    /// The configuration that is in force.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The settings that are in force.
    #[must_use]
    pub fn settings(&self) -> InForce {
        InForce::Configured(self.config())
    }

    /// From now on this configuration is in force.
    pub fn set_config(&self, config: Arc<Config>) {
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        self.set_config_error(None);
    }

    /// Why the files as they are now cannot be taken up; `None` when they could.
    #[must_use]
    pub fn config_error(&self) -> Option<String> {
        self.config_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Says whether the files could be taken up.
    pub fn set_config_error(&self, error: Option<String>) {
        *self
            .config_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Whether it is to end: nothing new begins.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.draining.load(std::sync::atomic::Ordering::SeqCst) || self.stopping.is_cancelled()
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }
}

/// The settings that were in force when they were asked for: those of the configuration, which costs a count and not a
/// copy, or those of one caller.
#[derive(Debug, Clone)]
pub enum InForce {
    /// The configuration's.
    Configured(Arc<Config>),
    /// With what a caller sent on top.
    Called(Box<Settings>),
}

impl From<Settings> for InForce {
    fn from(settings: Settings) -> Self {
        Self::Called(Box::new(settings))
    }
}

impl std::ops::Deref for InForce {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        match self {
            Self::Configured(config) => &config.settings,
            Self::Called(settings) => settings,
        }
    }
}

/// When somebody last asked something, and how much is open.
#[derive(Debug)]
pub struct Activity {
    last: Mutex<Instant>,
    open: std::sync::atomic::AtomicUsize,
}

impl Activity {
    fn new() -> Self {
        Self {
            last: Mutex::new(Instant::now()),
            open: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// Something is open until the guard is dropped.
    #[must_use]
    pub fn begin(&self) -> Open<'_> {
        self.open.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Open(self)
    }

    /// How much is open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// How long nothing was asked. Zero while something is open.
    #[must_use]
    pub fn idle(&self) -> std::time::Duration {
        if self.open() > 0 {
            return std::time::Duration::ZERO;
        }
        self.last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}

/// Something that is open.
#[derive(Debug)]
pub struct Open<'a>(&'a Activity);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0
            .open
            .fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
    }
}
