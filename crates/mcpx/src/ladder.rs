//! From a command to a daemon that serves its configuration: the one that runs, the one that was named, or a new one.
//!
//! There is no question whether a daemon answers before the request itself: what cannot be connected to was not asked
//! anything, so a daemon is started and the request sent then. A daemon that was named is never replaced by another.

mod late_flags;
mod spawn;
mod version;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mcp_wire::Object;
use mcpx_api::client::{Answer, Endpoint, Events};
use mcpx_api::reply::Health;
use mcpx_api::{Caller, Client, ClientError, Code, Op, Operation, operation};
use mcpx_config::Config;
use mcpx_config::settings::key;
use mcpx_store::StateDir;
use mcpx_store::daemons::{DaemonRecord, Daemons};

use crate::VERSION;
use crate::exit::Failure;
use crate::printer::Printer;
use crate::settings::{Told, temporary, variable};

pub(crate) use self::spawn::{ALREADY, this_program};

/// How long between two looks for a daemon that is starting; it is there within milliseconds.
const LOOK: Duration = Duration::from_millis(4);
/// How long after a daemon that was not elected another one is started, the first time.
const AGAIN: Duration = Duration::from_millis(250);

/// How long a call may take whose server has no limit.
const UNLIMITED: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a call of any of the servers may take by their own limits: until it has an instance, until that has
/// started, and itself.
fn longest_call(config: &Config) -> Duration {
    let queue = config.settings.duration(key::POOL_QUEUE_TIMEOUT);
    let longest = config.servers.values().map(|server| {
        let call = if server.call_timeout.is_zero() {
            UNLIMITED
        } else {
            server.call_timeout
        };
        call.saturating_add(server.start_timeout)
    });
    longest.max().unwrap_or_default().saturating_add(queue)
}

/// The way to the daemon of a configuration.
#[derive(Debug)]
pub(crate) struct Hub<'a> {
    told: &'a Told,
    config: &'a Config,
    printer: Printer,
    client: Client,
    /// What runs for this configuration, as far as a record says.
    record: Option<DaemonRecord>,
    /// Whether the daemon was named.
    named: Option<String>,
    /// Whether it was told which flags change nothing.
    has_told: AtomicBool,
}

impl<'a> Hub<'a> {
    /// The way to it; nothing is connected yet.
    ///
    /// # Errors
    /// When the daemon was named and the name cannot be read.
    pub(crate) fn new(
        told: &'a Told,
        config: &'a Config,
        caller: Caller,
        printer: Printer,
    ) -> Result<Self, Failure> {
        let timeout = config.settings.duration(key::HTTP_REQUEST_TIMEOUT);
        let named = config.settings.text(key::DAEMON_ENDPOINT);
        if !named.is_empty() {
            return Ok(Self {
                told,
                config,
                printer,
                client: Client::new(endpoint(told, named)?, caller, timeout)
                    .for_calls(longest_call(config)),
                record: None,
                named: Some(named.to_owned()),
                has_told: AtomicBool::new(false),
            });
        }
        let record = record(told, config);
        let socket = match &record {
            Some(record) => record.socket.clone(),
            None => socket(told, config),
        };
        Ok(Self {
            told,
            config,
            printer,
            client: Client::unix(&socket, caller, timeout).for_calls(longest_call(config)),
            record,
            named: None,
            has_told: AtomicBool::new(false),
        })
    }

    /// What runs for this configuration, as far as a record says.
    pub(crate) fn record(&self) -> Option<&DaemonRecord> {
        self.record.as_ref()
    }

