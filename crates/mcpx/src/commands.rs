//! The commands, one file each; what needs no file of its own is made from the table of operations.

mod batch;
mod call;
mod config;
mod daemon;
mod daemons;
mod demo_server;
mod doctor;
mod events;
mod from_table;
mod init;
mod log;
mod log_sql;
mod ls;
mod other_requests;
mod reference;
mod serve;
mod servers;
mod settings;
mod shell_files;
mod trust;
mod words;

use std::time::Duration;

use mcp_wire::{Object, Raw};
use mcpx_api::{Caller, operations};
use mcpx_config::Config;
use mcpx_config::settings::key;

use crate::args::Typed;
use crate::exit::{Exit, Failure};
use crate::ladder::Hub;
use crate::printer::Printer;
use crate::settings::{Told, is_plain_terminal};

pub(crate) use demo_server::DemoServer;

/// What a command works with: what was typed, where it stands, what is configured.
#[derive(Debug)]
pub(crate) struct Desk<'a> {
    /// What was typed.
    pub(crate) typed: &'a Typed,
    /// Where the command stands.
    pub(crate) told: Told,
    /// What is configured.
    pub(crate) config: Config,
    /// Where results go.
    pub(crate) printer: Printer,
}

impl<'a> Desk<'a> {
    fn read(typed: &'a Typed, printer: Printer) -> Result<Self, Failure> {
        let told = Told::read(typed.choice.clone())?;
        let is_about_files = matches!(
            typed.words.as_str(),
            "config" | "reload" | "refresh" | "servers trust" | "servers import" | "daemon"
        );
        let config = if is_about_files {
            told.config()?
        } else {
            let (config, broken) = told.config_or_earlier()?;
            if let Some(failure) = broken {
                printer.note(&format!("warning: {}", failure.error.message));
                printer.note("note: the daemon goes on with what it read before");
            }
            config
        };
        let mut printer = printer;
        printer.json |= config.settings.bool(key::OUTPUT_JSON);
        printer.color = match config.settings.text(key::OUTPUT_COLOR) {
            "always" => true,
            "never" => false,
            _ => printer.width.is_some() && !is_plain_terminal(),
        };
        Ok(Self {
            typed,
            told,
            config,
            printer,
        })
    }

    /// The way to the daemon.
    pub(crate) fn hub(&self) -> Result<Hub<'_>, Failure> {
        Hub::new(&self.told, &self.config, self.caller(), self.printer)
    }

    /// Who asks.
    pub(crate) fn caller(&self) -> Caller {
        let variable = |name: &str| self.told.surroundings.variable(name).map(str::to_owned);
        let sent = self.config.settings.sent_with_call();
        let settings = (!sent.is_empty()).then(|| {
            let settings: Object = sent
                .into_iter()
                .map(|(path, text)| (path.to_owned(), Raw::from(text)))
                .collect();
            Raw::from(settings).as_str().to_owned()
        });
        Caller {
            cwd: Some(self.told.surroundings.cwd.clone()),
            session: variable("MCPX_SESSION").or_else(|| variable("MCPX_SESSION_ID")),
            parent_session: variable("MCPX_PARENT_SESSION_ID"),
            pid: variable("MCPX_PID")
                .and_then(|pid| pid.parse().ok())
                .or_else(parent),
            call: None,
            // Its session and its process are those of who runs it, and go on after it.
            ephemeral: false,
            trace_parent: variable("MCPX_TRACE_PARENT"),
            settings,
        }
    }

    /// Prints a document: as JSON, or as people read it.
    pub(crate) fn print(&self, document: &Raw) -> Result<(), Failure> {
        if self.printer.json {
            self.printer.document(document)
        } else {
            self.printer
                .painted(&crate::render::document(document, self.printer))
        }
    }
}

/// The process that runs this command: a shell, a script or an agent, whose commands belong together. The first process of
/// the system took over what somebody else left, so it is nobody's.
#[cfg(unix)]
fn parent() -> Option<i32> {
    let pid = i32::try_from(std::os::unix::process::parent_id()).ok()?;
    (pid > 1).then_some(pid)
}

#[cfg(not(unix))]
fn parent() -> Option<i32> {
    None
}

/// Does what was typed.
///
/// # Errors
/// When it did not.
pub(crate) fn run(typed: &Typed, printer: Printer) -> Result<Exit, Failure> {
    // Without a configuration.
    match typed.words.as_str() {
        "demo-server" => return block(demo_server::run_typed(&typed.matches)),
        "daemon" if !crate::args::from_table::switch(&typed.matches, "detached") => {
            return daemon::daemon(Told::read(typed.choice.clone())?, printer);
        }
        "completion" => return shell_files::completion(&typed.matches, printer),
        "man" => return shell_files::man(printer),
        "reference" => return reference::reference(&typed.matches, printer),
        "doctor" => return block(doctor::doctor(typed, printer)),
        "init" => return init::init(typed, printer),
        "words" => return block(words::words(&typed.matches, printer)),
        _ => {}
    }
    let desk = Desk::read(typed, printer)?;
    // What goes wrong from here on is told as the settings say.
    let printer = desk.printer;
    let done = with_desk(&desk);
    match done {
        Ok(exit) => Ok(exit),
        Err(failure) => Ok(printer.failure(&failure)),
    }
}

fn with_desk(desk: &Desk<'_>) -> Result<Exit, Failure> {
    match desk.typed.words.as_str() {
        "ls" => block(ls::ls(desk)),
        "call" => block(call::call(desk)),
        "batch" => block(batch::batch(desk)),
        "tool" => block(other_requests::tool(desk)),
        "resources read" => block(other_requests::resource(desk)),
        "prompts get" => block(other_requests::prompt(desk)),
        "complete" => block(other_requests::complete(desk)),
        "task result" => block(call::task_result(desk)),
        "log" => block(log::log(desk)),
        "log sql" => log_sql::sql(desk),
        "events" => block(events::events(desk)),
        "servers add" => block(servers::add(desk)),
        "servers import" => block(servers::import(desk)),
        "servers trust" => block(trust::trust(desk)),
        "settings list" => block(settings::list(desk)),
        "settings get" => block(settings::get(desk)),
        "config" => config::config(desk),
        "daemon" => block(daemon::detached(desk)),
        "daemon token" => daemon::token(desk),
        "daemon restart" => block(daemon::restart(desk)),
        "daemons" => block(daemons::daemons(desk)),
        "stop" => block(daemon::stop(desk)),
        "serve" => block_to_the_end(serve::serve(desk)),
        words => match operations::all().find(|operation| operation.word == Some(words)) {
            Some(operation) => block(from_table::run(desk, operation)),
            None => Err(Failure::failed(format!("`{words}` has no code"))),
        },
    }
}

/// The time, for those who are given a clock.
#[allow(clippy::disallowed_methods, reason = "handed down from here")]
pub(crate) fn now_plain() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot begin: {error}")))
}

/// Runs a command on one thread. Ctrl-C drops it, and with it the connection on which it waits.
fn block(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = command => ended,
            Ok(()) = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
        }
    });
    // What still waits, such as for a line of stdin, is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(10));
    ended
}

/// Runs a command that minds signals itself.
fn block_to_the_end(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let ended = runtime.block_on(command);
    runtime.shutdown_timeout(Duration::from_millis(10));
    ended
}
