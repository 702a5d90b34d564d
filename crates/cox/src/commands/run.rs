//! `cox run -p`: opens a session, gives it one prompt, sees it through.

use std::{io::IsTerminal as _, time::Duration};

use cox_permission::ApprovalPolicy;
use cox_session::{Handle, SessionSpec};

use crate::{
    args::{Args, OutputFormat, Run},
    attach::read_image,
    exit::{Exit, Failure},
    printer::Printer,
    settings::{Settings, environment::Environment},
    stdin::read_stdin,
    surface::{
        headless::{self, Prompt},
        outcome::Outcome,
        text::painted,
    },
    wire_up,
};

/// Longest prompt that is read from stdin, in bytes.
const MAX_PROMPT_BYTES: u64 = 16 * 1024 * 1024;

/// How long what still runs may take to be dropped at the end.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs one prompt. Every way to fail ends in the format that was asked for.
pub(crate) fn run(args: &Args, run: &Run, printer: Printer) -> Exit {
    let format = match run.output_format {
        Some(format) => format,
        None if args.global.json => OutputFormat::Json,
        None => OutputFormat::Text,
    };
    match prepare(args, run, format, printer)
        .and_then(|(spec, prompt)| start(spec, prompt, printer))
    {
        Ok(exit) => exit,
        Err(failure) => {
            tell(format, printer, &failure);
            failure.exit
        }
    }
}

/// Opens the session on a runtime of its own and runs the prompt.
///
/// # Errors
///
/// An error when the runtime or the session cannot be opened.
pub(crate) fn start(spec: SessionSpec, prompt: Prompt, printer: Printer) -> Result<Exit, Failure> {
    // Without it a command's stray child may outlive us on a system that cannot adopt; the run goes on all the same.
    let _can_adopt = child_process::adopt_orphans();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::error(format!("cannot start: {error}")))?;
    let exit = runtime.block_on(async {
        let handle: Handle =
            cox_session::open(spec).map_err(|error| Failure::from_chain(&error))?;
        Ok(headless::run(handle, prompt, printer).await)
    });
    // What still runs after a second signal is dropped here, and a command that is dropped is killed with everything it
    // started. Whatever waits for a person or a pipe must not keep the process.
    runtime.shutdown_timeout(LAST_WORDS);
    exit
}

/// Everything that can be checked before anything is sent or written.
fn prepare(
    args: &Args,
    run: &Run,
    format: OutputFormat,
    printer: Printer,
) -> Result<(SessionSpec, Prompt), Failure> {
    let images = run
        .image
        .iter()
        .map(|path| read_image(path))
        .collect::<Result<_, _>>()?;
    let settings = Settings::load(args, Environment::read())?;
    for warning in &settings.warnings {
        printer.warn(warning);
    }
    if settings.text("sandbox.mode") == "danger-full-access" {
        printer.warn("commands run without a sandbox: danger-full-access");
    }
    if settings.text("permissions.mode") == "bypass" {
        printer.warn("bypass mode: everything runs that no rule denies");
    }
    super::write_sets::warn(&cox_store::Home::new(&settings.places.cox_home), printer);
    let policy = wire_up::policy(&settings);
    let asks = policy != ApprovalPolicy::Never;
    if asks && run.prompt() == "-" {
        return Err(Failure::usage(format!(
            "the prompt cannot come from stdin where the answers to approvals do: the policy is set by {}\n\
             hint: give the prompt with `-p \"…\"`, or add `--approve never`",
            settings.origin("permissions.approval")
        )));
    }
    let spec = wire_up::session(&settings, run)?;
    for warning in wire_up::rules_without_a_tool(&spec.rules) {
        printer.warn(&warning);
    }
    let text = if run.prompt() == "-" {
        read_stdin("prompt", MAX_PROMPT_BYTES)?
    } else {
        run.prompt().to_owned()
    };
    if text.trim().is_empty() {
        return Err(Failure::usage(if run.prompt() == "-" {
            "the prompt is empty: stdin held nothing\nhint: write it to stdin, or say what to do with `-p \"…\"`"
        } else {
            "the prompt is empty\nhint: say what to do with `-p \"…\"`"
        }));
    }
    Ok((
        spec,
        Prompt {
            text,
            images,
            format,
            paints: painted::are_wanted(&settings.environment, std::io::stderr().is_terminal()),
            answers: asks,
        },
    ))
}

fn tell(format: OutputFormat, printer: Printer, failure: &Failure) {
    let document = Outcome::new().document_of_failure(failure);
    let told = match format {
        OutputFormat::Text => {
            printer.note(&format!("error: {failure}"));
            Ok(())
        }
        OutputFormat::Json => printer.document(&document),
        OutputFormat::StreamJson => printer.json_line(&document.to_string()),
    };
    if told.is_err() {
        printer.note(&format!("error: {failure}"));
    }
}
