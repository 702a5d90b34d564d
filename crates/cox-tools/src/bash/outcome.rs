//! The line that ends a command's output: how it ended, what it left behind, what it was refused.

use std::{fmt::Write as _, time::Duration};

use child_process::{Exit, LeftBehind, MAX_PROCESSES};

use crate::commands::Ran;

/// Most processes that are named.
const NAMED: usize = 4;

/// Longest part of a command line that is shown, in characters.
const NAME: usize = 60;

/// Returns what is said after the output, such as `[exit 0, 1.2 s]`. Begins on a line of its own.
pub(crate) fn text(ran: &Ran, timeout: Duration) -> String {
    let ended = &ran.ended;
    let elapsed = seconds(ended.elapsed);
    let mut text = String::from(if ran.ends_with_newline { "" } else { "\n" });
    let how = match ended.exit {
        Exit::Code(code) => format!("[exit {code}, {elapsed}]"),
        Exit::Signal(signal) => format!("[killed by {}, {elapsed}]", signal_name(signal)),
        Exit::TimedOut => {
            format!(
                "[timed out after {}: ended with everything it started]",
                seconds(timeout)
            )
        }
        Exit::Cancelled if ran.is_flood => {
            format!(
                "[ended after {elapsed}, with everything it started: it printed more than 4 GiB]"
            )
        }
        Exit::Cancelled => format!("[cancelled after {elapsed}: ended with everything it started]"),
        Exit::TooMany => format!(
            "[killed after {elapsed}, with everything it started: it had more than {MAX_PROCESSES} processes]"
        ),
    };
    text.push_str(&how);
    if let Some(denial) = &ran.denial {
        let _written = write!(text, "\n[sandbox: {denial}");
        if !denial.hint.is_empty() {
            let _written = write!(text, "; {}", denial.hint);
        }
        text.push(']');
    }
    // What was cut short was not left behind, and its line says that all of it has ended.
    let ended_by_itself = matches!(ended.exit, Exit::Code(_) | Exit::Signal(_));
    if ended.left_behind.count > 0 && ended_by_itself {
        let _written = write!(text, "\n{}", left_behind(&ended.left_behind));
    }
    if !ended.survivors.is_empty() {
        let pids: Vec<String> = ended.survivors.iter().map(ToString::to_string).collect();
        let _written = write!(
            text,
            "\n[still running, could not be ended: pid {}]",
            pids.join(", ")
        );
    }
    text
}

/// Returns what a model has to know that wrote `server &` and finds no server.
fn left_behind(left: &LeftBehind) -> String {
    let (count, were) = match left.count {
        1 => ("1 background process was".to_owned(), "it"),
        count => (format!("{count} background processes were"), "them"),
    };
    let mut text = format!("[{count} ended with the command");
    let names: Vec<String> = left
        .names
        .iter()
        .take(NAMED)
        .map(|name| format!("`{}`", untrusted_text::terminal::one_line(name, NAME)))
        .collect();
    if !names.is_empty() {
        let _written = write!(text, ": {}", names.join(", "));
        if left.count > names.len() {
            text.push_str(", …");
        }
    }
    let _written = write!(text, "; `background: true` keeps {were} running]");
    text
}

pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}
