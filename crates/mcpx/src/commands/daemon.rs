//! `mcpx daemon`: be the daemon; `mcpx stop`: end it.

use std::sync::Arc;

use mcp_wire::Object;
use mcpx_api::{Op, operation};
use mcpx_daemon::lifecycle::election::ElectionError;
use mcpx_daemon::lifecycle::start::{Start, StartError, run};

use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::settings::{Told, temporary};
use crate::{VERSION, ladder};

/// Is the daemon until it ends.
pub(super) fn daemon(told: Told, printer: Printer) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot begin: {error}")))?;
    let ended = runtime.block_on(run(Start {
        surroundings: told.surroundings,
        choice: told.choice,
        state: told.state,
        temporary: temporary(),
        version: VERSION.to_owned(),
        clock: Arc::new(super::now_plain),
    }));
    match ended {
        Ok(_) => Ok(Exit::Ok),
        Err(StartError::Election(ElectionError::Lost)) => {
            printer.note("a daemon for these configuration files runs already");
            Ok(Exit::Ok)
        }
        Err(error) => Err(Failure::failed(error.to_string())),
    }
}

/// Ends the daemon.
pub(super) async fn stop(told: &Told, printer: Printer) -> Result<Exit, Failure> {
    let config = told.config()?;
    match ladder::running(told, &config, super::caller(told)).await {
        Some(client) => {
            client.send(operation(Op::Shutdown), &Object::new()).await?;
            printer.note("the daemon ends");
        }
        None => printer.note("no daemon runs for this configuration"),
    }
    Ok(Exit::Ok)
}
