//! The commands, one file each.

mod call;
mod daemon;
mod list;

use std::time::Duration;

use mcpx_api::Caller;
use mcpx_config::Choice;

use crate::args::{Args, Command};
use crate::demo_server::{self, DemoOptions};
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::settings::Told;

/// Does what was typed.
///
/// # Errors
/// When it did not.
pub(crate) fn run(args: &Args, printer: Printer) -> Result<Exit, Failure> {
    match &args.command {
        Command::DemoServer => block(async {
            demo_server::serve(DemoOptions {
                era: None,
                changed: false,
                http: None,
                now: now_plain,
                announce: |_| {},
            })
            .await
            .map_err(|error| Failure::failed(format!("{error:#}")))?;
            Ok(Exit::Ok)
        }),
        Command::Daemon {
            daemon_idle_exit,
            paths_state,
        } => {
            let mut flags = vec![("daemon.idleExit".to_owned(), daemon_idle_exit.clone())];
            if let Some(state) = paths_state {
                flags.push(("paths.state".to_owned(), state.display().to_string()));
            }
            let told = Told::read(choice(args, flags))?;
            daemon::daemon(told, printer)
        }
        Command::Ls => block(list::ls(&told(args)?, printer)),
        Command::Search { words } => block(list::search(&told(args)?, words, printer)),
        Command::Types { selectors } => block(list::types(&told(args)?, selectors, printer)),
        Command::Call { tool, arguments } => {
            block(call::call(&told(args)?, tool, arguments, printer))
        }
        Command::Status => block(list::status(&told(args)?, printer)),
        Command::Stop => block(daemon::stop(&told(args)?, printer)),
    }
}

fn told(args: &Args) -> Result<Told, Failure> {
    Told::read(choice(args, Vec::new()))
}

fn choice(args: &Args, flags: Vec<(String, String)>) -> Choice {
    Choice {
        config_file: args.config.clone(),
        demo: args.demo,
        flags,
    }
}

/// The time, for those who are given a clock.
#[allow(clippy::disallowed_methods, reason = "handed down from here")]
pub(crate) fn now_plain() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// Runs a command on one thread.
fn block(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot begin: {error}")))?;
    let ended = runtime.block_on(command);
    // What still waits, such as for a line of stdin, is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(10));
    ended
}

/// Who asks, when a command does.
fn caller(told: &Told) -> Caller {
    let variable = |name: &str| told.surroundings.variable(name).map(str::to_owned);
    Caller {
        cwd: Some(told.surroundings.cwd.clone()),
        session: variable("MCPX_SESSION").or_else(|| variable("MCPX_SESSION_ID")),
        parent_session: variable("MCPX_PARENT_SESSION_ID"),
        pid: None,
        call: None,
        ephemeral: true,
        trace_parent: variable("MCPX_TRACE_PARENT"),
        settings: None,
    }
}
