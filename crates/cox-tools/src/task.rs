//! `task`: reads, waits for and ends a command that runs in the background.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    sync::LazyLock,
    time::Duration,
};

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Concurrency, OutputSink, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec,
    bash::outcome::seconds, parse_input,
};

/// The name of the tool.
pub const NAME: &str = "task";

/// How long the end of a task is waited for after it was asked to end.
const END: Duration = Duration::from_secs(5);

/// Reads, waits for and ends tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Task;

#[derive(Debug, Deserialize)]
struct Input {
    id: String,
    #[serde(default)]
    wait_s: Option<f64>,
    #[serde(default)]
    lines: Option<String>,
    #[serde(default)]
    kill: bool,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    name: NAME,
    description: "Shows the new output of a background command and how it ended; waits for its end or ends it.",
    input_schema: json!({
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "wait_s": {"type": "integer", "description": "wait for its end, at most 600"},
            "lines": {"type": "string", "description": "`a-b` of the whole output instead of what is new"},
            "kill": {"type": "boolean"}
        },
        "required": ["id"]
    }),
    deferred: true,
    risk: Risk::ReadOnly,
    concurrency: Concurrency::Parallel,
});

#[async_trait]
impl Tool for Task {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn subject(&self, input: &Value, _cx: &SubjectCx) -> Result<Subject, ToolError> {
        let input: Input = parse_input(&SPEC, input)?;
        Ok(Subject {
            tool: SPEC.name.to_owned(),
            text: if input.kill {
                format!("end {}", input.id)
            } else {
                input.id
            },
            risk: SPEC.risk,
            targets: Vec::new(),
        })
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let input: Input = parse_input(&SPEC, &input)?;
        let tasks = cx.commands.tasks();
        let range = input.lines.as_deref().map(read_range).transpose()?;
        let mut wait = match input.wait_s {
            Some(seconds) if seconds > 0.0 => {
                let max = cx.commands.settings().max_timeout;
                Duration::try_from_secs_f64(seconds).unwrap_or(max).min(max)
            }
            _ => Duration::ZERO,
        };
        if input.kill {
            tasks.end(&input.id)?;
            wait = wait.max(END);
        }
        tokio::select! {
            waited = tasks.wait(&input.id, wait) => waited?,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
        }
        let look = tasks.look(&input.id)?;
        let (file, read) = look.output.map_err(|problem| {
            ToolError::Refused(format!("its output cannot be read: {problem}"))
        })?;
        let output = cx.output.clone();
        let copied = tokio::task::spawn_blocking(move || copy(file, read, range, &*output))
            .await
            .map_err(io::Error::other)
            .flatten()
            .map_err(|source| ToolError::Io {
                what: "reading the output of the task".to_owned(),
                source,
            })?;
        if range.is_none() {
            tasks.read_to(&input.id, copied.to);
        }
        let state = match look.ended {
            Some(words) => words,
            None if input.kill => format!(
                "[was asked to end and still runs after {}]",
                seconds(look.age)
            ),
            None => format!("[runs since {}]", seconds(look.age)),
        };
        let nothing = if copied.is_empty {
            "[no new output]\n"
        } else {
            ""
        };
        let line_break = if copied.ends_in_line { "\n" } else { "" };
        Ok(ToolOutput::text(format!("{line_break}{nothing}{state}")))
    }
}

/// What was copied.
struct Copied {
    /// The end of it in the output, in bytes.
    to: u64,
    is_empty: bool,
    /// Whether its last line has no end.
    ends_in_line: bool,
}

/// Copies what was not read yet, or a range of lines.
fn copy(
    mut file: File,
    read: u64,
    range: Option<(u64, u64)>,
    output: &dyn OutputSink,
) -> io::Result<Copied> {
    let mut sink = Sink {
        output,
        last: None,
        bytes: 0,
    };
    match range {
        Some((from, to)) => {
            let mut reader = BufReader::with_capacity(64 * 1024, file);
            cox_store::archive::copy_rows(&mut reader, from, to, &mut sink)?;
        }
        None => {
            // The end of now: a task that prints faster than it is read would never be done with.
            let end = file.metadata()?.len();
            file.seek(SeekFrom::Start(read))?;
            io::copy(&mut file.take(end.saturating_sub(read)), &mut sink)?;
        }
    }
    Ok(Copied {
        to: read + sink.bytes,
        is_empty: sink.bytes == 0,
        ends_in_line: sink.last.is_some_and(|byte| byte != b'\n'),
    })
}

struct Sink<'a> {
    output: &'a dyn OutputSink,
    last: Option<u8>,
    bytes: u64,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes);
        self.last = bytes.last().copied().or(self.last);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn read_range(text: &str) -> Result<(u64, u64), ToolError> {
    crate::expand::range(text).ok_or_else(|| ToolError::BadInput {
        tool: NAME.to_owned(),
        problem: format!(
            "`lines` is `{}`, expected a range such as `120-180`",
            text.chars().take(40).collect::<String>()
        ),
    })
}
