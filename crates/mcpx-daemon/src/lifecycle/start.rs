//! From what the binary hands in to a daemon that answers, and back to nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use mcpx_config::settings::key;
use mcpx_config::{Choice, ConfigError, Surroundings, load};
use mcpx_store::daemons::{DaemonRecord, Daemons, nonce};
use mcpx_store::eras::Eras;
use mcpx_store::log::{Log, LogOptions};
use mcpx_store::results::{ResultLimits, Results};
use mcpx_store::tasks::Tasks;
use mcpx_store::trust::TrustFile;
use mcpx_store::{StateDir, StoreError};
use tokio::net::TcpListener;
use untrusted_text::redact::Redactor;

use super::election::{ElectionError, elect, remove, socket_path};
use super::watching::watch;
use crate::Clock;
use crate::events::Events;
use crate::hub::{Hub, Identity, Parts};
use crate::registry::catalogue::Catalogue;
use crate::registry::asking::WhoeverCalls;
use crate::registry::launch::RealLaunch;
use crate::registry::launch::eras::KeptEras;
use crate::registry::{Registry, RegistryLimits};
use crate::routes::access::Access;
use crate::routes::serve::serve;
use crate::running_tasks::RunningTasks;
use crate::telling::Telling;

/// What a daemon is started with.
pub struct Start {
    /// What the configuration is read with.
    pub surroundings: Surroundings,
    /// What was chosen on the command line.
    pub choice: Choice,
    /// The folder of sockets, records and logs.
    pub state: PathBuf,
    /// The system's folder for temporary files.
    pub temporary: PathBuf,
    /// The program's version.
    pub version: String,
    /// Tells the time.
    pub clock: Clock,
}

/// Why there is no daemon.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Another one is the daemon.
    #[error(transparent)]
    Election(#[from] ElectionError),
    /// The state folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The port cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Port {
        /// Where.
        address: String,
        /// Why.
        source: std::io::Error,
    },
}

/// How a daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It is over.
    Over,
    /// It is to be started anew.
    Restart,
}

/// Becomes the daemon, and is it until it is told to end or nobody needs it.
///
/// # Errors
/// When it cannot become one.
pub async fn run(start: Start) -> Result<Ended, StartError> {
    let state = StateDir::open(&start.state)?;
    let (accepted, _) = TrustFile::new(&state).load();
    let config = Arc::new(load(
        &start.surroundings,
        &start.choice,
        &accepted.into_keys().collect(),
    )?);
    let settings = config.settings.clone();
    let configured = settings.text(key::SOCKET_PATH);
    let socket = if configured.is_empty() {
        socket_path(state.root(), &start.temporary, &config.key)
    } else {
        PathBuf::from(configured)
    };
    let lock = state.path(&format!("daemon-{}.lock", config.key));
    let elected = elect(&lock, &socket)?;
    let address = format!(
        "{}:{}",
        settings.text(key::DAEMON_ADDRESS),
        settings.int(key::DAEMON_PORT)
    );
    let tcp = TcpListener::bind(&address)
        .await
        .map_err(|source| StartError::Port {
            address: address.clone(),
            source,
        })?;
    let endpoint = tcp
        .local_addr()
        .map(|address| format!("http://{address}"))
        .ok();
    let (token, run_nonce) = (nonce()?, nonce()?);
    let identity = Identity {
        key: config.key.clone(),
        nonce: run_nonce.clone(),
        version: start.version.clone(),
        started_at: (start.clock)(),
        started: Instant::now(),
        socket: socket.clone(),
        endpoint: endpoint.clone(),
    };
    let hub = build(&start, &state, config, identity)?;
    let record = DaemonRecord {
        key: hub.identity.key.clone(),
        pid: std::process::id(),
        process_started: mcpx_store::process::started(std::process::id()),
        socket: socket.clone(),
        endpoint,
        token: Some(token.clone()),
        files: hub.config().files.clone(),
        config_hash: hub.config().hash.clone(),
        version: start.version.clone(),
        started_at: hub.identity.started_at,
        nonce: run_nonce.clone(),
    };
    let daemons = Daemons::new(&state);
    daemons.write(&record)?;
    set_limits(&hub);
    hub.registry.apply(&hub.config()).await;
    let access = Access::new(
        &token,
        Vec::new(),
        settings.list(key::TRANSPORT_ALLOWED_ORIGINS).to_vec(),
    );
    tokio::spawn(watch(Arc::clone(&hub)));
    serve(&hub, elected.listener, Some((tcp, access))).await;
    hub.registry.catalogue.save(hub.now());
    hub.registry.close().await;
    let _gone = remove(&socket);
    let _gone = daemons.remove_if(&record.key, record.pid, &record.nonce);
    let _written = hub.log.flush(std::time::Duration::from_secs(2));
    Ok(
        if hub.restarting.load(std::sync::atomic::Ordering::SeqCst) {
            Ended::Restart
        } else {
            Ended::Over
        },
    )
}

fn build(
    start: &Start,
    state: &StateDir,
    config: Arc<mcpx_config::Config>,
    identity: Identity,
) -> Result<Arc<Hub>, StartError> {
    let settings = config.settings.clone();
    let clock = start.clock.clone();
    let log = Log::open(state, LogOptions::default(), clock.clone());
    let events = Arc::new(Events::new(
        usize::try_from(settings.int(key::EVENTS_HISTORY)).unwrap_or(1_024),
    ));
    let telling = Arc::new(Telling::new(log.clone(), Arc::clone(&events)));
    let catalogue = Catalogue::open(state, &config.hash);
    let launch = RealLaunch {
        client: mcp_wire::Implementation::new("mcpx", &start.version),
        env: start
            .surroundings
            .env
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        mark: None,
        ask: Some(Arc::new(WhoeverCalls)),
        eras: Arc::new(KeptEras::read(Eras::new(state), clock.clone())),
        sign_in: None,
        question: settings.duration(key::PROTO_ASK_TIMEOUT),
        limits: mcp_client::Limits::default(),
    };
    let registry = Registry::new(
        Arc::new(launch),
        telling.clone(),
        telling,
        catalogue,
        clock.clone(),
    );
    let results = Results::open(state, ResultLimits::default(), clock.clone())?;
    let tasks = Tasks::open(state, &config.key, Redactor::default())?;
    let (tasks, _interrupted, _problem) = RunningTasks::open(tasks, clock());
    Ok(Hub::new(Parts {
        identity,
        surroundings: start.surroundings.clone(),
        choice: start.choice.clone(),
        config,
        registry,
        state: state.clone(),
        log,
        events,
        results,
        tasks,
        clock,
    }))
}

/// Gives the registry the waits that the settings say.
pub(crate) fn set_limits(hub: &Hub) {
    let settings = hub.settings();
    hub.registry.set_limits(RegistryLimits {
        queue: settings.duration(key::POOL_QUEUE_TIMEOUT),
        list: settings.duration(key::POOL_CALL_TIMEOUT).max(std::time::Duration::from_secs(10)),
    });
}
