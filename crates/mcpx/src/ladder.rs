//! From a command to a daemon that serves its configuration: the one that runs, the one that was named, or a new one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use child_process::Detached;
use mcp_wire::Object;
use mcpx_api::client::Endpoint;
use mcpx_api::{Caller, Client, ClientError, Op, operation};
use mcpx_config::Config;
use mcpx_config::settings::key;
use mcpx_store::StateDir;
use mcpx_store::daemons::Daemons;

use crate::exit::Failure;
use crate::settings::{Told, environment, temporary};

/// A client of the daemon that serves this configuration; one is started when none answers and that is allowed.
///
/// # Errors
/// When there is none, and none could be started.
pub(crate) async fn connect(
    told: &Told,
    config: &Config,
    caller: Caller,
) -> Result<Client, Failure> {
    let timeout = config.settings.duration(key::HTTP_REQUEST_TIMEOUT);
    let named = config.settings.text(key::DAEMON_ENDPOINT);
    if !named.is_empty() {
        return Ok(Client::new(endpoint(named)?, caller, timeout));
    }
    let socket = socket(told, config);
    let client = Client::unix(&socket, caller, timeout);
    match ping(&client, config).await {
        Ok(()) => return Ok(client),
        Err(ClientError::NoDaemon(..)) => {}
        Err(error) => return Err(error.into()),
    }
    if !config.settings.bool(key::DAEMON_AUTOSTART) {
        return Err(Failure::failed("no daemon runs for this configuration")
            .hint("start one: `mcpx daemon --detached`, or allow it: `daemon.autostart`"));
    }
    start(told, config)?;
    let deadline = Instant::now() + config.settings.duration(key::AUTOSTART_CONNECT_TIMEOUT);
    let pause = config
        .settings
        .duration(key::AUTOSTART_POLL_INTERVAL)
        .max(Duration::from_millis(1));
    loop {
        match ping(&client, config).await {
            Ok(()) => return Ok(client),
            Err(ClientError::NoDaemon(..)) if Instant::now() < deadline => {
                // Quick at first: a daemon is there within milliseconds.
                tokio::time::sleep(pause.min(Duration::from_millis(5))).await;
            }
            Err(_) => {
                return Err(Failure::failed("a daemon was started and does not answer")
                    .hint(format!("its log: {}", output(told).display())));
            }
        }
    }
}

/// A client of the daemon that runs for this configuration, if one does.
pub(crate) async fn running(told: &Told, config: &Config, caller: Caller) -> Option<Client> {
    let timeout = config.settings.duration(key::HTTP_REQUEST_TIMEOUT);
    let client = Client::unix(&socket(told, config), caller, timeout);
    ping(&client, config).await.ok()?;
    Some(client)
}

async fn ping(client: &Client, config: &Config) -> Result<(), ClientError> {
    let wait = config.settings.duration(key::AUTOSTART_PING_TIMEOUT);
    let nothing = Object::new();
    let health = client.send(operation(Op::Health), &nothing);
    tokio::time::timeout(wait, health)
        .await
        .map_err(|_| ClientError::Timeout(wait))??;
    Ok(())
}

fn endpoint(named: &str) -> Result<Endpoint, Failure> {
    if let Some(path) = named.strip_prefix("unix://") {
        return Ok(Endpoint::Unix(PathBuf::from(path)));
    }
    let Some(address) = named.strip_prefix("http://") else {
        return Err(Failure::usage(format!(
            "`daemon.endpoint` was `{named}`, expected `unix://PATH` or `http://HOST:PORT`"
        )));
    };
    Ok(Endpoint::Tcp {
        address: address.trim_end_matches('/').to_owned(),
        token: None,
    })
}

/// Where the daemon of this configuration listens.
pub(crate) fn socket(told: &Told, config: &Config) -> PathBuf {
    let recorded = Daemons::new(&StateDir::at(&told.state))
        .read(&config.key)
        .ok()
        .flatten();
    match recorded {
        Some(record) => record.socket,
        None => {
            let configured = config.settings.text(key::SOCKET_PATH);
            if configured.is_empty() {
                mcpx_daemon::lifecycle::election::socket_path(
                    &told.state,
                    &temporary(),
                    &config.key,
                )
            } else {
                PathBuf::from(configured)
            }
        }
    }
}

/// Where a daemon that a command starts prints to.
fn output(told: &Told) -> PathBuf {
    told.state.join("daemon.log")
}

fn start(told: &Told, config: &Config) -> Result<(), Failure> {
    StateDir::open(&told.state).map_err(|error| Failure::failed(error.to_string()))?;
    let configured = config.settings.text(key::AUTOSTART_BIN);
    let program = if configured.is_empty() {
        told.surroundings.exe.clone()
    } else {
        PathBuf::from(configured)
    };
    let mut args: Vec<OsString> = Vec::new();
    if told.choice.demo {
        args.push("--demo".into());
    }
    if let Some(file) = &told.choice.config_file {
        args.push("--config".into());
        args.push(file.clone().into());
    }
    args.push("daemon".into());
    let idle = config.settings.duration(key::AUTOSTART_IDLE_EXIT);
    args.push(format!("--daemon-idle-exit={}s", idle.as_secs()).into());
    args.push("--paths-state".into());
    args.push(told.state.clone().into());
    let daemon = Detached {
        program,
        args,
        env: environment(),
        cwd: told.surroundings.cwd.clone(),
    };
    daemon
        .start(&output(told))
        .map_err(|error| Failure::failed(format!("the daemon cannot be started: {error}")))?;
    Ok(())
}
