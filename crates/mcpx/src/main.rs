//! The hub's binary: arguments, settings, the way to the daemon, commands, printing. No logic of its own.
//!
//! Reading order: `args` what may be typed, `settings` where the command stands, `ladder` the way to the daemon,
//! `commands` one file each, `render` documents for people, `printer` the only place that prints.

mod args;
mod commands;
mod demo_server;
mod exit;
mod files;
mod ladder;
mod printer;
mod render;
mod serve;
mod settings;

use std::ffi::OsString;
use std::process::ExitCode;

use mcp_wire::{Object, Raw};
use mcpx_daemon::lifecycle::guard;

use crate::args::Understood;
use crate::printer::Printer;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    // A guardian is nothing else, and takes no memory for anything else.
    if argv.get(1).is_some_and(|word| word == guard::WORD) {
        return guard::run().into();
    }
    let printer = Printer {
        json: args::wants_json(&argv, settings::variable("MCPX_OUTPUT_JSON").as_deref()),
        color: false,
        width: settings::width(),
        can_ask: settings::can_ask(),
    };
    let done = match args::understand(argv) {
        Ok(Understood::Command(typed)) => commands::run(&typed, printer),
        Ok(Understood::Print { what, text }) => printed(what, &text, printer),
        Err(failure) => Err(failure),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => printer.failure(&failure).into(),
    }
}

fn printed(what: &str, text: &str, printer: Printer) -> Result<exit::Exit, exit::Failure> {
    if printer.json {
        printer.document(&Raw::from(Object::new().with(what, text.trim_end())))?;
    } else {
        printer.result(text)?;
    }
    Ok(exit::Exit::Ok)
}