    /// Asks; a daemon is started when none answers and that is allowed.
    ///
    /// # Errors
    /// When there is no daemon, or it says no.
    pub(crate) async fn ask(&self, op: Op, params: &Object) -> Result<Answer, Failure> {
        let operation = operation(op);
        self.same_version().await?;
        match self.client.send(operation, params).await {
            Ok(answer) => {
                self.tell_late_flags();
                Ok(answer)
            }
            Err(error) if self.may_start(operation, &error) => {
                self.start().await?;
                let sent = self.client.send(operation, params).await;
                sent.map_err(|error| self.failure(error))
            }
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Asks for a stream, as [`Hub::ask`].
    ///
    /// # Errors
    /// As [`Hub::ask`].
    pub(crate) async fn stream(&self, op: Op, params: &Object) -> Result<Events, Failure> {
        let operation = operation(op);
        self.same_version().await?;
        match self.client.stream(operation, params).await {
            Ok(events) => {
                self.tell_late_flags();
                Ok(events)
            }
            Err(error) if self.may_start(operation, &error) => {
                self.start().await?;
                let sent = self.client.stream(operation, params).await;
                sent.map_err(|error| self.failure(error))
            }
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Asks the daemon that runs; nothing when none does.
    ///
    /// # Errors
    /// When it says no.
    pub(crate) async fn ask_running(
        &self,
        op: Op,
        params: &Object,
    ) -> Result<Option<Answer>, Failure> {
        match self.client.send(operation(op), params).await {
            Ok(answer) => {
                self.tell_late_flags();
                Ok(Some(answer))
            }
            Err(ClientError::NoDaemon(..)) if self.named.is_none() => Ok(None),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Makes sure that a daemon answers, and hands out the client.
    ///
    /// # Errors
    /// When none does, and none could be started.
    pub(crate) async fn connected(&self) -> Result<&Client, Failure> {
        self.ask(Op::Health, &Object::new()).await?;
        Ok(&self.client)
    }

    /// Whether a request that failed like this may be sent to a new daemon.
    fn may_start(&self, operation: &Operation, error: &ClientError) -> bool {
        if self.named.is_some() {
            return false;
        }
        match error {
            ClientError::NoDaemon(..) => true,
            // It ended while it was asked.
            ClientError::Broken(_) => operation.idempotent,
            _ => false,
        }
    }

    fn failure(&self, error: ClientError) -> Failure {
        let other = self
            .record
            .as_ref()
            .filter(|record| record.version != VERSION);
        match (error, other, &self.named) {
            (ClientError::NoDaemon(at, error), _, Some(_)) => {
                Failure::failed(format!("no daemon answers at `{at}`: {error}"))
                    .hint("it was named by `daemon.endpoint`, so no other one is used")
            }
            (ClientError::Api(error), Some(record), _)
                if matches!(error.code, Code::MethodNotAllowed)
                    || (error.code == Code::NotFound && error.message.contains("no such path")) =>
            {
                Failure::failed(format!(
                    "the daemon has version {}, this command {VERSION}, and it does not know what was asked: {}",
                    record.version, error.message
                ))
                .hint("end it, and the next command starts the right one: `mcpx stop`")
            }
            (error @ ClientError::Broken(_), ..) => {
                Failure::from(error).hint("it may have been done: verify before you repeat it")
            }
            (error, ..) => error.into(),
        }
    }

    /// Starts a daemon unless another command just did, and waits until one answers.
    ///
    /// # Errors
    /// When none answers in time, with the end of its log.
    pub(crate) async fn start(&self) -> Result<(), Failure> {
        if !self.config.settings.bool(key::DAEMON_AUTOSTART) {
            return Err(Failure::failed("no daemon runs for this configuration")
                .hint("start one: `mcpx daemon --detached`, or allow it: `daemon.autostart`"));
        }
        let mut started = spawn::start(self.told, self.config)?;
        let (mut again, mut pause) = (Instant::now() + AGAIN, AGAIN);
        self.has_told.store(true, Ordering::Relaxed);
        let wait = self
            .config
            .settings
            .duration(key::AUTOSTART_CONNECT_TIMEOUT);
        let deadline = Instant::now() + wait;
        loop {
            match self.ping().await {
                Ok(_) => return Ok(()),
                Err(ClientError::NoDaemon(..) | ClientError::Broken(_)) => {}
                Err(error) => return Err(self.failure(error)),
            }
            // Read before the last look: a daemon that lost the election is followed by one that won it.
            let why = started.failed();
            if let Some(why) = why {
                return match self.ping().await {
                    Ok(_) => Ok(()),
                    Err(_) => Err(Failure::with_hint_lines(
                        crate::exit::Exit::Failed,
                        &format!("the daemon could not start: {why}"),
                    )),
                };
            }
            // The daemon before it may be about to end: nobody answers, and none was elected.
            if Instant::now() >= again && started.lost() {
                started = spawn::start(self.told, self.config)?;
                pause *= 2;
                again = Instant::now() + pause;
            }
            if Instant::now() >= deadline {
                let tail = started.tail(self.config.settings.bytes(key::AUTOSTART_LOG_TAIL));
                return Err(Failure::failed(format!(
                    "a daemon was started and does not answer within {:.1} s{tail}",
                    wait.as_secs_f64()
                ))
                .hint(format!("its log: {}", started.output().display())));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn ping(&self) -> Result<Health, ClientError> {
        let wait = self.config.settings.duration(key::AUTOSTART_PING_TIMEOUT);
        let nothing = Object::new();
        let health = self.client.send(operation(Op::Health), &nothing);
        tokio::time::timeout(wait, health)
            .await
            .map_err(|_| ClientError::Timeout(wait))??
            .read()
    }

    /// Waits until the daemon does not answer and its process has gone.
    ///
    /// # Errors
    /// When it is still there at the deadline.
    pub(crate) async fn gone(&self, deadline: Instant) -> Result<(), Failure> {
        loop {
            // Another one may be there already.
            let answers = match self.ping().await {
                Ok(health) => self
                    .record
                    .as_ref()
                    .is_none_or(|record| record.pid == health.pid),
                Err(ClientError::NoDaemon(..)) => false,
                Err(_) => self.record.is_none(),
            };
            let runs = self
                .record
                .as_ref()
                .is_some_and(|record| record.is_alive() == Some(true));
            if !answers && !runs {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let pid = self.record.as_ref().map_or(0, |record| record.pid);
                return Err(Failure::failed(format!(
                    "the daemon (process {pid}) was asked to end and is still there"
                ))
                .hint("`mcpx daemons` shows it"));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// The record of the daemon of this configuration, when there is one that can be read.
pub(crate) fn record(told: &Told, config: &Config) -> Option<DaemonRecord> {
    Daemons::new(&StateDir::at(&told.state))
        .read(&config.key)
        .ok()
        .flatten()
}

/// Where a daemon without a record listens.
fn socket(told: &Told, config: &Config) -> PathBuf {
    let configured = config.settings.text(key::SOCKET_PATH);
    if configured.is_empty() {
        mcpx_daemon::lifecycle::election::socket_path(&told.state, &temporary(), &config.key)
    } else {
        PathBuf::from(configured)
    }
}

/// Where a daemon that was named listens, and its token: that of the record when it is one of this machine, else
/// `MCPX_TOKEN`.
fn endpoint(told: &Told, named: &str) -> Result<Endpoint, Failure> {
    if let Some(path) = named.strip_prefix("unix://") {
        return Ok(Endpoint::Unix(PathBuf::from(path)));
    }
    let Some(address) = named.strip_prefix("http://") else {
        return Err(Failure::usage(format!(
            "`daemon.endpoint` was `{named}`, expected `unix://PATH` or `http://HOST:PORT`"
        )));
    };
    let address = address.trim_end_matches('/').to_owned();
    let recorded = Daemons::new(&StateDir::at(&told.state))
        .list()
        .records
        .into_iter()
        .find(|record| {
            record
                .endpoint
                .as_deref()
                .and_then(|at| at.strip_prefix("http://"))
                == Some(&address)
        })
        .and_then(|record| record.token);
    Ok(Endpoint::Tcp {
        token: recorded.or_else(|| variable("MCPX_TOKEN")),
        address,
    })
}
