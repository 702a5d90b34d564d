//! The way to a daemon that serves the client: the one that runs, its successor, or a new one.

use std::time::{Duration, Instant};

use mcp_wire::Object;
use mcpx_api::reply::Health;
use mcpx_api::{Caller, ClientError, Op, pipe};
use mcpx_config::Config;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::exit::Failure;
use crate::ladder::Hub;
use crate::printer::Printer;
use crate::settings::Told;

/// How often a daemon is asked again that ended while it was asked.
const TRIES: u32 = 3;
/// How long a daemon may take to end, with its servers.
const END: Duration = Duration::from_secs(35);
/// How long a successor may take to come once its predecessor has gone.
const SUCCESSOR: Duration = Duration::from_secs(2);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// After what a daemon is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// The first one.
    Begin,
    /// It said that another one takes its place.
    Restart,
    /// The connection broke.
    Break,
    /// It ended, and the client asks for something.
    Rest,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// No daemon answers, and none could be started.
    Unreachable(Failure),
    /// A daemon answers and does not serve this.
    Refused(Failure),
}

/// The way to a daemon.
pub(crate) trait Way {
    /// The connection.
    type Io: AsyncRead + AsyncWrite + Unpin;

    /// Connects to a daemon, which is started when there is none.
    async fn open(&self, after: After) -> Result<Self::Io, Trouble>;

    /// Says something to people.
    fn note(&self, text: &str);
}

/// The way as all commands go it.
#[derive(Debug)]
pub(crate) struct ToDaemon<'a> {
    /// Where the command stands.
    pub(crate) told: &'a Told,
    /// What was configured when it began.
    pub(crate) config: &'a Config,
    /// Who is served.
    pub(crate) caller: Caller,
    /// For people.
    pub(crate) printer: Printer,
    /// The path with its query.
    pub(crate) path: String,
}

impl Way for ToDaemon<'_> {
    type Io = Box<dyn Stream>;

    async fn open(&self, after: After) -> Result<Self::Io, Trouble> {
        // The files may have changed since, and with them which daemon serves this folder.
        let fresh = match after {
            After::Begin => None,
            _ => self.told.config().ok(),
        };
        let config = fresh.as_ref().unwrap_or(self.config);
        if after == After::Restart {
            self.await_successor(config).await;
        }
        let mut tries = 0;
        loop {
            tries += 1;
            match self.connect(config).await {
                Err(Trouble::Unreachable(_)) if tries < TRIES && after != After::Begin => {
                    tokio::time::sleep(LOOK).await;
                }
                connected => return connected,
            }
        }
    }

    fn note(&self, text: &str) {
        self.printer.note(text);
    }
}

/// A connection to a daemon.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

impl ToDaemon<'_> {
    async fn connect(&self, config: &Config) -> Result<Box<dyn Stream>, Trouble> {
        let hub = self.hub(config).map_err(Trouble::Unreachable)?;
        self.let_end(&hub).await;
        // It may have been another one that ended.
        let hub = self.hub(config).map_err(Trouble::Unreachable)?;
        let client = hub.connected().await.map_err(Trouble::Unreachable)?;
        match client.upgrade(&self.path, pipe::PROTOCOL).await {
            Ok(io) => Ok(Box::new(io)),
            Err(ClientError::Api(error)) if error.code != mcpx_api::Code::Unavailable => {
                Err(Trouble::Refused(error.into()))
            }
            Err(error) => Err(Trouble::Unreachable(error.into())),
        }
    }

    fn hub<'h>(&'h self, config: &'h Config) -> Result<Hub<'h>, Failure> {
        Hub::new(self.told, config, self.caller.clone(), self.printer)
    }

    /// A daemon that is ending keeps its place until it has gone; another one cannot start before.
    async fn let_end(&self, hub: &Hub<'_>) {
        let Some(record) = hub.record() else { return };
        if record.is_alive() != Some(true) {
            return;
        }
        let is_ending = match health(hub).await {
            Some(health) => health.pid == record.pid && health.status == "stopping",
            // It does not listen any more, or not yet.
            None => true,
        };
        if is_ending {
            // What then still is in the way is told by who tries to pass.
            let _in_time = hub.gone(Instant::now() + END).await;
        }
    }

    /// Waits for the daemon that takes the place of one that is started anew: it has the command line of that one.
    async fn await_successor(&self, config: &Config) {
        let Ok(hub) = self.hub(config) else { return };
        let Some(before) = hub.record().cloned() else {
            return;
        };
        let mut deadline = Instant::now() + END;
        let mut is_gone = false;
        while Instant::now() < deadline {
            if let Ok(hub) = self.hub(config)
                && hub
                    .record()
                    .is_some_and(|record| record.nonce != before.nonce)
                && health(&hub).await.is_some()
            {
                return;
            }
            if !is_gone && before.is_alive() != Some(true) {
                is_gone = true;
                deadline = deadline.min(Instant::now() + SUCCESSOR);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

async fn health(hub: &Hub<'_>) -> Option<Health> {
    let asked = hub.ask_running(Op::Health, &Object::new()).await;
    asked.ok().flatten()?.read().ok()
}
