//! The hub's binary: arguments, settings, the way to the daemon, commands, printing. No logic of its own.
//!
//! Reading order: `args` what may be typed, `settings` where the command stands, `ladder` the way to the daemon,
//! `commands` one file each, `printer` the only place that prints.

mod args;
mod commands;
mod demo_server;
mod exit;
mod ladder;
mod printer;
mod settings;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::Args;
use crate::printer::Printer;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    let args = Args::parse();
    let printer = Printer { json: args.json };
    let exit = match commands::run(&args, printer) {
        Ok(exit) => exit,
        Err(failure) => printer.failure(&failure),
    };
    exit.into()
}
