//! `expand`: reads an archived output again, whole or a range of its lines.

use std::{
    io::{self, Read, Write},
    sync::Arc,
};

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use cox_store::{Archive, ArchiveId, LinesCopied, StoreError};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    Concurrency, OutputSink, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, parse_input,
};

/// The tool.
#[derive(Debug)]
pub struct Expand {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Input {
    id: String,
    #[serde(default)]
    lines: Option<Value>,
}

/// What is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    id: ArchiveId,
    /// First and last line, 1-based and inclusive.
    lines: Option<(u64, u64)>,
}

impl Expand {
    /// Makes the tool.
    pub fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "expand",
                description: "Shows an archived tool output by the id in its `expand` pointer. Ask for a range of lines: long output is shortened again.",
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "id": { "type": "string" },
                        "lines": { "type": "string", "description": "`a-b`, from 1, inclusive" }
                    },
                    "required": ["id"]
                }),
                deferred: false,
                risk: Risk::ReadOnly,
                concurrency: Concurrency::Parallel,
            },
        }
    }

    fn read(&self, input: &Value) -> Result<Wanted, ToolError> {
        let input: Input = parse_input(&self.spec, input)?;
        let bad = |problem| ToolError::BadInput {
            tool: self.spec.name.to_owned(),
            problem,
        };
        let id = input.id.trim().parse().map_err(|_| {
            bad(format!(
                "`id` is `{}`, expected the 26 letters and digits that an `expand` pointer names",
                input.id.chars().take(40).collect::<String>()
            ))
        })?;
        let lines = match input.lines {
            None | Some(Value::Null) => None,
            Some(written) => {
                let text = written
                    .as_str()
                    .map_or_else(|| written.to_string(), str::to_owned);
                let range = range(&text).ok_or_else(|| {
                    bad(format!(
                        "`lines` is `{}`, expected a range such as `120-180`",
                        text.chars().take(40).collect::<String>()
                    ))
                })?;
                Some(range)
            }
        };
        Ok(Wanted { id, lines })
    }
}

impl Default for Expand {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Tool for Expand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value, _cx: &SubjectCx) -> Result<Subject, ToolError> {
        let Wanted { id, lines } = self.read(input)?;
        Ok(Subject {
            tool: self.spec.name.to_owned(),
            text: match lines {
                None => id.to_string(),
                Some((from, u64::MAX)) => format!("{id} {from}-"),
                Some((from, to)) => format!("{id} {from}-{to}"),
            },
            risk: self.spec.risk,
            targets: Vec::new(),
        })
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let wanted = self.read(&input)?;
        let archive = cx.archive.clone();
        let mut sink = Sink {
            output: cx.output.clone(),
            cancel: cx.cancel.clone(),
        };
        let read = tokio::task::spawn_blocking(move || copy(&archive, wanted, &mut sink));
        let result = read.await.map_err(|error| ToolError::Io {
            what: "reading the archive".to_owned(),
            source: io::Error::other(error),
        })?;
        if cx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        match result {
            Ok(None) => Ok(ToolOutput::default()),
            Ok(Some(seen)) => Err(ToolError::NotFound(format!(
                "{} has {seen} lines, none of them in the range that was asked for",
                wanted.id
            ))),
            Err(StoreError::NotFound(what)) => Err(ToolError::NotFound(format!(
                "{what}: take the id from the `expand` pointer at the end of a shortened output"
            ))),
            Err(error) => Err(ToolError::Io {
                what: "reading the archive".to_owned(),
                source: io::Error::other(error),
            }),
        }
    }
}

/// Copies what is wanted. Returns the number of lines there are when the range lies beyond them.
fn copy(archive: &Archive, wanted: Wanted, sink: &mut Sink) -> Result<Option<u64>, StoreError> {
    let Some((from, to)) = wanted.lines else {
        let mut file = archive.open(wanted.id)?;
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let stopped = |source| StoreError::Io {
                what: format!("reading {}", wanted.id),
                source,
            };
            let len = file.read(&mut chunk).map_err(stopped)?;
            if len == 0 {
                return Ok(None);
            }
            sink.write_all(&chunk[..len]).map_err(stopped)?;
        }
    };
    let LinesCopied { copied, seen } = archive.copy_lines(wanted.id, from, to, sink)?;
    Ok((copied == 0).then_some(seen))
}

/// Writes to the call's output until the call is cancelled.
struct Sink {
    output: Arc<dyn OutputSink>,
    cancel: CancellationToken,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.output.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads `a-b`, `a-` or `a`, both from 1 and in either order.
pub(crate) fn range(text: &str) -> Option<(u64, u64)> {
    let number = |text: &str| {
        text.trim()
            .trim_start_matches(['L', 'l'])
            .parse::<u64>()
            .ok()
    };
    let (from, to) = match text.split_once(['-', ':', ',', '–']) {
        None => {
            let only = number(text)?;
            (only, only)
        }
        Some((from, to)) if to.trim().is_empty() => (number(from)?, u64::MAX),
        Some((from, to)) => (number(from)?, number(to)?),
    };
    (from > 0 && to > 0).then(|| (from.min(to), from.max(to)))
}

#[cfg(test)]
mod tests;
