//! `cox tool`: lists the tools, and runs one of them outside a session.

use cox_session::{SessionSpec, Single};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    args::{Args, Tool, ToolCommand},
    exit::{Exit, Failure},
    printer::Printer,
    settings::{Settings, environment::Environment},
    stdin::read_stdin,
    surface::signals::{Signals, Stop},
    wire_up,
};

/// Longest input that is read from stdin, in bytes.
const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Does what `cox tool` was asked for.
///
/// # Errors
///
/// A failure for wrong settings, a tool that does not exist, or arguments that cannot be read.
pub(crate) fn tool(tool: &Tool, args: &Args, printer: Printer) -> Result<Exit, Failure> {
    match &tool.command {
        ToolCommand::List => Ok(list(printer)),
        ToolCommand::Run { name, input, .. } => {
            let settings = Settings::load(args, Environment::read())?;
            for warning in &settings.warnings {
                printer.warn(warning);
            }
            let input = if input == "-" {
                read_stdin("input", MAX_INPUT_BYTES)?
            } else {
                input.clone()
            };
            let spec = wire_up::without_model(&settings)?;
            let (single, stopped) = run(&spec, name, &input)?;
            Ok(show(&single, stopped, printer))
        }
    }
}

fn list(printer: Printer) -> Exit {
    let tools = cox_tools::builtin::builtin();
    let specs = || tools.iter().map(|tool| tool.spec());
    crate::printed(if printer.json {
        let rows: Vec<Value> = specs()
            .map(|spec| {
                json!({
                    "name": spec.name,
                    "description": spec.description,
                    "risk": spec.risk,
                    "deferred": spec.deferred,
                    "input_schema": spec.input_schema,
                })
            })
            .collect();
        printer.document(&Value::Array(rows))
    } else {
        let width = specs().map(|spec| spec.name.len()).max().unwrap_or(0);
        let rows: Vec<String> = specs()
            .map(|spec| format!("{:width$}  {}", spec.name, spec.description))
            .collect();
        printer.result(&rows.join("\n"))
    })
}

/// Runs the call on a runtime of its own. A signal cancels it, a second one drops it.
fn run(spec: &SessionSpec, name: &str, input: &str) -> Result<(Single, Option<Stop>), Failure> {
    // Without it a command's stray child may outlive us on a system that cannot adopt; the call runs all the same.
    let _can_adopt = child_process::adopt_orphans();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::error(format!("cannot start: {error}")))?;
    let ended = runtime.block_on(async {
        let cancel = CancellationToken::new();
        let mut signals = Signals::listen();
        let mut stopped = None;
        let call = cox_session::run_one(spec, name, input, &cancel);
        tokio::pin!(call);
        loop {
            tokio::select! {
                single = &mut call => return (single, stopped),
                signal = signals.next() => {
                    if stopped.is_some() {
                        return (None, stopped);
                    }
                    stopped = Some(signal);
                    cancel.cancel();
                }
            }
        }
    });
    runtime.shutdown_background();
    match ended {
        (Some(single), stopped) => Ok((single, stopped)),
        (None, Some(stopped)) => Err(Failure {
            exit: stopped.exit(),
            message: "stopped before the call had ended".to_owned(),
        }),
        (None, None) => Err(Failure::error(
            "the call ended without a result: this is a bug in cox",
        )),
    }
}

fn show(single: &Single, stopped: Option<Stop>, printer: Printer) -> Exit {
    let exit = match stopped {
        Some(stopped) => stopped.exit(),
        None if single.is_malformed => Exit::Usage,
        None if single.done.denied => Exit::Denied,
        None if single.done.ok => Exit::Ok,
        None => Exit::Error,
    };
    for notice in &single.notices {
        printer.note(&format!("note: {notice}"));
    }
    let told = if printer.json {
        printer.document(&document(single, exit))
    } else {
        let text = single.done.visible.verbatim();
        if single.is_malformed {
            printer.note(&format!("error: {text}"));
            Ok(())
        } else {
            printer.result(text)
        }
    };
    match told {
        Ok(()) => exit,
        Err(_) if exit == Exit::Ok => crate::printed(told),
        Err(_) => exit,
    }
}

fn document(single: &Single, exit: Exit) -> Value {
    let done = &single.done;
    let preimages: Vec<Value> = done
        .preimages
        .iter()
        .map(|(path, id)| json!({ "path": path, "archive": id.to_string() }))
        .collect();
    let images: Vec<Value> = single
        .images
        .iter()
        .map(|(media_type, base64)| json!({ "media_type": media_type, "base64_bytes": base64.len() }))
        .collect();
    json!({
        "tool": done.name,
        "ok": done.ok,
        "denied": done.denied,
        "why": single.why,
        "text": done.visible.verbatim(),
        "archive": done.archive.map(|id| id.to_string()),
        "bytes": done.bytes,
        "images": images,
        "diff": done.diff.as_ref().map(|diff| diff.verbatim()),
        "preimages": preimages,
        "command_exit_code": done.exit_code,
        "duration_ms": done.duration_ms,
        "exit_code": exit.code(),
    })
}
