//! `bash`: runs a shell line in the sandbox.
//!
//! Everything the line prints goes to the sink as it comes; the answer adds one line that says how it ended, and what
//! the sandbox refused. The line and everything it started have ended when the call returns, unless it runs in the
//! background: then it is a task of the session ([`crate::tasks`]).

use std::{sync::LazyLock, time::Duration};

use async_trait::async_trait;
use child_process::Exit;
use cox_permission::{
    PathTarget, Risk, Subject, Target, command_risk, segments, segments_of_any_shell,
};
use cox_workspace::Access;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec,
    commands::{Ran, Ready},
    parse_input,
    tasks::STARTED,
};

pub(crate) mod outcome;

/// Runs a shell line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bash;

/// The name of the tool.
pub const NAME: &str = "bash";

/// The longest that a command may run in the background.
const MAX_BACKGROUND: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Deserialize)]
struct Input {
    command: String,
    #[serde(default)]
    timeout_s: Option<f64>,
    #[serde(default)]
    shell: Option<String>,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    pty: bool,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    name: NAME,
    description: "Runs a shell command in a sandbox and returns its output. Starts in the working directory each time; \
                  no input; ended with everything it started when it returns.",
    input_schema: json!({
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "timeout_s": {"type": "integer", "description": "default 120, at most 600"},
            "shell": {"enum": ["bash", "sh", "zsh", "dash", "fish"]},
            "background": {"type": "boolean", "description": "for servers and long runs: returns a task id at once"},
            "pty": {"type": "boolean", "description": "on a terminal, for programs that need one"}
        },
        "required": ["command"]
    }),
    deferred: false,
    risk: Risk::Exec,
    concurrency: Concurrency::Exclusive,
});

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn subject(&self, input: &Value, cx: &SubjectCx) -> Result<Subject, ToolError> {
        let input: Input = parse_input(&SPEC, input)?;
        let line = check_line(&input.command)?;
        let mut segments = match input.shell.as_deref() {
            None | Some("bash" | "sh" | "dash") => segments(line),
            Some(_) => segments_of_any_shell(line),
        };
        segments.resolve(|written, writes| redirected(written, writes, cx));
        Ok(Subject {
            tool: SPEC.name.to_owned(),
            text: line.to_owned(),
            risk: command_risk(&segments),
            targets: vec![Target::Command {
                line: line.to_owned(),
                segments,
            }],
        })
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let input: Input = parse_input(&SPEC, &input)?;
        let line = check_line(&input.command)?;
        let settings = cx.commands.settings();
        let shell = cx.commands.shell(input.shell.as_deref())?;
        if input.background {
            let timeout = timeout(input.timeout_s, MAX_BACKGROUND, MAX_BACKGROUND);
            let ready = cx.commands.ready(line, &shell, input.pty).await?;
            return in_background(line, ready, timeout, cx);
        }
        let timeout = timeout(
            input.timeout_s,
            settings.default_timeout,
            settings.max_timeout,
        );
        let output = cx.output.clone();
        let ready = cx.commands.ready(line, &shell, input.pty).await?;
        let mut sink = |bytes: &[u8]| output.write(bytes);
        let ran = ready.run(timeout, &cx.cancel, &mut sink).await?;
        Ok(answer(&ran, timeout))
    }
}

/// Starts a line as a task of the session.
fn in_background(
    line: &str,
    ready: Ready,
    timeout: Duration,
    cx: &ToolCx,
) -> Result<ToolOutput, ToolError> {
    let Some(keeper) = cx.relay.keeper() else {
        return Err(ToolError::Refused(
            "nothing can run in the background here: there is no session to end it\nhint: leave `background` out".to_owned(),
        ));
    };
    let id = cx.commands.tasks().start(line, ready, timeout, keeper)?;
    Ok(ToolOutput {
        text: format!(
            "{STARTED}{id}; `{}` shows its output, waits for it or ends it; it ends with the session]",
            crate::task::NAME
        ),
        discovered: vec![crate::task::NAME.to_owned()],
        ..ToolOutput::default()
    })
}

/// Returns where a redirect leads, if it leads into the workspace.
fn redirected(written: &str, writes: bool, cx: &SubjectCx) -> Option<PathTarget> {
    // The shell puts a home there.
    if written.starts_with('~') {
        return None;
    }
    let access = if writes { Access::Write } else { Access::Read };
    let at = cox_workspace::confine(&cx.roots, written, access).ok()?;
    Some(PathTarget {
        written: at.written,
        lexical: at.lexical,
        real: at.real,
    })
}

/// Returns the line as it can be run: text without a NUL, and not blank.
fn check_line(line: &str) -> Result<&str, ToolError> {
    let problem = if line.trim().is_empty() {
        "`command` is empty; expected a shell command"
    } else if line.contains('\0') {
        "`command` holds a NUL character, which no shell can take"
    } else {
        return Ok(line);
    };
    Err(ToolError::BadInput {
        tool: SPEC.name.to_owned(),
        problem: problem.to_owned(),
    })
}

/// Returns the timeout that a call gets: what it asked for, at least a second, at most the limit.
fn timeout(asked: Option<f64>, default: Duration, max: Duration) -> Duration {
    match asked {
        Some(seconds) if seconds > 0.0 => Duration::try_from_secs_f64(seconds)
            .unwrap_or(max)
            .clamp(Duration::from_secs(1).min(max), max),
        _ => default.min(max),
    }
}

fn answer(ran: &Ran, timeout: Duration) -> ToolOutput {
    let code = match ran.ended.exit {
        Exit::Code(code) => Some(code),
        Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled | Exit::TooMany => None,
    };
    ToolOutput {
        text: outcome::text(ran, timeout),
        is_error: code != Some(0),
        exit_code: code,
        sandbox_denied: ran.denial.as_ref().map(ToString::to_string),
        ..ToolOutput::default()
    }
}

#[cfg(test)]
mod tests;
