//! From what the binary hands in to a daemon that answers, and back to nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpx_config::settings::key;
use mcpx_config::{Choice, ConfigError, Surroundings, load};
use mcpx_store::daemons::{DaemonRecord, Daemons, nonce};
use mcpx_store::trust::TrustFile;
use mcpx_store::{StateDir, StoreError};
use tokio::net::TcpListener;

use super::building::{build, set_limits};
use super::children::{Begun, Children, ChildrenError};
use super::election::{ElectionError, elect, socket_path};
use super::guard::{self, GuardCommand};
use super::{ending, reading, watching};
use crate::Clock;
use crate::hub::{Hub, Identity};
use crate::routes::access::Access;
use crate::routes::serve::serve;
use crate::telling::daemon as told;

/// How often it is looked whether the guardian is still there.
const GUARD: Duration = Duration::from_secs(30);

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
    /// The servers it would start could not be held.
    #[error(transparent)]
    Children(#[from] ChildrenError),
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

/// Becomes the daemon, and is it until it is told to end or nobody needs it. What it starts ends with it when it ends in
/// order; for the rest there is [`run_guarded`].
///
/// # Errors
/// When it cannot become one.
pub async fn run(start: Start) -> Result<Ended, StartError> {
    live(start, None).await
}

/// The same with a guardian, which ends what the daemon started when the daemon is killed. `program` is the binary that is
/// a guardian when it is started with [`guard::WORD`].
///
/// # Errors
/// When it cannot become a daemon.
pub async fn run_guarded(start: Start, program: PathBuf) -> Result<Ended, StartError> {
    live(start, Some(program)).await
}

async fn live(start: Start, guardian: Option<PathBuf>) -> Result<Ended, StartError> {
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
    let (host, port) = (
        settings.text(key::DAEMON_ADDRESS).to_owned(),
        settings.int(key::DAEMON_PORT),
    );
    let tcp = listen(&host, port).await?;
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
    let begun = Children::begin(
        state.clone(),
        run_nonce.clone(),
        GuardCommand {
            // Nothing has no name: then there is no guardian.
            program: guardian.clone().unwrap_or_default(),
            args: vec![guard::WORD.into()],
        },
        (start.clock)(),
    )
    .await?;
    let hub = build(&start, &state, config, identity, &token, &begun)?;
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
    // Whoever wrote the one that is there is no daemon any more: the lock is ours.
    match daemons.read(&record.key) {
        Ok(Some(there)) => daemons.take_over(&record, &there.nonce)?,
        _ => daemons.write(&record)?,
    }
    watching::remember(&hub);
    set_limits(&hub);
    told::started(&hub);
    tell_leftovers(&hub, &begun, guardian.is_some());
    hub.registry.apply(&hub.config()).await;
    let is_wide = tcp
        .local_addr()
        .is_ok_and(|address| !address.ip().is_loopback());
    if is_wide {
        let text = format!(
            "it listens on {host}, which other machines may reach; whoever has the token may run what its servers can"
        );
        told::warned(&hub, "daemon.address", text);
    }
    let access = Access::new(
        &token,
        if is_wide { vec![host] } else { Vec::new() },
        settings.list(key::TRANSPORT_ALLOWED_ORIGINS).to_vec(),
    );
    let children = begun.children;
    let by_itself = [
        tokio::spawn(watching::watch(Arc::clone(&hub))),
        tokio::spawn(reading::warm(Arc::clone(&hub))),
        tokio::spawn(reading::follow(Arc::clone(&hub))),
        tokio::spawn(signals(Arc::clone(&hub))),
    ];
    tokio::select! {
        () = serve(&hub, elected.listener, Some((tcp, access))) => {}
        () = keep_guarded(&hub, &children), if guardian.is_some() => {}
    }
    for task in by_itself {
        task.abort();
    }
    let restarting = hub.restarting.load(std::sync::atomic::Ordering::SeqCst);
    told::stopped(&hub, restarting);
    // Before the servers end: what they say at their end is no news of them.
    hub.registry.catalogue.save(hub.now());
    hub.tasks.interrupt(&hub);
    hub.registry.close().await;
    let survivors = children.end().await;
    if !survivors.is_empty() {
        let text = format!(
            "{} processes of its servers could not be ended",
            survivors.len()
        );
        told::warned(&hub, "daemon.survivors", text);
    }
    elected.bound.remove();
    let _gone = daemons.remove_if(&record.key, record.pid, &record.nonce);
    let _written = hub.log.flush(Duration::from_secs(2));
    Ok(if restarting {
        Ended::Restart
    } else {
        Ended::Over
    })
}

/// The TCP port of the settings.
async fn listen(host: &str, port: usize) -> Result<TcpListener, StartError> {
    let failed = |source| StartError::Port {
        address: format!("{host}:{port}"),
        source,
    };
    let number = u16::try_from(port).map_err(|_| {
        failed(std::io::Error::other(
            "`daemon.port` has to be a number up to 65535",
        ))
    })?;
    TcpListener::bind((host, number)).await.map_err(failed)
}

/// Sees to it that the guardian is there, for ever.
async fn keep_guarded(hub: &Hub, children: &Children) {
    loop {
        tokio::time::sleep(GUARD).await;
        match children.watch().await {
            Ok(false) => {}
            Ok(true) => told::warned(
                hub,
                "daemon.guardian",
                "the guardian was gone, and another one was started".to_owned(),
            ),
            Err(error) => told::warned(hub, "daemon.guardian", error.to_string()),
        }
    }
}

/// What the system asks: SIGHUP reads the configuration again, SIGTERM and SIGINT end the daemon, a second one at once.
async fn signals(hub: Arc<Hub>) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut hangup), Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::hangup()),
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        told::warned(&hub, "daemon.signals", "signals cannot be heard".to_owned());
        return;
    };
    loop {
        tokio::select! {
            _ = hangup.recv() => {
                // Why it failed is in the status and in the log.
                let _kept = super::reload::reload(&hub).await;
            }
            _ = terminate.recv() => end(&hub),
            _ = interrupt.recv() => end(&hub),
        }
    }
}

fn end(hub: &Arc<Hub>) {
    if hub.is_ending() {
        ending::now(hub);
    } else {
        ending::begin(hub, false);
    }
}

/// What was found of daemons that ended without order, and what this one cannot do.
fn tell_leftovers(hub: &Hub, begun: &Begun, wants_guardian: bool) {
    if let (Some(error), true) = (&begun.unguarded, wants_guardian) {
        let text = format!(
            "if this daemon is killed, its servers stay until the next one starts: {error}"
        );
        told::warned(hub, "daemon.guardian", text);
    }
    for leftover in &begun.leftovers {
        let text = match &leftover.problem {
            Some(problem) => {
                format!("what a daemon that was killed left cannot be found: {problem}")
            }
            None => format!(
                "a daemon that was killed had left {} processes, {} of them could not be ended",
                leftover.ended.len() + leftover.survivors.len(),
                leftover.survivors.len()
            ),
        };
        told::warned(hub, "daemon.leftovers", text);
    }
}
