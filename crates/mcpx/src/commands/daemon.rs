//! `mcpx daemon`: be the daemon, start one, start it anew, its token; `mcpx stop`: end it.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Instant;

use mcp_wire::{Object, Raw};
use mcpx_api::{Caller, Client, ClientError, Op, operation};
use mcpx_config::settings::key;
use mcpx_daemon::lifecycle::election::ElectionError;
use mcpx_daemon::lifecycle::start::{Ended, Start, StartError, run_guarded};
use mcpx_store::StateDir;
use mcpx_store::daemons::{DaemonRecord, Daemons};

use super::Desk;
use crate::args::from_table::switch;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::settings::{Told, environment, temporary};
use crate::{VERSION, ladder};

/// Is the daemon until it ends.
pub(super) fn daemon(told: Told, printer: Printer) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot begin: {error}")))?;
    let (state, cwd, exe) = (
        told.state.clone(),
        told.surroundings.cwd.clone(),
        told.surroundings.exe.clone(),
    );
    let start = Start {
        surroundings: told.surroundings,
        choice: told.choice,
        state: told.state,
        temporary: temporary(),
        version: VERSION.to_owned(),
        clock: Arc::new(super::now_plain),
    };
    if printer.can_ask {
        printer.note("the daemon begins; Ctrl-C ends it");
    }
    // The one that runs now, also when the file was replaced since.
    let this = std::path::PathBuf::from("/proc/self/exe");
    let guardian = if this.exists() { this } else { exe.clone() };
    let ended = runtime.block_on(run_guarded(start, guardian));
    drop(runtime);
    match ended {
        Ok(Ended::Over) => Ok(Exit::Ok),
        Ok(Ended::Restart) => {
            // The same command line, with the program as it is on disk now.
            let again = child_process::Detached {
                program: ladder::this_program(&exe),
                args: std::env::args_os().skip(1).collect::<Vec<OsString>>(),
                env: environment(),
                cwd,
            };
            again.start(&state.join("daemon.log")).map_err(|error| {
                Failure::failed(format!("the daemon cannot be started anew: {error}"))
            })?;
            Ok(Exit::Ok)
        }
        Err(StartError::Election(ElectionError::Lost)) => {
            printer.note(ladder::ALREADY);
            Ok(Exit::Ok)
        }
        Err(error) => Err(Failure::with_hint_lines(Exit::Failed, &error.to_string())),
    }
}

/// `mcpx daemon --detached`: starts one in the background and waits until it answers.
pub(super) async fn detached(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let hub = desk.hub()?;
    let nothing = Object::new();
    let runs = hub.ask_running(Op::Health, &nothing).await?;
    let (was_there, answer) = match runs {
        Some(answer) => (true, answer),
        None => {
            hub.start().await?;
            (false, hub.ask(Op::Health, &nothing).await?)
        }
    };
    if desk.printer.json {
        desk.printer.document(&answer.json()?)?;
        return Ok(Exit::Ok);
    }
    let health: mcpx_api::reply::Health = answer.read()?;
    let word = if was_there { "runs already" } else { "runs" };
    desk.printer
        .result(&format!("the daemon {word}, process {}", health.pid))?;
    Ok(Exit::Ok)
}

