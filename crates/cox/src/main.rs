//! The binary: arguments, settings, wiring, surfaces. No logic of its own.
//!
//! Reading order: `args` what may be typed, `settings` what it means, `wire_up` what a session is opened with, `surface`
//! how it looks, `commands` one file each, `printer` the only place that prints.

mod args;
mod attach;
mod commands;
mod exit;
mod printer;
mod settings;
mod stdin;
mod surface;
mod wire_up;

use std::{
    ffi::{OsStr, OsString},
    process::ExitCode,
};

use clap::Parser as _;

use crate::{
    args::{Args, Command, OutputFormat},
    exit::{Exit, Failure},
    printer::{NotPrinted, Printer},
    surface::outcome::Outcome,
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // The sandbox helper comes first: it confines itself and becomes the command, so nothing may run before it.
    if arguments
        .first()
        .is_some_and(|first| first == sandbox::helper::COMMAND)
    {
        sandbox::helper::helper_main(arguments.into_iter().skip(1));
    }
    if let [only] = arguments.as_slice()
        && (only == "--version" || only == "-V")
    {
        return printed(Printer::default().verbatim(format!("cox {VERSION}\n").as_bytes())).into();
    }
    std::panic::set_hook(Box::new(|panic| {
        Printer::default().note(&format!(
            "error: cox failed in a way it should not: {panic}\nhint: please report it"
        ));
    }));
    std::panic::catch_unwind(|| cox(&arguments))
        .unwrap_or_else(|_| {
            let failure = Failure::error("cox failed in a way it should not");
            // For people the hook has told it.
            tell_in_json(&wanted_format(&arguments), &failure)
        })
        .into()
}

/// Reads the command line and does what it says.
fn cox(arguments: &[OsString]) -> Exit {
    let command_line = std::iter::once(OsString::from("cox")).chain(arguments.iter().cloned());
    let args = match Args::try_parse_from(command_line) {
        Ok(args) => args,
        Err(error) => return not_understood(&error, arguments),
    };
    let printer = Printer {
        json: args.global.json,
        verbose: args.global.verbose,
    };
    dispatch(&args, printer).unwrap_or_else(|failure| {
        printer.failure(&failure);
        failure.exit
    })
}

fn dispatch(args: &Args, printer: Printer) -> Result<Exit, Failure> {
    match &args.command {
        None => Err(Failure::usage(NO_COMMAND)),
        Some(Command::Run(run)) => Ok(commands::run::run(args, run, printer)),
        Some(Command::Expand(expand)) => {
            commands::expand::expand(expand, &settings::home(args)?, printer)
        }
        Some(Command::Tool(tool)) => commands::tool::tool(tool, args, printer),
        Some(Command::Sessions(sessions)) => {
            commands::sessions::sessions(sessions, &settings::home(args)?, printer)
        }
        Some(Command::Stats(stats)) => {
            commands::stats::stats(stats, &settings::home(args)?, printer)
        }
        Some(Command::Config(config)) => commands::config::config(config, args, printer),
        Some(Command::Permissions(permissions)) => {
            commands::permissions::permissions(permissions, args, printer)
        }
        Some(Command::Mcp(mcp)) => commands::mcp::mcp(mcp, args, printer),
        Some(Command::Doctor(doctor)) => commands::doctor::doctor(doctor, args, printer),
        Some(Command::Demo) => commands::demo::demo(args, printer),
        Some(Command::Completions { shell }) => {
            Ok(commands::shell_files::completions(*shell, printer))
        }
        Some(Command::Man) => commands::shell_files::man(printer),
        Some(Command::Reference { page }) => Ok(commands::reference::reference(*page, printer)),
    }
}

const NO_COMMAND: &str = "the full-screen surface of cox is not built yet\n\
                          hint: give a prompt with `cox run -p \"…\"`\n\
                          hint: see it work without a key with `cox demo`\n\
                          hint: see every command with `cox --help`";

/// Tells what clap could not read, in the format that was asked for, or shows the help that was asked for.
fn not_understood(error: &clap::Error, arguments: &[OsString]) -> Exit {
    let printer = Printer::default();
    let text = error.render().to_string();
    if !error.use_stderr() {
        return printed(printer.result(&text));
    }
    let first = text.split("\n\n").next().unwrap_or(&text);
    let message = first.strip_prefix("error: ").unwrap_or(first).trim_end();
    let failure = Failure::usage(message);
    let wanted = wanted_format(arguments);
    if wanted == Wanted::Text {
        printer.note(&text);
    }
    tell_in_json(&wanted, &failure)
}

/// Tells a failure to a program that wanted JSON, and returns how the process ends.
fn tell_in_json(wanted: &Wanted, failure: &Failure) -> Exit {
    let printer = Printer {
        json: true,
        verbose: false,
    };
    let told = match wanted {
        Wanted::Text => Ok(()),
        Wanted::Document => {
            printer.failure(failure);
            Ok(())
        }
        Wanted::Result(OutputFormat::StreamJson) => {
            printer.json_line(&Outcome::new().document_of_failure(failure).to_string())
        }
        Wanted::Result(_) => printer.document(&Outcome::new().document_of_failure(failure)),
    };
    if told.is_err() {
        printer.note(&format!("error: {failure}"));
    }
    failure.exit
}

/// What a command line that could not be read wanted on stdout.
#[derive(Debug, PartialEq)]
enum Wanted {
    Text,
    Document,
    Result(OutputFormat),
}

fn wanted_format(arguments: &[OsString]) -> Wanted {
    let is_run = arguments.iter().any(|argument| argument == "run");
    let format =
        arguments
            .iter()
            .enumerate()
            .find_map(|(at, argument)| match argument.to_str()? {
                "--output-format" => arguments.get(at + 1)?.to_str(),
                other => other.strip_prefix("--output-format="),
            });
    let json = arguments
        .iter()
        .any(|argument| argument == OsStr::new("--json"));
    match (is_run, format, json) {
        (true, Some("json"), _) | (true, None, true) => Wanted::Result(OutputFormat::Json),
        (true, Some("stream-json"), _) => Wanted::Result(OutputFormat::StreamJson),
        // A format that does not exist, beside a wish for JSON.
        (true, Some(other), true) if other != "text" => Wanted::Result(OutputFormat::Json),
        (false, _, true) => Wanted::Document,
        _ => Wanted::Text,
    }
}

/// Returns how to end after printing: a reader that has gone has what it wanted, a full disk has not.
fn printed(told: Result<(), NotPrinted>) -> Exit {
    match told {
        Ok(()) | Err(NotPrinted::ReaderGone) => Exit::Ok,
        Err(failed @ NotPrinted::Failed(_)) => {
            Printer::default().note(&format!("error: {failed}"));
            Exit::Error
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_that_cannot_be_read_is_answered_in_the_format_it_asked_for() {
        #[track_caller]
        #[expect(clippy::needless_pass_by_value, reason = "reads better in the table")]
        fn check(line: &str, expect: Wanted) {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(wanted_format(&arguments), expect);
        }
        check("run --nope", Wanted::Text);
        check(
            "run --nope --output-format json",
            Wanted::Result(OutputFormat::Json),
        );
        check(
            "run --output-format=stream-json --nope",
            Wanted::Result(OutputFormat::StreamJson),
        );
        check("run --json --nope", Wanted::Result(OutputFormat::Json));
        check(
            "run --json --output-format yaml",
            Wanted::Result(OutputFormat::Json),
        );
        check("run --json --output-format text --nope", Wanted::Text);
        check("sessions --json --nope", Wanted::Document);
    }
}