/// `mcpx daemon restart`: waits until another process answers.
pub(super) async fn restart(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let hub = desk.hub()?;
    let nothing = Object::new();
    let Some(before) = hub.ask_running(Op::Health, &nothing).await? else {
        return detached(desk).await;
    };
    let before: mcpx_api::reply::Health = before.read()?;
    hub.ask_running(Op::DaemonRestart, &nothing).await?;
    let wait = desk
        .config
        .settings
        .duration(key::AUTOSTART_CONNECT_TIMEOUT);
    let deadline = Instant::now() + wait;
    loop {
        let fresh = desk.hub()?;
        if let Ok(Some(answer)) = fresh.ask_running(Op::Health, &nothing).await
            && let Ok(after) = answer.read::<mcpx_api::reply::Health>()
            && after.pid != before.pid
        {
            if desk.printer.json {
                desk.printer.document(&answer.json()?)?;
            } else {
                desk.printer
                    .result(&format!("the daemon runs anew, process {}", after.pid))?;
            }
            return Ok(Exit::Ok);
        }
        if Instant::now() >= deadline {
            return Err(Failure::failed(format!(
                "the daemon (process {}) was asked to start anew and no other one answers within {:.1} s",
                before.pid,
                wait.as_secs_f64()
            ))
            .hint(format!("its log: {}", desk.told.state.join("daemon.log").display())));
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// `mcpx daemon token`.
pub(super) fn token(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let hub = desk.hub()?;
    let record = hub
        .record()
        .filter(|record| record.is_alive() != Some(false));
    let Some(record) = record else {
        return Err(Failure::failed("no daemon runs for this configuration")
            .hint("start one: `mcpx daemon --detached`"));
    };
    let token = record.token.clone().unwrap_or_default();
    if desk.printer.json {
        let document = Object::new()
            .with_some("endpoint", record.endpoint.as_deref())
            .with("token", token);
        desk.printer.document(&Raw::from(document))?;
    } else {
        desk.printer.result(&token)?;
    }
    Ok(Exit::Ok)
}

/// Ends the daemon, or every one of this state folder; waits until it is gone.
pub(super) async fn stop(desk: &Desk<'_>) -> Result<Exit, Failure> {
    if switch(&desk.typed.matches, "all") {
        return stop_all(desk).await;
    }
    let hub = desk.hub()?;
    let record = hub.record().cloned();
    let asked = match hub.ask_running(Op::Shutdown, &Object::new()).await {
        Ok(answer) => answer.is_some(),
        // It went while it was asked.
        Err(error)
            if record
                .as_ref()
                .is_some_and(|record| record.is_alive() == Some(false)) =>
        {
            let _gone = error;
            true
        }
        Err(error) => return Err(error),
    };
    if !asked {
        told_stopped(desk, &[])?;
        return Ok(Exit::Ok);
    }
    hub.gone(Instant::now() + grace(desk)).await?;
    told_stopped(desk, &record.into_iter().collect::<Vec<_>>())?;
    Ok(Exit::Ok)
}

/// How long a daemon may take to end: its own grace, and its servers'.
fn grace(desk: &Desk<'_>) -> std::time::Duration {
    desk.config.settings.duration(key::HTTP_SHUTDOWN_GRACE) + std::time::Duration::from_secs(25)
}

async fn stop_all(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let deadline = Instant::now() + grace(desk);
    let listing = Daemons::new(&StateDir::at(&desk.told.state)).list();
    let timeout = desk.config.settings.duration(key::AUTOSTART_PING_TIMEOUT);
    let mut ended = Vec::new();
    let mut failures = Vec::new();
    for record in listing.records {
        let client = Client::unix(&record.socket, Caller::default(), timeout);
        match client.send(operation(Op::Shutdown), &Object::new()).await {
            Ok(_) => ended.push(record),
            // It is gone, or going.
            Err(ClientError::NoDaemon(..) | ClientError::Broken(_)) => {}
            Err(error) => failures.push(format!("process {}: {error}", record.pid)),
        }
    }
    for record in &ended {
        while record.is_alive() == Some(true) {
            if Instant::now() >= deadline {
                failures.push(format!("process {} is still there", record.pid));
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
    if failures.is_empty() {
        told_stopped(desk, &ended)?;
        return Ok(Exit::Ok);
    }
    Err(Failure::failed(format!(
        "not every daemon ended: {}",
        failures.join("; ")
    )))
}

fn told_stopped(desk: &Desk<'_>, ended: &[DaemonRecord]) -> Result<(), Failure> {
    if desk.printer.json {
        let rows: Vec<Raw> = ended
            .iter()
            .map(|record| {
                Raw::from(
                    Object::new()
                        .with("key", record.key.as_str())
                        .with("pid", i64::from(record.pid)),
                )
            })
            .collect();
        let document = Object::new().with("stopped", Raw::of(&rows));
        return desk.printer.document(&Raw::from(document));
    }
    if ended.is_empty() {
        desk.printer.note("no daemon runs for this configuration");
    }
    for record in ended {
        let files: Vec<String> = record
            .files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        let of = if files.is_empty() {
            record.key.clone()
        } else {
            files.join(", ")
        };
        desk.printer.note(&format!(
            "ended the daemon of {of} (process {})",
            record.pid
        ));
    }
    Ok(())
}
